#include "netloom/flow_share.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace netloom {

namespace {

// Links whose levels differ by rounding alone fill up together, so that equal flows stay equal.
constexpr double kSame = 1e-12;
// A class is left alone while it is no faster than the links it shares allow, by this much.
constexpr double kFair = 1e-10;
// A link's weight is summed again when subtraction may have eaten this share of its digits.
constexpr double kRecount = 1e-6;
// Fillings that grow by single classes before whole links are taken in.
constexpr int kCautious = 4;

}  // namespace

FairShare::FairShare(std::span<const double> capacity_bps, const FlowClasses& classes)
    : classes_(classes), state_(classes.size()) {
  links_.reserve(capacity_bps.size());
  for (const double capacity : capacity_bps) {
    links_.push_back({.capacity = capacity});
  }
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes.offsets[c] == classes.offsets[c + 1] && std::isinf(classes.cap_bps[c])) {
      throw std::invalid_argument("FairShare: a class without links needs a cap");
    }
  }
  index_links();
}

void FairShare::index_links() {
  const std::size_t num_entries = classes_.links.size();
  row_begin_.assign(links_.size() + 1, 0);
  for (const std::uint32_t link : classes_.links) {
    if (link >= links_.size()) {
      throw std::invalid_argument("FairShare: a class names a link without a capacity");
    }
    ++row_begin_[link + 1];
  }
  for (std::size_t link = 0; link < links_.size(); ++link) {
    row_begin_[link + 1] += row_begin_[link];
  }
  rows_.resize(num_entries);
  place_.resize(num_entries);
  entry_class_.resize(num_entries);
  std::vector<std::uint32_t> filled(links_.size(), 0);
  for (std::uint32_t c = 0; c < classes_.size(); ++c) {
    for (std::uint64_t e = classes_.offsets[c]; e < classes_.offsets[c + 1]; ++e) {
      const std::uint32_t link = classes_.links[e];
      place_[e] = filled[link]++;
      rows_[row_begin_[link] + place_[e]] = static_cast<std::uint32_t>(e);
      entry_class_[e] = c;
    }
  }
}

std::span<const std::uint32_t> FairShare::row(std::uint32_t link) const {
  return {rows_.data() + row_begin_[link], links_[link].active};
}

/// Swap the class's entries into the active part of their rows.
void FairShare::enter(std::uint32_t flow_class) {
  for (std::uint64_t e = classes_.offsets[flow_class]; e < classes_.offsets[flow_class + 1]; ++e) {
    Link& link = links_[classes_.links[e]];
    std::uint32_t* const first = rows_.data() + row_begin_[classes_.links[e]];
    const std::uint32_t other = first[link.active];
    std::swap(first[place_[e]], first[link.active]);
    std::swap(place_[e], place_[other]);
    ++link.active;
  }
}

void FairShare::leave(std::uint32_t flow_class) {
  State& state = state_[flow_class];
  for (std::uint64_t e = classes_.offsets[flow_class]; e < classes_.offsets[flow_class + 1]; ++e) {
    Link& link = links_[classes_.links[e]];
    std::uint32_t* const first = rows_.data() + row_begin_[classes_.links[e]];
    --link.active;
    const std::uint32_t other = first[link.active];
    std::swap(first[place_[e]], first[link.active]);
    std::swap(place_[e], place_[other]);
    if (link.active == 0) {
      link.used = 0;  // what rounding left
    }
  }
  if (state.bottleneck != kNone) {
    --links_[state.bottleneck].held;
  }
  state = {.visited = state.visited};
}

void FairShare::load(std::uint32_t flow_class, double flows) {
  const double rate = state_[flow_class].rate * flows;
  for (std::uint64_t e = classes_.offsets[flow_class]; e < classes_.offsets[flow_class + 1]; ++e) {
    const std::uint32_t index = classes_.links[e];
    Link& link = links_[index];
    link.used += rate * classes_.share(e);
    link.flows += static_cast<std::uint32_t>(static_cast<std::int64_t>(flows));
    if (!link.dirty) {
      link.dirty = true;
      dirty_.push_back(index);
    }
    if (!link.moved) {
      link.moved = true;
      moved_.push_back(index);
    }
  }
}

