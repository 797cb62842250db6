// The packet simulator for Python: arrays and numbers by name in, arrays by name out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "netloom/packet/host/progress.hpp"
#include "netloom/packet/sides.hpp"
#include "netloom/packet/simulation.hpp"
#include "register.hpp"

namespace netloom::bindings {

namespace nb = nanobind;

namespace {

using namespace netloom::packet;
using Numbers = std::map<std::string, double>;
using Names = std::map<std::string, std::string>;

template <typename T>
void fill(std::vector<T>& into, const nb::dict& arrays, const char* name) {
  if (!arrays.contains(name)) {
    throw std::invalid_argument(std::string("packets: no array '") + name + "'");
  }
  const auto array =
      nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(arrays[name]);
  into.assign(array.data(), array.data() + array.size());
}

/// Reads numbers by name; one that is missing is an error.
class Reader {
 public:
  explicit Reader(const Numbers& numbers)
      : numbers_(numbers) {}

  template <class T>
  Reader& operator()(const char* name, T& field) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
      throw std::invalid_argument(std::string("packets: no number '") + name + "'");
    }
    field = static_cast<T>(found->second);
    return *this;
  }

 private:
  const Numbers& numbers_;
};

Topology topology(const nb::dict& arrays, const Numbers& numbers) {
  Topology t;
  Reader{numbers}("num_endpoints", t.num_endpoints)("num_vertices", t.num_vertices)("num_goals",
                                                                                    t.num_goals);
  fill(t.source, arrays, "link_source");
  fill(t.target, arrays, "link_target");
  fill(t.rate_bps, arrays, "link_rate_bps");
  fill(t.delay_ps, arrays, "link_delay_ps");
  fill(t.uncontrolled, arrays, "link_scale_up");
  fill(t.forward_ps, arrays, "forward_ps");
  fill(t.goal, arrays, "goal");
  fill(t.choices, arrays, "choices");
  fill(t.offsets, arrays, "offsets");
  fill(t.links, arrays, "links");
  fill(t.digit, arrays, "digit");
  fill(t.number, arrays, "number");
  fill(t.component, arrays, "link_component");
  return t;
}

std::vector<KnownTime> known_times(const nb::dict& arrays) {
  std::vector<std::int64_t> busy;
  std::vector<std::int64_t> flight;
  fill(busy, arrays, "busy_ps");
  fill(flight, arrays, "flight_ps");
  std::vector<KnownTime> all;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    all.push_back({.busy_ps = busy[i], .flight_ps = flight[i]});
  }
  return all;
}

Work work(const nb::dict& arrays) {
  Work w;
  fill(w.source, arrays, "source");
  fill(w.target, arrays, "target");
  fill(w.size_bytes, arrays, "size_bytes");
  fill(w.start_ps, arrays, "start_ps");
  fill(w.delay_ps, arrays, "delay_ps");
  fill(w.entropy, arrays, "source_port");
  fill(w.lane, arrays, "lane");
  fill(w.local, arrays, "local");
  fill(w.turn, arrays, "turn");
  fill(w.connection, arrays, "connection");
  fill(w.wait_offsets, arrays, "wait_offsets");
  fill(w.waits, arrays, "waits");
  fill(w.before, arrays, "before");
  fill(w.next_known, arrays, "next_known");
  fill(w.known, arrays, "known");
  w.known_times = known_times(arrays);
  return w;
}

std::vector<Turn> turns(const nb::dict& arrays, const std::string& table) {
  std::vector<std::uint8_t> lane;
  std::vector<std::uint32_t> bytes;
  fill(lane, arrays, (table + "_lane").c_str());
  fill(bytes, arrays, (table + "_bytes").c_str());
  std::vector<Turn> all;
  for (std::size_t i = 0; i < lane.size(); ++i) {
    all.push_back({.lane = lane[i], .bytes = bytes[i]});
  }
  return all;
}

Arbitration arbitration(const nb::dict& arrays, const Numbers& numbers) {
  Arbitration a{.high = turns(arrays, "high"), .low = turns(arrays, "low"), .limit_bytes = 0};
  Reader{numbers}("high_limit_bytes", a.limit_bytes);
  return a;
}

