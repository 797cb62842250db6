#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "arrays.hpp"
#include "netloom/flow.hpp"
#include "register.hpp"

namespace netloom::bindings {

namespace {

using Progress = std::optional<std::function<bool(std::int64_t, std::uint64_t)>>;

nb::dict as_dict(FlowRecord record) {
  nb::dict found;
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

nb::dict run(const InArray<double>& capacity_bps,
             const InArray<std::uint64_t>& route_offsets,
             const InArray<std::uint32_t>& links,
             const InArray<float>& shares,
             const InArray<double>& size_bits,
             const InArray<double>& cap_bps,
             const InArray<double>& weight,
             const InArray<std::int64_t>& part_offsets,
             const InArray<std::int64_t>& start_ps,
             const InArray<std::int64_t>& delay_ps,
             const InArray<std::int64_t>& latency_ps,
             const InArray<std::int64_t>& wait_offsets,
             const InArray<std::int32_t>& waits,
             std::uint32_t num_bins,
             std::int64_t until_ps,
             const Progress& progress) {
  const FlowDemand demand{
      .capacity_bps = view(capacity_bps),
      .route_offsets = view(route_offsets),
      .links = view(links),
      .shares = view(shares),
      .size_bits = view(size_bits),
      .cap_bps = view(cap_bps),
      .weight = view(weight),
      .part_offsets = view(part_offsets),
      .start_ps = view(start_ps),
      .delay_ps = view(delay_ps),
      .latency_ps = view(latency_ps),
      .wait_offsets = view(wait_offsets),
      .waits = view(waits),
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

}  // namespace

void register_flow(nb::module_& m) {
  m.def("run_flows",
        &run,
        nb::kw_only(),
        nb::arg("capacity_bps"),
        nb::arg("route_offsets"),
        nb::arg("links"),
        nb::arg("shares"),
        nb::arg("size_bits"),
        nb::arg("cap_bps"),
        nb::arg("weight"),
        nb::arg("part_offsets"),
        nb::arg("start_ps"),
        nb::arg("delay_ps"),
        nb::arg("latency_ps"),
        nb::arg("wait_offsets"),
        nb::arg("waits"),
        nb::arg("num_bins"),
        nb::arg("until_ps"),
        nb::arg("progress").none(),
        "Run transfers that share links max-min fairly, to the end or until told to stop.");
}

}  // namespace netloom::bindings
