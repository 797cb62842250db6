#include "netloom/flow_split.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace netloom {

namespace {

// Two links are taken for each other by chance once in 2^64; that is found, and drawn again.
constexpr std::uint64_t kNextSalt = 1ULL << 32U;
constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

/// A number that looks drawn at random, for each one given.
std::uint64_t scattered(std::uint64_t value) {
  // Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014): splitmix64.
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

struct Piece {
  std::int32_t vertex;
  double share;
};

/// Follows one pair after another through the ground, all ways at once.
class Walk {
 public:
  Walk(const SplitGround& ground, const SplitPairs& pairs, std::size_t num_vertices)
      : ground_(ground),
        pairs_(pairs),
        at_share_(num_vertices, 0.0),
        reached_(num_vertices, 0),
        exit_of_(num_vertices, kNobody) {}

  /// What a walk came to that does not lead on.
  struct End {
    bool circles = false;
    bool lost = false;
    std::int32_t lost_at = 0;
  };

  /// Call `on_link` with each link and its share, and `on_exit` with where the pair ends.
  template <typename OnLink, typename OnExit>
  End go(std::uint32_t pair, const OnLink& on_link, const OnExit& on_exit) {
    const std::uint32_t destination = pairs_.destination[pair];
    begin(pair);
    End end;
    for (std::size_t hops = 0; !front_.empty(); ++hops) {
      if (hops > at_share_.size()) {
        end.circles = true;
        return end;
      }
      for (const Piece& piece : front_) {
        if (exit_of_[static_cast<std::size_t>(piece.vertex)] == destination) {
          on_exit(piece.vertex, piece.share);
        } else if (!spread(piece, destination, on_link)) {
          end = {.circles = false, .lost = true, .lost_at = piece.vertex};
          return end;
        }
      }
      advance();
    }
    return end;
  }

 private:
  void begin(std::uint32_t pair) {
    const std::uint32_t destination = pairs_.destination[pair];
    for (std::uint64_t e = pairs_.exit_offsets[destination];
         e < pairs_.exit_offsets[destination + 1];
         ++e) {
      exit_of_[static_cast<std::size_t>(pairs_.exit_vertex[e])] = destination;
    }
    clear();
    front_.clear();
    const std::uint32_t origin = pairs_.origin[pair];
    for (std::uint64_t i = pairs_.start_offsets[origin]; i < pairs_.start_offsets[origin + 1];
         ++i) {
      front_.push_back({.vertex = pairs_.start_vertex[i], .share = pairs_.start_share[i]});
    }
  }

  template <typename OnLink>
  bool spread(const Piece& piece, std::uint32_t destination, const OnLink& on_link) {
    const std::size_t row = static_cast<std::size_t>(piece.vertex) * ground_.num_goals;
    const auto goal = static_cast<std::size_t>(pairs_.goal[destination]);
    const auto set = static_cast<std::size_t>(ground_.choices[row + goal]);
    const std::int64_t first = ground_.offsets[set];
    const std::int64_t count = ground_.offsets[set + 1] - first;
    if (count == 0) {
      return false;
    }
    const double share = piece.share / static_cast<double>(count);
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto link = static_cast<std::uint32_t>(ground_.links[static_cast<std::size_t>(i)]);
      on_link(link, share);
      const auto target = static_cast<std::size_t>(ground_.link_target[link]);
      if (reached_[target] == 0) {
        reached_[target] = 1;
        touched_.push_back(static_cast<std::int32_t>(target));
      }
      at_share_[target] += share;
    }
    return true;
  }

  void advance() {
    if (!std::ranges::is_sorted(touched_)) {
      std::ranges::sort(touched_);
    }
    front_.clear();
    for (const std::int32_t vertex : touched_) {
      front_.push_back({.vertex = vertex, .share = at_share_[static_cast<std::size_t>(vertex)]});
    }
    clear();
  }

  void clear() {
    for (const std::int32_t vertex : touched_) {
      at_share_[static_cast<std::size_t>(vertex)] = 0;
      reached_[static_cast<std::size_t>(vertex)] = 0;
    }
    touched_.clear();
  }

  const SplitGround& ground_;
  const SplitPairs& pairs_;
  std::vector<double> at_share_;
  std::vector<std::uint8_t> reached_;
  std::vector<std::uint32_t> exit_of_;  ///< The last destination that each vertex was an exit of.
  std::vector<std::int32_t> touched_;
  std::vector<Piece> front_;
};

/// Sums over all pairs that tell which links carry the same share of each.
class Prints {
 public:
  explicit Prints(std::size_t num_links)
      : print_(num_links, 0), last_(num_links, kNobody), alone_(num_links, 0) {}