SwitchSettings switches(const nb::dict& arrays, const Numbers& numbers) {
  SwitchSettings s;
  fill(s.buffer_bytes, arrays, "buffer_bytes");
  fill(s.headroom_bytes, arrays, "headroom_bytes");
  fill(s.alpha, arrays, "alpha");
  fill(s.kmin_bytes, arrays, "kmin_bytes");
  fill(s.kmax_bytes, arrays, "kmax_bytes");
  fill(s.queue_bytes, arrays, "queue_bytes");
  fill(s.pmax, arrays, "pmax");
  fill(s.pool_bytes, arrays, "pool_bytes");
  fill(s.notice_ps, arrays, "notice_ps");
  fill(s.relay_ps, arrays, "relay_ps");
  fill(s.weight, arrays, "weight");
  s.arbitration = arbitration(arrays, numbers);
  Reader{numbers}("root_marks", s.root_marks)("reserve_bytes", s.reserve_bytes)(
      "resume_bytes", s.resume_bytes)("cut_through", s.cut_through)("telemetry", s.telemetry)(
      "pint", s.pint)("seeds_equal", s.seeds_equal)("flowlet_gap_ps", s.flowlet_gap_ps)(
      "ingress_bytes", s.ingress_bytes)("input_turns", s.input_turns)("return_headers",
                                                                      s.return_headers);
  return s;
}

HostSettings hosts(const Numbers& numbers, const Names& names) {
  HostSettings h;
  Reader{numbers}("payload_bytes", h.payload_bytes)("header_bytes", h.header_bytes)(
      "gap_bytes", h.gap_bytes)("least_bytes", h.least_bytes)("ack_bytes", h.ack_bytes)(
      "cnp_bytes", h.cnp_bytes)("trimmed_bytes", h.trimmed_bytes)(
      "ack_every_bytes", h.ack_every_bytes)("ask_every_packets", h.ask_every_packets)(
      "asks_per_rtt", h.asks_per_rtt)("ack_on_data_lane", h.ack_on_data_lane)(
      "cnp_first", h.cnp_first)("punish_disorder", h.punish_disorder)(
      "cnp_interval_ps", h.cnp_interval_ps)("nack_interval_ps", h.nack_interval_ps)(
      "timeout_ps", h.timeout_ps)("timeout_rtts", h.timeout_rtts)(
      "timeout_low_ps", h.timeout_low_ps)("timeout_low_packets", h.timeout_low_packets)(
      "max_doublings", h.max_doublings)("measures_timeout", h.measures_timeout)(
      "ask_rtts", h.ask_rtts)("probe_rtts", h.probe_rtts)("probe_margin_ps", h.probe_margin_ps)(
      "ack_delay_ps", h.ack_delay_ps)("window_bytes", h.window_bytes)("window_bdp", h.window_bdp)(
      "disorder_packets", h.disorder_packets)("code_data", h.code_data)(
      "code_parity", h.code_parity)("code_xor", h.code_xor)("ring_packets", h.ring_packets)(
      "first_window_bytes", h.first_window_bytes)("first_window_lapses", h.first_window_lapses)(
      "pull_bytes", h.pull_bytes)("pull_share", h.pull_share)("host_rate_bps", h.host_rate_bps)(
      "send_ps", h.send_ps)("receive_ps", h.receive_ps)("base_rtt_ps", h.base_rtt_ps)("num_paths",
                                                                                      h.num_paths);
  RestraintSettings& restraint = h.restraint;
  Reader{numbers}("restraint_least_share", restraint.least_share)(
      "restraint_period_ps", restraint.period_ps)("restraint_smoothing", restraint.smoothing)(
      "restraint_marked_share", restraint.marked_share)("restraint_decrease", restraint.decrease)(
      "restraint_step", restraint.step)("restraint_doubles", restraint.doubles)(
      "restraint_reacts_to_trims", restraint.reacts_to_trims);
  h.entropy = names.at("entropy");
  return h;
}

std::vector<Fault> faults(const nb::dict& arrays) {
  std::vector<std::int64_t> when;
  std::vector<std::uint8_t> what;
  std::vector<std::uint32_t> link;
  std::vector<double> value;
  std::vector<double> burst;
  std::vector<std::uint32_t> least;
  fill(when, arrays, "fault_when_ps");
  fill(what, arrays, "fault_what");
  fill(link, arrays, "fault_link");
  fill(value, arrays, "fault_value");
  fill(burst, arrays, "fault_burst");
  fill(least, arrays, "fault_least_bytes");
  std::vector<Fault> all;
  for (std::size_t i = 0; i < when.size(); ++i) {
    all.push_back({.when = when[i],
                   .what = static_cast<Fault::What>(what[i]),
                   .link = link[i],
                   .value = value[i],
                   .burst = burst[i],
                   .least_bytes = least[i]});
  }
  return all;
}