void FairShare::add(std::uint32_t flow_class, std::uint32_t count) {
  State& state = state_[flow_class];
  if (state.count == 0) {
    enter(flow_class);
  }
  load(flow_class, count);
  state.count += count;
  started_.push_back(flow_class);
}

void FairShare::remove(std::uint32_t flow_class, std::uint32_t count) {
  State& state = state_[flow_class];
  load(flow_class, -static_cast<double>(count));
  state.count -= count;
  if (state.count == 0) {
    leave(flow_class);
  }
}

void FairShare::forget_moved() {
  for (const std::uint32_t link : moved_) {
    links_[link].moved = false;
  }
  moved_.clear();
}

void FairShare::solve() {
  ++solve_;
  visited_.clear();
  closed_ = 0;
  for (const std::uint32_t c : started_) {
    if (state_[c].count > 0) {
      visit(c);
    }
  }
  for (const std::uint32_t link : dirty_) {
    links_[link].dirty = false;
    spread(link);
  }
  started_.clear();
  dirty_.clear();
  bool fair = visited_.empty();
  for (int rounds = 1; !fair; ++rounds) {
    close();
    prepare();
    fill();
    num_visits_ += visited_.size();
    fair = check(rounds == kCautious);
  }
}

void FairShare::visit(std::uint32_t flow_class) {
  State& state = state_[flow_class];
  if (state.visited != solve_) {
    state.visited = solve_;
    visited_.push_back(flow_class);
  }
}

/// Visit the classes that a link holds back.
void FairShare::spread(std::uint32_t link) {
  if (links_[link].spread == solve_ || links_[link].held == 0) {
    return;
  }
  links_[link].spread = solve_;
  for (const std::uint32_t entry : row(link)) {
    const std::uint32_t c = entry_class_[entry];
    if (state_[c].bottleneck == link) {
      visit(c);
    }
  }
}

void FairShare::close() {
  for (; closed_ < visited_.size(); ++closed_) {
    const std::uint32_t c = visited_[closed_];
    for (std::uint64_t e = classes_.offsets[c]; e < classes_.offsets[c + 1]; ++e) {
      spread(classes_.links[e]);
    }
  }
}

/// Give what the visited classes use back to their links.
void FairShare::prepare() {
  ++filling_;
  touched_.clear();
  full_.clear();
  capped_.clear();
  for (const std::uint32_t c : visited_) {
    State& state = state_[c];
    state.growing = true;
    if (state.bottleneck != kNone) {
      --links_[state.bottleneck].held;
      state.bottleneck = kNone;
    }
    if (classes_.cap_bps[c] < std::numeric_limits<double>::infinity()) {
      capped_.push_back(c);
    }
    for (std::uint64_t e = classes_.offsets[c]; e < classes_.offsets[c + 1]; ++e) {
      Link& link = links_[classes_.links[e]];
      if (link.touched != filling_) {
        link.touched = filling_;
        link.left = link.capacity - link.used;
        link.weight = 0;
        link.growing = 0;
        touched_.push_back(classes_.links[e]);
      }
      const double part = classes_.share(e) * state.count;
      link.left += part * state.rate;
      link.weight += part * classes_.weight[c];
      ++link.growing;
    }
  }
}

/// Progressive filling of the visited classes on what the others leave.
void FairShare::fill() {
  const auto later = [](const Level& a, const Level& b) {
    return a.level != b.level ? a.level > b.level : a.link > b.link;
  };
  heap_.clear();
  for (const std::uint32_t link : touched_) {
    links_[link].whole = links_[link].weight;
    heap_.push_back({.level = level_of(link), .link = link});
  }
  std::ranges::make_heap(heap_, later);
  const auto cap_level = [this](std::uint32_t c) {
    return classes_.cap_bps[c] / classes_.weight[c];
  };
  std::ranges::sort(capped_, [&](std::uint32_t a, std::uint32_t b) {
    return cap_level(a) != cap_level(b) ? cap_level(a) < cap_level(b) : a < b;
  });
  reached_ = 0;
  for (const std::uint32_t c : capped_) {
    while (state_[c].growing && next_link(cap_level(c))) {
    }
    if (state_[c].growing) {
      freeze(c, cap_level(c), kNone);
    }
  }
  while (next_link(std::numeric_limits<double>::infinity())) {
  }
  for (const std::uint32_t link : touched_) {
    Link& one = links_[link];
    one.used = one.capacity - one.left;
    if (!one.moved) {
      one.moved = true;
      moved_.push_back(link);
    }
  }
}