  /// @param share What the link carries of the pair, as bits.
  void add(std::uint32_t pair, std::uint64_t number, std::uint32_t link, std::uint64_t share) {
    alone_[link] |= static_cast<std::uint8_t>(last_[link] == pair);  // twice on one way
    last_[link] = pair;
    print_[link] += number * share;
  }

  /// Return the first link of each link's group.
  [[nodiscard]] std::vector<std::uint32_t> groups(std::span<const std::uint32_t> kind) const {
    std::vector<std::uint32_t> first(print_.size());
    std::iota(first.begin(), first.end(), 0U);
    std::vector<std::uint32_t> order;
    for (std::uint32_t link = 0; link < print_.size(); ++link) {
      if (last_[link] != kNobody && alone_[link] == 0) {
        order.push_back(link);
      }
    }
    const auto same = [&](std::uint32_t a, std::uint32_t b) {
      return print_[a] == print_[b] && kind[a] == kind[b];
    };
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      if (print_[a] != print_[b]) {
        return print_[a] < print_[b];
      }
      return kind[a] != kind[b] ? kind[a] < kind[b] : a < b;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (same(order[i - 1], order[i])) {
        first[order[i]] = first[order[i - 1]];
      }
    }
    return first;
  }

 private:
  std::vector<std::uint64_t> print_;
  std::vector<std::uint32_t> last_;  ///< The last pair that crossed each link.
  std::vector<std::uint8_t> alone_;
};

/// Finds out whether every pair puts the same share on all links of each group that it crosses.
class GroupCheck {
 public:
  explicit GroupCheck(std::span<const std::uint32_t> group)
      : group_(group), size_(group.size(), 0), met_(group.size(), {.pair = kNobody}) {
    for (const std::uint32_t first : group) {
      ++size_[first];
    }
  }

  [[nodiscard]] std::uint32_t size(std::uint32_t first) const { return size_[first]; }

  void meet(std::uint32_t pair, std::uint32_t link, double share) {
    const std::uint32_t first = group_[link];
    if (size_[first] == 1) {
      return;
    }
    Met& met = met_[first];
    if (met.pair == pair) {
      ++met.count;
      is_wrong_ |= met.share != share;
    } else {
      met = {.pair = pair, .count = 1, .share = share};
      groups_.push_back(first);
    }
  }

  /// Close a pair's books; false where some links of a group carry it and others do not.
  bool close() {
    for (const std::uint32_t first : groups_) {
      is_wrong_ |= met_[first].count != size_[first];
    }
    groups_.clear();
    return !is_wrong_;
  }

 private:
  struct Met {
    std::uint32_t pair;
    std::uint32_t count = 0;
    double share = 0;
  };

  std::span<const std::uint32_t> group_;
  std::vector<std::uint32_t> size_;
  std::vector<Met> met_;
  std::vector<std::uint32_t> groups_;
  bool is_wrong_ = false;
};

std::size_t vertices_of(const SplitGround& ground) {
  return ground.num_goals == 0 ? 0 : ground.choices.size() / ground.num_goals;
}

void check(const SplitGround& ground, const SplitPairs& pairs) {
  const bool fits = ground.kind.size() == ground.link_target.size() &&
                    pairs.origin.size() == pairs.destination.size() &&
                    pairs.start_vertex.size() == pairs.start_share.size() &&
                    !pairs.start_offsets.empty() &&
                    pairs.start_offsets.back() == pairs.start_vertex.size() &&
                    pairs.exit_offsets.size() == pairs.goal.size() + 1 &&
                    pairs.exit_offsets.back() == pairs.exit_vertex.size() &&
                    ground.choices.size() == vertices_of(ground) * ground.num_goals;
  if (!fits) {
    throw std::invalid_argument("split_pairs: arrays of different lengths");
  }
}