/// One record for each place of some arrays of equal length.
template <class Record, class Make>
std::vector<Record> records(std::size_t count, Make make) {
  std::vector<Record> all;
  all.reserve(count);
  for (std::size_t at = 0; at < count; ++at) {
    all.push_back(make(at));
  }
  return all;
}

std::vector<GateList> gates(const nb::dict& arrays) {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> duration;
  std::vector<std::uint16_t> open;
  fill(begin, arrays, "gate_begin");  // of each link's steps, and the end
  fill(offset, arrays, "gate_offset_ps");
  fill(duration, arrays, "gate_duration_ps");
  fill(open, arrays, "gate_open");
  return records<GateList>(offset.size(), [&](std::size_t link) {
    GateList list{.offset_ps = offset[link], .steps = {}};
    for (auto at = static_cast<std::size_t>(begin[link]);
         at < static_cast<std::size_t>(begin[link + 1]);
         ++at) {
      list.steps.push_back({.open = open[at], .duration_ps = duration[at]});
    }
    return list;
  });
}

std::vector<LaneShaper> shapers(const nb::dict& arrays) {
  std::vector<std::uint8_t> kind;
  std::vector<std::int64_t> rate;
  std::vector<std::int64_t> burst;
  fill(kind, arrays, "shaper_kind");
  fill(rate, arrays, "shaper_rate_bps");
  fill(burst, arrays, "shaper_burst_bytes");
  return records<LaneShaper>(kind.size(), [&](std::size_t at) {
    return LaneShaper{.kind = static_cast<LaneShaper::Kind>(kind[at]),
                      .rate_bps = rate[at],
                      .burst_bytes = burst[at]};
  });
}

std::vector<StreamSettings> streams(const nb::dict& arrays) {
  std::vector<std::int64_t> rate;
  std::vector<std::int64_t> burst;
  fill(rate, arrays, "stream_rate_bps");
  fill(burst, arrays, "stream_burst_bytes");
  return records<StreamSettings>(rate.size(), [&](std::size_t at) {
    return StreamSettings{.rate_bps = rate[at], .burst_bytes = burst[at]};
  });
}

TimingSettings timing(const nb::dict& arrays, const Numbers& numbers) {
  TimingSettings t;
  Reader{numbers}("timed", t.enabled);
  if (!t.enabled) {
    return t;
  }
  t.gates = gates(arrays);
  t.shapers = shapers(arrays);
  t.streams = streams(arrays);
  fill(t.express, arrays, "express_lanes");
  fill(t.stream, arrays, "stream");
  fill(t.metered, arrays, "metered");
  fill(t.replicates, arrays, "replicates");
  fill(t.eliminates, arrays, "eliminates");
  fill(t.cycle.shift, arrays, "cycle_shift");
  Reader{numbers}("cycle_ps", t.cycle.period_ps)("cycle_first_lane", t.cycle.first_lane)(
      "cycle_queues", t.cycle.num_queues)("history_packets", t.history_packets);
  return t;
}

Watch watch(const nb::dict& arrays, const Numbers& numbers) {
  Watch w;
  fill(w.links, arrays, "watched_links");
  Reader{numbers}("sample_every_ps", w.every_ps)("max_samples", w.max_samples)(
      "max_trace", w.max_trace)("max_pauses", w.max_pauses)("deadlock_every_ps",
                                                            w.deadlock_every_ps);
  return w;
}

Config config(const nb::dict& arrays, const Numbers& numbers, const Names& names, Numbers cc) {
  Config c;
  c.topology = topology(arrays, numbers);
  c.work = work(arrays);
  c.switches = switches(arrays, numbers);
  c.hosts = hosts(numbers, names);
  c.faults = faults(arrays);
  c.timing = timing(arrays, numbers);
  c.watch = watch(arrays, numbers);
  Reader{numbers}("quanta", c.pause.quanta)("pause_bytes", c.pause.frame_bytes)(
      "response_ps", c.pause.response_ps)("watchdog_ps", c.pause.watchdog_ps)(
      "restore_ps", c.pause.restore_ps)("credit_blocks", c.credit.blocks)(
      "most_blocks", c.credit.most_blocks)("update_blocks", c.credit.update_blocks)(
      "credit_bytes", c.credit.frame_bytes)("credit_packet_bytes", c.credit.packet_bytes)(
      "seed", c.seed)("num_lanes", c.num_lanes);
  Reader{numbers}("grant_bytes", c.schedule.credit_bytes)("grant_wait_ps", c.schedule.wait_ps)(
      "cell_bytes", c.schedule.cell_bytes)("cell_header_bytes", c.schedule.cell_header_bytes)(
      "cells_together", c.schedule.cells_together)("voq_bytes", c.schedule.queue_bytes)(
      "reassembly_ps", c.schedule.reassembly_ps);
  c.link_control = names.at("flow_control");
  c.balance = names.at("balance");
  c.transport = names.at("transport");
  c.congestion_control = names.at("congestion_control");
  c.cc_parameters = std::move(cc);
  return c;
}

