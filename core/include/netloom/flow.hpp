// Transfers that share links max-min fairly, from completion to completion.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace netloom {

/// What is to be moved over which links.
///
/// Route `r` crosses `links[route_offsets[r]]` up to `links[route_offsets[r + 1] - 1]`, each with
/// the share of its rate given by `shares` (all of it where that is empty). Set `s` is the routes
/// `set_offsets[s]` up to `set_offsets[s + 1] - 1`, of weight `weight[s]`. Transfer `t` moves
/// `size_bits[t]` over each route of set `route_set[t]`. It starts `delay_ps[t]` after the last of
/// `waits[wait_offsets[t]]` up to `waits[wait_offsets[t + 1] - 1]` has arrived, and not before
/// `start_ps[t]`; it has arrived `latency_ps[t]` after the last bit was sent. Transfers of one
/// `connection` (none is shared where that is empty) have one set, and on each of its routes they
/// move one after another, as they started.
struct FlowDemand {
  std::span<const double> capacity_bps;
  std::span<const std::uint64_t> route_offsets;
  std::span<const std::uint32_t> links;
  std::span<const float> shares;
  std::span<const std::uint64_t> set_offsets;
  std::span<const double> weight;
  std::span<const std::uint32_t> route_set;
  std::span<const double> size_bits;
  std::span<const std::int64_t> start_ps;
  std::span<const std::int64_t> delay_ps;
  std::span<const std::int64_t> latency_ps;
  std::span<const std::int64_t> wait_offsets;
  std::span<const std::int32_t> waits;
  std::span<const std::uint32_t> connection;
};

/// What came of it.
struct FlowRecord {
  std::vector<std::int64_t> start_ps;   ///< Of each transfer; -1 when it never started.
  std::vector<std::int64_t> finish_ps;  ///< Of each transfer; -1 when it never arrived.
  /// Link that held each transfer back when it ended, or none; of its routes the most shared one.
  std::vector<std::uint32_t> bottleneck;
  std::vector<std::uint32_t> sharers;  ///< Flows on that link then, itself included.
  std::vector<float> used_bits;        ///< Of each link in each bin, link by link.
  std::int64_t bin_ps = 0;
  std::int64_t simulated_ps = 0;
  std::uint64_t num_events = 0;   ///< Moments at which something started or ended.
  std::uint64_t num_visits = 0;   ///< Classes computed again, over all events.
  std::uint32_t num_classes = 0;  ///< Distinct route and weight.
  bool stopped = false;
};

/// Called now and then with the simulated time and the flows that are done (a route each); true
/// stops the run.
using FlowProgress = std::function<bool(std::int64_t, std::uint64_t)>;

/// Runs the transfers to the end.
///
/// @param num_bins How many equal spans of time `used_bits` has; 0 for none.
/// @param until_ps The run stops here.
/// @throws std::invalid_argument if arrays do not fit together.
[[nodiscard]] FlowRecord run_flows(const FlowDemand& demand,
                                   std::uint32_t num_bins,
                                   std::int64_t until_ps,
                                   const FlowProgress& progress);

}  // namespace netloom