/// Where a link is full if nothing else freezes; its weight is summed again once little is left.
double FairShare::level_of(std::uint32_t index) {
  Link& link = links_[index];
  if (link.weight < kRecount * link.whole) {
    link.weight = 0;
    for (const std::uint32_t entry : row(index)) {
      const std::uint32_t c = entry_class_[entry];
      if (state_[c].growing) {
        link.weight += classes_.share(entry) * state_[c].count * classes_.weight[c];
      }
    }
    link.whole = link.weight;
  }
  return std::max(0.0, link.left) / link.weight;
}

/// Fill up the next link that is full below a level; false when there is none.
bool FairShare::next_link(double below) {
  const auto later = [](const Level& a, const Level& b) {
    return a.level != b.level ? a.level > b.level : a.link > b.link;
  };
  while (!heap_.empty()) {
    const Level top = heap_.front();
    if (top.level > below) {
      return false;
    }
    std::ranges::pop_heap(heap_, later);
    heap_.pop_back();
    const Link& link = links_[top.link];
    if (link.growing == 0) {
      continue;
    }
    const double level = level_of(top.link);
    if (level > top.level * (1 + kSame)) {  // others froze since: it is full later than thought
      heap_.push_back({.level = level, .link = top.link});
      std::ranges::push_heap(heap_, later);
      continue;
    }
    fill_link(top.link, std::max(level, reached_));
    return true;
  }
  return false;
}

void FairShare::fill_link(std::uint32_t link, double level) {
  reached_ = level <= reached_ * (1 + kSame) ? reached_ : level;
  links_[link].level = reached_;
  full_.push_back(link);
  for (const std::uint32_t entry : row(link)) {
    const std::uint32_t c = entry_class_[entry];
    if (state_[c].growing) {
      freeze(c, reached_, link);
    }
  }
}

void FairShare::freeze(std::uint32_t flow_class, double level, std::uint32_t bottleneck) {
  State& state = state_[flow_class];
  state.growing = false;
  state.level = level;
  state.rate =
      bottleneck == kNone ? classes_.cap_bps[flow_class] : level * classes_.weight[flow_class];
  state.bottleneck = bottleneck;
  if (bottleneck != kNone) {
    ++links_[bottleneck].held;
  }
  for (std::uint64_t e = classes_.offsets[flow_class]; e < classes_.offsets[flow_class + 1]; ++e) {
    Link& link = links_[classes_.links[e]];
    const double part = classes_.share(e) * state.count;
    link.left -= part * state.rate;
    link.weight -= part * classes_.weight[flow_class];
    --link.growing;
  }
}

/// Whether the definition holds for the classes left alone; visits those for which it does not.
bool FairShare::check(bool whole_links) {
  const std::size_t before = visited_.size();
  for (const std::uint32_t link : full_) {
    const double most = links_[link].level * (1 + kFair);
    for (const std::uint32_t entry : row(link)) {
      const std::uint32_t c = entry_class_[entry];
      if (whole_links || state_[c].level > most) {
        visit(c);
      }
    }
  }
  return visited_.size() == before;
}

FairHistory fair_history(std::span<const double> capacity_bps,
                         const FlowClasses& classes,
                         const FlowChanges& changes) {
  FairShare share(capacity_bps, classes);
  FairHistory history;
  for (std::size_t batch = 0; batch + 1 < changes.batches.size(); ++batch) {
    for (std::uint64_t i = changes.batches[batch]; i < changes.batches[batch + 1]; ++i) {
      const std::int32_t count = changes.count[i];
      if (count > 0) {
        share.add(changes.flow_class[i], static_cast<std::uint32_t>(count));
      } else {
        share.remove(changes.flow_class[i], static_cast<std::uint32_t>(-count));
      }
    }
    share.solve();
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
      history.rate_bps.push_back(share.rate(c));
      history.bottleneck.push_back(share.bottleneck(c));
    }
  }
  return history;
}

}  // namespace netloom