/// Walk all pairs once; returns what tells links apart, and notes pairs without a way.
Prints printed(const SplitGround& ground,
               const SplitPairs& pairs,
               Walk& walk,
               std::uint64_t salt,
               SplitWays& ways) {
  Prints prints(ground.link_target.size());
  const auto no_exit = [](std::int32_t /*vertex*/, double /*share*/) {};
  for (std::uint32_t pair = 0; pair < pairs.origin.size() && !ways.circles; ++pair) {
    const std::uint64_t number = scattered(pair ^ salt);
    const auto add = [&](std::uint32_t link, double share) {
      prints.add(pair, number, link, std::bit_cast<std::uint32_t>(static_cast<float>(share)));
    };
    const Walk::End end = walk.go(pair, add, no_exit);
    ways.circles = end.circles;
    if (end.lost) {
      ways.lost_pair.push_back(pair);
      ways.lost_at.push_back(end.lost_at);
    }
  }
  return prints;
}

/// Walk all pairs again and write them down; false where what tells links apart did not.
bool written(const SplitPairs& pairs, Walk& walk, SplitWays& ways) {
  GroupCheck groups(ways.group);
  ways.offsets = {0};
  ways.exit_offsets = {0};
  const auto exit = [&](std::int32_t vertex, double share) {
    ways.exit_vertex.push_back(vertex);
    ways.exit_share.push_back(share);
  };
  for (std::uint32_t pair = 0; pair < pairs.origin.size(); ++pair) {
    const auto cross = [&](std::uint32_t link, double whole) {
      const auto share = static_cast<float>(whole);
      groups.meet(pair, link, share);
      if (ways.group[link] == link) {
        ways.links.push_back(link);
        ways.shares.push_back(share);
        ways.times.push_back(groups.size(link));
      }
    };
    walk.go(pair, cross, exit);
    if (!groups.close()) {
      return false;
    }
    ways.offsets.push_back(ways.links.size());
    ways.exit_offsets.push_back(ways.exit_vertex.size());
  }
  return true;
}

/// Whether groups are groups, given what pairs put on links.
bool holds(std::span<const std::uint64_t> offsets,
           std::span<const std::uint32_t> links,
           std::span<const double> shares,
           std::span<const std::uint32_t> group) {
  GroupCheck groups(group);
  for (std::uint32_t pair = 0; pair + 1 < offsets.size(); ++pair) {
    for (std::uint64_t e = offsets[pair]; e < offsets[pair + 1]; ++e) {
      groups.meet(pair, links[e], shares[e]);
    }
    if (!groups.close()) {
      return false;
    }
  }
  return true;
}

}  // namespace

SplitWays split_pairs(const SplitGround& ground, const SplitPairs& pairs) {
  check(ground, pairs);
  Walk walk(ground, pairs, vertices_of(ground));
  for (std::uint64_t salt = 0;; salt += kNextSalt) {
    SplitWays ways;
    const Prints prints = printed(ground, pairs, walk, salt, ways);
    if (ways.circles || !ways.lost_pair.empty()) {
      return ways;
    }
    ways.group = prints.groups(ground.kind);
    if (written(pairs, walk, ways)) {
      return ways;
    }
  }
}

std::vector<std::uint32_t> group_links(std::span<const std::uint64_t> offsets,
                                       std::span<const std::uint32_t> links,
                                       std::span<const double> shares,
                                       std::span<const std::uint32_t> kind) {
  if (offsets.empty() || offsets.back() != links.size() || links.size() != shares.size()) {
    throw std::invalid_argument("group_links: arrays of different lengths");
  }
  for (std::uint64_t salt = 0;; salt += kNextSalt) {
    Prints prints(kind.size());
    for (std::uint32_t pair = 0; pair + 1 < offsets.size(); ++pair) {
      const std::uint64_t number = scattered(pair ^ salt);
      for (std::uint64_t e = offsets[pair]; e < offsets[pair + 1]; ++e) {
        prints.add(pair, number, links[e], std::bit_cast<std::uint64_t>(shares[e]));
      }
    }
    std::vector<std::uint32_t> group = prints.groups(kind);
    if (holds(offsets, links, shares, group)) {
      return group;
    }
  }
}

}  // namespace netloom