using Arrays = nb::typed<nb::dict, nb::str, nb::object>;
using Totals = nb::typed<nb::dict, nb::str, nb::int_>;

template <typename T>
using OutArray = nb::ndarray<T, nb::numpy, nb::ndim<1>>;

/// Hands a vector over to Python.
template <typename T>
OutArray<T> handed_over(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return OutArray<T>(owned->data(), {owned->size()}, owner);
}

template <typename T>
nb::object array(std::vector<T> values) {
  return nb::cast(handed_over(std::move(values)));
}

/// One field of every record.
template <typename Record, typename Field>
nb::object column(const std::vector<Record>& records, Field field) {
  std::vector<std::decay_t<std::invoke_result_t<Field, const Record&>>> values;
  values.reserve(records.size());
  std::ranges::transform(records, std::back_inserter(values), field);
  return array(std::move(values));
}

Arrays transfers(const Simulation& sim) {
  Arrays table;
  table["start_ps"] = array(sim.progress().start_ps);
  table["arrive_ps"] = array(sim.progress().arrive_ps);
  table["finish_ps"] = array(sim.progress().finish_ps);
  return table;
}

Arrays pauses(const Simulation& sim) {
  const auto& records = sim.network().pauses;
  Arrays table;
  table["begin_ps"] = column(records, [](const PauseRecord& r) { return r.begin; });
  table["end_ps"] = column(records, [](const PauseRecord& r) { return r.end; });
  table["link"] = column(records, [](const PauseRecord& r) { return r.link; });
  table["lane"] = column(records, [](const PauseRecord& r) { return r.lane; });
  return table;
}

Arrays trace(const Simulation& sim) {
  const auto& records = sim.network().trace;
  Arrays table;
  table["when_ps"] = column(records, [](const TraceRecord& r) { return r.when; });
  table["link"] = column(records, [](const TraceRecord& r) { return r.link; });
  table["transfer"] = column(records, [](const TraceRecord& r) { return r.flow; });
  table["offset"] = column(records, [](const TraceRecord& r) { return r.offset; });
  table["size_bytes"] = column(records, [](const TraceRecord& r) { return r.size_bytes; });
  table["form"] = column(records, [](const TraceRecord& r) { return r.form; });
  table["flags"] = column(records, [](const TraceRecord& r) { return r.flags; });
  return table;
}

Arrays samples(const Simulation& sim) {
  const auto& records = sim.network().samples;
  Arrays table;
  table["when_ps"] = column(records, [](const SampleRecord& r) { return r.when; });
  table["link"] = column(records, [](const SampleRecord& r) { return r.link; });
  table["waiting_bytes"] = column(records, [](const SampleRecord& r) { return r.waiting_bytes; });
  table["paused_lanes"] = column(records, [](const SampleRecord& r) { return r.paused; });
  table["sent_bytes"] = column(records, [](const SampleRecord& r) { return r.sent_bytes; });
  return table;
}

Totals counters(const Simulation& sim) {
  const Counters& c = sim.network().counters;
  Totals table;
  table["events"] = c.events;
  table["link_traversals"] = c.link_traversals;
  table["data_packets"] = c.data_packets;
  table["delivered_packets"] = c.delivered_packets;
  table["delivered_bytes"] = c.delivered_bytes;
  table["marks"] = c.marks;
  table["cnps"] = c.notifications;
  table["notices"] = c.notices;
  table["relays"] = c.relays;
  table["drops"] = c.drops;
  table["lost"] = c.lost;
  table["trims"] = c.trims;
  table["retransmissions"] = c.retransmissions;
  table["duplicates"] = c.duplicates;
  table["asks"] = c.asks;
  table["reordered"] = c.reordered;
  table["timeouts"] = c.timeouts;
  table["probes"] = c.probes;
  table["pauses"] = c.pauses;
  table["pause_frames"] = c.pause_frames;
  table["pause_ps"] = sim.network().pause_ps();
  table["credit_updates"] = c.credit_updates;
  table["credit_stalls"] = c.credit_stalls;
  table["watchdogs"] = c.watchdogs;
  table["unroutable"] = c.unroutable;
  table["deadlocks"] = c.deadlocks;
  table["packets_in_flight"] = static_cast<std::uint64_t>(sim.network().pool.in_use());
  table["most_packets_in_flight"] = static_cast<std::uint64_t>(sim.network().pool.capacity());
  return table;
}

