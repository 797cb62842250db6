#include "netloom/flow.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "netloom/flow_share.hpp"
#include "netloom/flow_split.hpp"
#include "register.hpp"

namespace netloom::bindings {

namespace {

using Found = nb::typed<nb::dict, nb::str, nb::object>;
using History = std::pair<OutArray<double>, OutArray<std::uint32_t>>;
using Progress = std::optional<std::function<bool(std::int64_t, std::uint64_t)>>;

Found as_dict(FlowRecord record) {
  Found found;
  found["start_ps"] = give(std::move(record.start_ps));
  found["finish_ps"] = give(std::move(record.finish_ps));
  found["bottleneck"] = give(std::move(record.bottleneck));
  found["sharers"] = give(std::move(record.sharers));
  found["used_bits"] = give(std::move(record.used_bits));
  found["bin_ps"] = record.bin_ps;
  found["simulated_ps"] = record.simulated_ps;
  found["num_events"] = record.num_events;
  found["num_visits"] = record.num_visits;
  found["num_classes"] = record.num_classes;
  found["stopped"] = record.stopped;
  return found;
}

Found run(const InArray<double>& capacity_bps,
          const InArray<std::uint64_t>& route_offsets,
          const InArray<std::uint32_t>& links,
          const InArray<float>& shares,
          const InArray<std::uint64_t>& set_offsets,
          const InArray<double>& weight,
          const InArray<std::uint32_t>& route_set,
          const InArray<double>& size_bits,
          const InArray<std::int64_t>& start_ps,
          const InArray<std::int64_t>& delay_ps,
          const InArray<std::int64_t>& latency_ps,
          const InArray<std::int64_t>& wait_offsets,
          const InArray<std::int32_t>& waits,
          const InArray<std::uint32_t>& connection,
          std::uint32_t num_bins,
          std::int64_t until_ps,
          const Progress& progress) {
  const FlowDemand demand{
      .capacity_bps = view(capacity_bps),
      .route_offsets = view(route_offsets),
      .links = view(links),
      .shares = view(shares),
      .set_offsets = view(set_offsets),
      .weight = view(weight),
      .route_set = view(route_set),
      .size_bits = view(size_bits),
      .start_ps = view(start_ps),
      .delay_ps = view(delay_ps),
      .latency_ps = view(latency_ps),
      .wait_offsets = view(wait_offsets),
      .waits = view(waits),
      .connection = view(connection),
  };
  FlowProgress report;
  if (progress) {
    report = [&progress](std::int64_t now_ps, std::uint64_t num_done) {
      const nb::gil_scoped_acquire locked;
      return (*progress)(now_ps, num_done);
    };
  }
  FlowRecord record;
  {
    const nb::gil_scoped_release unlocked;
    record = run_flows(demand, num_bins, until_ps, report);
  }
  return as_dict(std::move(record));
}

template <typename T>
std::vector<T> copied(const InArray<T>& array) {
  return {array.data(), array.data() + array.size()};
}

History history(const InArray<double>& capacity_bps,
                const InArray<std::uint64_t>& route_offsets,
                const InArray<std::uint32_t>& links,
                const InArray<float>& shares,
                const InArray<double>& cap_bps,
                const InArray<double>& weight,
                const InArray<std::uint32_t>& changed,
                const InArray<std::int32_t>& count,
                const InArray<std::uint64_t>& batches) {
  const FlowClasses classes{.offsets = copied(route_offsets),
                            .links = copied(links),
                            .shares = copied(shares),
                            .cap_bps = copied(cap_bps),
                            .weight = copied(weight)};
  FairHistory found =
      fair_history(view(capacity_bps),
                   classes,
                   {.flow_class = view(changed), .count = view(count), .batches = view(batches)});
  return {give(std::move(found.rate_bps)), give(std::move(found.bottleneck))};
}

Found split(const InArray<std::int32_t>& link_target,
            const InArray<std::uint32_t>& kind,
            const InArray<std::int32_t>& choices,
            const InArray<std::int64_t>& offsets,
            const InArray<std::int32_t>& links,
            std::size_t num_goals,
            const InArray<std::uint64_t>& start_offsets,
            const InArray<std::int32_t>& start_vertex,
            const InArray<double>& start_share,
            const InArray<std::int32_t>& goal,
            const InArray<std::uint64_t>& exit_offsets,
            const InArray<std::int32_t>& exit_vertex,
            const InArray<std::uint32_t>& origin,
            const InArray<std::uint32_t>& destination) {
  const SplitGround ground{.link_target = view(link_target),
                           .kind = view(kind),
                           .choices = view(choices),
                           .offsets = view(offsets),
                           .links = view(links),
                           .num_goals = num_goals};
  const SplitPairs pairs{.start_offsets = view(start_offsets),
                         .start_vertex = view(start_vertex),
                         .start_share = view(start_share),
                         .goal = view(goal),
                         .exit_offsets = view(exit_offsets),
                         .exit_vertex = view(exit_vertex),
                         .origin = view(origin),
                         .destination = view(destination)};
  SplitWays ways;
  {
    const nb::gil_scoped_release unlocked;
    ways = split_pairs(ground, pairs);
  }
  Found found;
  found["offsets"] = give(std::move(ways.offsets));
  found["links"] = give(std::move(ways.links));
  found["shares"] = give(std::move(ways.shares));
  found["times"] = give(std::move(ways.times));
  found["exit_offsets"] = give(std::move(ways.exit_offsets));
  found["exit_vertex"] = give(std::move(ways.exit_vertex));
  found["exit_share"] = give(std::move(ways.exit_share));
  found["group"] = give(std::move(ways.group));
  found["lost_pair"] = give(std::move(ways.lost_pair));
  found["lost_at"] = give(std::move(ways.lost_at));
  found["circles"] = ways.circles;
  return found;
}

OutArray<std::uint32_t> group(const InArray<std::uint64_t>& offsets,
                              const InArray<std::uint32_t>& links,
                              const InArray<double>& shares,
                              const InArray<std::uint32_t>& kind) {
  return give(group_links(view(offsets), view(links), view(shares), view(kind)));
}

}  // namespace

void register_flow(nb::module_& m) {
  m.def("fair_history",
        &history,
        nb::kw_only(),
        nb::arg("capacity_bps"),
        nb::arg("route_offsets"),
        nb::arg("links"),
        nb::arg("shares"),
        nb::arg("cap_bps"),
        nb::arg("weight"),
        nb::arg("changed"),
        nb::arg("count"),
        nb::arg("batches"),
        "Fair rate and bottleneck of each class after each batch of starts and ends.");
  m.def("split_pairs",
        &split,
        nb::kw_only(),
        nb::arg("link_target"),
        nb::arg("kind"),
        nb::arg("choices"),
        nb::arg("offsets"),
        nb::arg("links"),
        nb::arg("num_goals"),
        nb::arg("start_offsets"),
        nb::arg("start_vertex"),
        nb::arg("start_share"),
        nb::arg("goal"),
        nb::arg("exit_offsets"),
        nb::arg("exit_vertex"),
        nb::arg("origin"),
        nb::arg("destination"),
        "Split each pair evenly over all its ways; links that carry alike are told once.");
  m.def("group_links",
        &group,
        nb::kw_only(),
        nb::arg("offsets"),
        nb::arg("links"),
        nb::arg("shares"),
        nb::arg("kind"),
        "Of each link the first of those that carry the same share of every pair.");
  m.def("run_flows",
        &run,
        nb::kw_only(),
        nb::arg("capacity_bps"),
        nb::arg("route_offsets"),
        nb::arg("links"),
        nb::arg("shares"),
        nb::arg("set_offsets"),
        nb::arg("weight"),
        nb::arg("route_set"),
        nb::arg("size_bits"),
        nb::arg("start_ps"),
        nb::arg("delay_ps"),
        nb::arg("latency_ps"),
        nb::arg("wait_offsets"),
        nb::arg("waits"),
        nb::arg("connection"),
        nb::arg("num_bins"),
        nb::arg("until_ps"),
        nb::arg("progress").none(),
        "Run transfers that share links max-min fairly, to the end or until told to stop.");
}

}  // namespace netloom::bindings
