// Flows read from text, line by line: what is plain is read here, the rest is left to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace netloom {

/// Lines that hold words but were not read.
struct UnreadLines {
  std::vector<std::uint32_t> line;      ///< Its number, from 1.
  std::vector<std::uint64_t> begin;     ///< Its first character,
  std::vector<std::uint64_t> end;       ///< and the one after its last; no comment.
  std::vector<std::uint64_t> position;  ///< Rows that were read before it.
};

/// Flows of an htsim connection matrix.
struct ScannedConnections {
  std::vector<std::uint32_t> line;
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> target;
  std::vector<std::int64_t> size_bytes;
  std::vector<std::int64_t> start_ps;
  std::uint64_t num_prio = 0;       ///< Flows with a priority.
  std::vector<std::uint64_t> tied;  ///< Flows with triggers, and these; 0 for none.
  std::vector<std::int64_t> trigger;
  std::vector<std::int64_t> send_done;
  std::vector<std::int64_t> recv_done;
  UnreadLines unread;
  bool is_plain = true;  ///< No characters but printed ASCII, tabs and ends of lines.
};

/// Returns the flows `A->B key value ...` whose every word is as expected; `#` begins a comment.
///
/// Read are whole numbers of up to 18 digits, each key once: id, size and triggers of 1 and more,
/// hosts up to 2^20 that differ, start up to 10^16, and either a start or a trigger.
[[nodiscard]] ScannedConnections scan_connections(std::string_view text);

/// Rows of numbers.
struct ScannedRows {
  std::vector<std::uint32_t> line;
  std::vector<std::vector<std::int64_t>> columns;
  UnreadLines unread;
  bool is_plain = true;
};

/// Returns the rows of text that have one number for each kind, cells apart by a separator.
///
/// @param kinds `i` for a whole number of up to 18 digits; `d` for seconds in decimals, up to
/// 10^4, exact in picoseconds; `f` for seconds below 3,600 as a double, times 10^12, rounded.
/// @param separator A blank stands for any number of blanks; blanks around cells do not count.
/// @param first_line How many lines to leave out at the top.
[[nodiscard]] ScannedRows scan_rows(std::string_view text,
                                    std::string_view kinds,
                                    char separator,
                                    std::uint32_t first_line);

}  // namespace netloom
