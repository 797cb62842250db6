// Flows split evenly over all their ways, worked out once for all that take the same ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace netloom {

/// Where links lead, and the next links from each vertex to each goal.
///
/// The next links from vertex `v` to goal `g` are `links[offsets[s]]` up to
/// `links[offsets[s + 1] - 1]` with `s = choices[v * num_goals + g]`. Links of different `kind` are
/// never taken for each other.
struct SplitGround {
  std::span<const std::int32_t> link_target;
  std::span<const std::uint32_t> kind;
  std::span<const std::int32_t> choices;
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> links;
  std::size_t num_goals = 0;
};

/// What begins at the same vertices and goes to the same ones.
///
/// Pair `p` begins as origin `origin[p]`: at `start_vertex[i]` with the share `start_share[i]`, for
/// `i` from `start_offsets[origin[p]]` up to the next, vertices ascending. It goes to destination
/// `destination[p]`: to goal `goal[destination[p]]`, and ends at that destination's vertices
/// `exit_vertex`, each one link from the target.
struct SplitPairs {
  std::span<const std::uint64_t> start_offsets;
  std::span<const std::int32_t> start_vertex;
  std::span<const double> start_share;
  std::span<const std::int32_t> goal;
  std::span<const std::uint64_t> exit_offsets;
  std::span<const std::int32_t> exit_vertex;
  std::span<const std::uint32_t> origin;
  std::span<const std::uint32_t> destination;
};

/// The links of each pair, one for each group.
///
/// Links that carry the same share of every pair, and are of one kind, are a group: what one of
/// them carries the others carry too. The first of them stands for all.
struct SplitWays {
  std::vector<std::uint64_t> offsets;       ///< Where the entries of each pair begin.
  std::vector<std::uint32_t> links;         ///< First link of a group.
  std::vector<float> shares;                ///< What each link of the group carries of the pair.
  std::vector<std::uint32_t> times;         ///< How many links the group has.
  std::vector<std::uint64_t> exit_offsets;  ///< Where the ends of each pair begin.
  std::vector<std::int32_t> exit_vertex;    ///< Where it leaves for the target,
  std::vector<double> exit_share;           ///< and what share of it does.
  std::vector<std::uint32_t> group;         ///< Of each link, the first of its group.
  std::vector<std::uint32_t> lost_pair;     ///< Pairs that come to a vertex without a way on,
  std::vector<std::int32_t> lost_at;        ///< and that vertex.
  bool circles = false;                     ///< A way visits more vertices than there are.
};

/// Returns the ways of all pairs.
///
/// @throws std::invalid_argument if the arrays do not fit together.
[[nodiscard]] SplitWays split_pairs(const SplitGround& ground, const SplitPairs& pairs);

/// Returns of each link the first of its group, given what pairs put on links, pair by pair.
///
/// @throws std::invalid_argument if the arrays do not fit together.
[[nodiscard]] std::vector<std::uint32_t> group_links(std::span<const std::uint64_t> offsets,
                                                     std::span<const std::uint32_t> links,
                                                     std::span<const double> shares,
                                                     std::span<const std::uint32_t> kind);

}  // namespace netloom
