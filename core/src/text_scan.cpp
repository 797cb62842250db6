#include "netloom/text_scan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace netloom {

namespace {

constexpr std::size_t kMaxDigits = 18;
constexpr std::int64_t kMaxHost = 1 << 20;
constexpr std::int64_t kMaxStart = 10'000'000'000'000'000;
constexpr std::int64_t kMaxSeconds = 10'000;
constexpr double kHour = 3600;
constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
constexpr std::size_t kDecimals = 12;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

/// Whether there is nothing but printed ASCII, tabs, and ends of lines as Unix and Windows have
/// them.
bool is_plain(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool ends = c == '\n' || (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if (!ends && !is_blank(c) && (c < ' ' || c > '~')) {
      return false;
    }
  }
  return true;
}

std::optional<std::int64_t> whole(std::string_view word) {
  if (word.empty() || word.size() > kMaxDigits) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  for (const char c : word) {
    if (!is_digit(c)) {
      return std::nullopt;
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Seconds such as `2.000001` in picoseconds.
std::optional<std::int64_t> decimal_ps(std::string_view word) {
  const std::size_t dot = word.find('.');
  const auto seconds = whole(word.substr(0, dot));
  if (!seconds || *seconds > kMaxSeconds) {
    return std::nullopt;
  }
  std::int64_t ps = *seconds * kPicosecondsPerSecond;
  if (dot == std::string_view::npos) {
    return ps;
  }
  const std::string_view decimals = word.substr(dot + 1);
  const auto digits = whole(decimals);
  if (!digits || decimals.size() > kDecimals) {
    return std::nullopt;
  }
  std::int64_t part = *digits;
  for (std::size_t i = decimals.size(); i < kDecimals; ++i) {
    part *= 10;
  }
  ps += part;
  return ps <= kMaxSeconds * kPicosecondsPerSecond ? std::optional(ps) : std::nullopt;
}

/// Seconds such as `2e-6`, as a double, in picoseconds.
std::optional<std::int64_t> double_ps(std::string_view word) {
  if (word.empty() || !is_digit(word.front())) {
    return std::nullopt;
  }
  double seconds = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  if (problem != std::errc{} || end != word.data() + word.size() || !(seconds < kHour)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(
      std::nearbyint(seconds * static_cast<double>(kPicosecondsPerSecond)));
}

/// Goes through the words of a line.
class Words {
 public:
  explicit Words(std::string_view line)
      : left_(line) {}

  /// The next word; empty when there is none.
  std::string_view next() {
    std::size_t begin = 0;
    while (begin < left_.size() && is_blank(left_[begin])) {
      ++begin;
    }
    std::size_t end = begin;
    while (end < left_.size() && !is_blank(left_[end])) {
      ++end;
    }
    const std::string_view word = left_.substr(begin, end - begin);
    left_.remove_prefix(end);
    return word;
  }

 private:
  std::string_view left_;
};

/// Calls `read` with every line that holds words, comments left out; what it declines is unread.
template <typename Read, typename CountRows>
UnreadLines read_lines(std::string_view text,
                       std::uint32_t first_line,
                       bool has_comments,
                       const Read& read,
                       const CountRows& count_rows) {
  UnreadLines unread;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t stop = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, stop - begin);
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    if (has_comments) {
      line = line.substr(0, line.find('#'));
    }
    ++number;
    if (number > first_line && !line.empty() && !(has_comments && trimmed(line).empty()) &&
        !read(number, line)) {
      unread.line.push_back(number);
      unread.begin.push_back(begin);
      unread.end.push_back(begin + line.size());
      unread.position.push_back(count_rows());
    }
    begin = stop + 1;
  }
  return unread;
}

constexpr std::size_t kId = 0;
constexpr std::size_t kStart = 1;
constexpr std::size_t kSize = 2;
constexpr std::size_t kTrigger = 3;
constexpr std::size_t kSendDone = 4;
constexpr std::size_t kRecvDone = 5;
constexpr std::size_t kPrio = 6;
constexpr std::array<std::string_view, 7> kKeys{
    "id",
    "start",
    "size",
    "trigger",
    "send_done_trigger",
    "recv_done_trigger",
    "prio",
};

/// A line of a connection matrix; numbers that are not given are -1.
struct Connection {
  std::int64_t source = 0;
  std::int64_t target = 0;
  std::array<std::int64_t, kKeys.size()> given{-1, -1, -1, -1, -1, -1, -1};

  bool read(std::string_view line) {
    Words words(line);
    if (!read_ends(words.next())) {
      return false;
    }
    for (std::string_view key = words.next(); !key.empty(); key = words.next()) {
      const auto place = static_cast<std::size_t>(std::ranges::find(kKeys, key) - kKeys.begin());
      const auto value = whole(words.next());
      if (place == kKeys.size() || !value || given[place] >= 0) {
        return false;
      }
      given[place] = *value;
    }
    return is_whole();
  }

 private:
  bool read_ends(std::string_view word) {
    const std::size_t arrow = word.find("->");
    if (arrow == std::string_view::npos) {
      return false;
    }
    const auto from = whole(word.substr(0, arrow));
    const auto to = whole(word.substr(arrow + 2));
    if (!from || !to || *from > kMaxHost || *to > kMaxHost || *from == *to) {
      return false;
    }
    source = *from;
    target = *to;
    return true;
  }

  [[nodiscard]] bool is_whole() const {
    const bool begins = (given[kStart] >= 0) != (given[kTrigger] >= 0);
    const bool counts =
        given[kId] != 0 && given[kTrigger] != 0 && given[kSendDone] != 0 && given[kRecvDone] != 0;
    return begins && counts && given[kSize] >= 1 && given[kStart] <= kMaxStart;
  }
};

std::optional<std::int64_t> cell(std::string_view word, char kind) {
  switch (kind) {
    case 'd':
      return decimal_ps(word);
    case 'f':
      return double_ps(word);
    default:
      return whole(word);
  }
}

/// Reads a row into `row`; false where a cell is not plain, missing or too much.
bool read_row(std::string_view line,
              std::string_view kinds,
              char separator,
              std::vector<std::int64_t>& row) {
  Words words(line);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::string_view word;
    if (is_blank(separator)) {
      word = words.next();
    } else {
      const std::size_t stop = line.find(separator);
      if ((stop == std::string_view::npos) != (i + 1 == kinds.size())) {
        return false;
      }
      word = trimmed(line.substr(0, stop));
      line.remove_prefix(stop == std::string_view::npos ? line.size() : stop + 1);
    }
    const auto value = cell(word, kinds[i]);
    if (!value) {
      return false;
    }
    row[i] = *value;
  }
  return !is_blank(separator) || words.next().empty();
}

}  // namespace

ScannedConnections scan_connections(std::string_view text) {
  ScannedConnections found;
  found.is_plain = is_plain(text);
  if (!found.is_plain) {
    return found;
  }
  const auto read = [&found](std::uint32_t number, std::string_view line) {
    Connection one;
    if (!one.read(line)) {
      return false;
    }
    const auto& given = one.given;
    if (std::max({given[kTrigger], given[kSendDone], given[kRecvDone]}) > 0) {
      found.tied.push_back(found.line.size());
      found.trigger.push_back(std::max<std::int64_t>(given[kTrigger], 0));
      found.send_done.push_back(std::max<std::int64_t>(given[kSendDone], 0));
      found.recv_done.push_back(std::max<std::int64_t>(given[kRecvDone], 0));
    }
    found.num_prio += static_cast<std::uint64_t>(given[kPrio] >= 0);
    found.line.push_back(number);
    found.source.push_back(static_cast<std::int32_t>(one.source));
    found.target.push_back(static_cast<std::int32_t>(one.target));
    found.size_bytes.push_back(given[kSize]);
    found.start_ps.push_back(std::max<std::int64_t>(given[kStart], 0));
    return true;
  };
  found.unread = read_lines(text, 0, true, read, [&found] { return found.line.size(); });
  return found;
}

ScannedRows scan_rows(std::string_view text,
                      std::string_view kinds,
                      char separator,
                      std::uint32_t first_line) {
  ScannedRows found;
  found.columns.resize(kinds.size());
  found.is_plain = is_plain(text);
  if (!found.is_plain) {
    return found;
  }
  std::vector<std::int64_t> row(kinds.size());
  const auto read = [&](std::uint32_t number, std::string_view line) {
    if (!read_row(line, kinds, separator, row)) {
      return false;
    }
    found.line.push_back(number);
    for (std::size_t i = 0; i < row.size(); ++i) {
      found.columns[i].push_back(row[i]);
    }
    return true;
  };
  found.unread = read_lines(
      text, first_line, is_blank(separator), read, [&found] { return found.line.size(); });
  return found;
}

}  // namespace netloom