Totals timing_counters(const Simulation& sim) {
  Totals table;
  if (const TimingRecord* record = sim.timing(); record != nullptr) {
    const TimingCounters& c = record->counters;
    table["metered"] = c.metered;
    table["replicated"] = c.replicated;
    table["eliminated"] = c.eliminated;
    table["too_late"] = c.too_late;
    table["preemptions"] = c.preemptions;
    table["late_cycles"] = c.late_cycles;
  }
  return table;
}

/// Most that ever waited for each link and lane, or was on its wire; nothing where none is timed.
OutArray<std::int64_t> queue_peaks(const Simulation& sim) {
  const TimingRecord* record = sim.timing();
  return handed_over(record == nullptr ? std::vector<std::int64_t>{} : record->peak_bytes);
}

OutArray<std::int64_t> link_bytes(const Simulation& sim) {
  std::vector<std::int64_t> bytes;
  const Network& network = sim.network();
  for (std::uint32_t link = 0; link < network.ports.size(); ++link) {
    bytes.push_back(network.carried_bytes(link));
  }
  return handed_over(std::move(bytes));
}

/// One number of every port.
template <typename Field>
auto of_ports(const Simulation& sim, Field field) {
  const auto& ports = sim.network().ports;
  std::vector<std::decay_t<std::invoke_result_t<Field, const Port&>>> values(ports.size());
  std::transform(ports.begin(), ports.end(), values.begin(), field);
  return handed_over(std::move(values));
}

nb::bytes snapshot(Simulation& sim) {
  const auto state = sim.snapshot();
  return nb::bytes(state.data(), state.size());
}

void restore(Simulation& sim, const nb::bytes& state) {
  sim.restore({static_cast<const std::byte*>(state.data()), state.size()});
}

std::uint64_t num_draws(const Simulation& sim) {
  std::uint64_t total = 0;
  for (const Random& random : sim.network().randoms) {
    total += random.draws();
  }
  return total;
}

int settle(Simulation& sim, std::int64_t until_ps) {
  const nb::gil_scoped_release unlocked;
  return static_cast<int>(sim.settle(until_ps));
}

int run(Simulation& sim, std::int64_t until_ps, std::uint64_t max_events) {
  const nb::gil_scoped_release unlocked;
  return static_cast<int>(sim.run(until_ps, max_events));
}

}  // namespace

void register_packet(nb::module_& m) {
  nb::class_<Simulation>(m, "PacketSimulation", "One run of the packet simulator.")
      .def(
          "__init__",
          [](Simulation* self,
             const Arrays& arrays,
             const Numbers& numbers,
             const Names& names,
             const Numbers& cc) { new (self) Simulation(config(arrays, numbers, names, cc)); },
          nb::arg("arrays"),
          nb::arg("numbers"),
          nb::arg("names"),
          nb::arg("cc"))
      .def("run",
           &run,
           nb::arg("until_ps"),
           nb::arg("max_events"),
           "Go on; 0: there is more, 1: done, 2: stuck, 3: deadlock.")
      .def("settle",
           &settle,
           nb::arg("until_ps"),
           "Go on to that time although all is done; 1: it is there, 3: deadlock.")
      .def("num_looks", [](const Simulation& sim) { return sim.network().counters.looks; })
      .def("now_ps", [](const Simulation& sim) { return sim.network().now; })
      .def("unfinished", [](const Simulation& sim) { return sim.progress().unfinished(); })
      .def("rate_bps", &Simulation::rate_bps, nb::arg("transfer"))
      .def("slowed", [](const Simulation& sim) { return handed_over(sim.progress().slowed); })
      .def("num_draws", &num_draws)
      .def("transfers", &transfers)
      .def("pauses", &pauses)
      .def("trace", &trace)
      .def("samples", &samples)
      .def("counters", &counters)
      .def("timing_counters", &timing_counters)
      .def("queue_peaks", &queue_peaks)
      .def("link_bytes", &link_bytes)
      .def("waiting_bytes",
           [](const Simulation& sim) {
             return of_ports(sim, [](const Port& port) { return port.waiting_bytes; });
           })
      .def("paused_lanes",
           [](const Simulation& sim) {
             return of_ports(sim, [](const Port& port) { return port.paused; });
           })
      .def("deadlock", [](const Simulation& sim) { return handed_over(sim.network().deadlock); })
      .def("snapshot", &snapshot)
      .def("restore", &restore, nb::arg("state"));
}

}  // namespace netloom::bindings
