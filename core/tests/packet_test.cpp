// The packet simulator under the sanitizers: random networks, traffic, policies and faults.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "check.hpp"
#include "netloom/packet/balance/murmur.hpp"
#include "netloom/packet/event_queue.hpp"
#include "netloom/packet/host/progress.hpp"
#include "netloom/packet/random.hpp"
#include "netloom/packet/simulation.hpp"
#include "packet_networks.hpp"

namespace {

using netloom::test::add_transfer;
using netloom::test::check;
using netloom::test::config;
using netloom::test::leaf_spine;
using namespace netloom::packet;

// 4178 bytes at 100 Gb/s are 334,240 ps; two links there, two back for 86 bytes (6,880 ps).
void one_packet_takes_its_time() {
  Config c = config(leaf_spine(1, 2, 0, 1'000'000));
  add_transfer(c.work, 0, 1, 4'096);
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "one packet arrives");
  check(simulation.progress().arrive_ps[0] == 2 * 334'240 + 2'000'000, "its arrival");
  check(simulation.progress().finish_ps[0] == 2 * 334'240 + 2 * 6'880 + 4'000'000, "its answer");
}

// Lane 1 has turns of 8,192 bytes, lane 2 of 4,096: two packets to one until lane 1 is empty.
void tables_of_turns_share_a_port_by_weight() {
  Config c = config(leaf_spine(1, 3, 0, 0));
  c.num_lanes = 3;
  c.link_control = "credits";
  c.credit.blocks = 2'048;
  c.switches.arbitration.low = {{.lane = 1, .bytes = 8'192}, {.lane = 2, .bytes = 4'096}};
  c.switches.arbitration.limit_bytes = 0;
  add_transfer(c.work, 0, 2, std::int64_t{400} * 4'096);
  add_transfer(c.work, 1, 2, std::int64_t{400} * 4'096);
  c.work.lane[1] = 2;
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "both lanes end");
  const auto& arrive = simulation.progress().arrive_ps;
  // 600 of 800 packet times, give or take the buffers that were full before.
  check(arrive[0] > Time{590} * 334'240 && arrive[0] < Time{620} * 334'240,
        "the heavier lane's end");
  check(arrive[1] > Time{798} * 334'240, "the lighter lane's end");
}

// Two leaves, four senders to one port: nothing is dropped, repeated or out of order, and the port
// never rests: 4 x 50 packets, one more for each of the three links before, and the wait.
void a_scheduled_fabric_is_as_fast_as_the_port() {
  Config c = config(leaf_spine(2, 4, 4, 1'000'000));
  c.link_control = "scheduled";
  c.balance = "adaptive";
  c.credit = {.blocks = 2'048, .update_blocks = 64, .packet_bytes = 4'400};
  c.schedule = {
      .credit_bytes = 4'096,
      .wait_ps = 3'000'000,
      .cell_header_bytes = 12,
      .cells_together = 5,
      .queue_bytes = 1 << 30,
      .reassembly_ps = 50'000'000,
  };
  for (std::uint32_t from = 0; from < 4; ++from) {
    add_transfer(c.work, from, 4, std::int64_t{50} * 4'096);
  }
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "a scheduled incast ends");
  const auto& counters = simulation.network().counters;
  check(counters.retransmissions == 0 && counters.reordered == 0, "in order, once");
  const Time last = *std::ranges::max_element(simulation.progress().arrive_ps);
  check(last < 206 * Time{334'240} + 7'000'000, "at the rate of the port");
}

// By definition: no event is later than the next, and equal ones come as they were put. Looking
// `ahead` lets days begin early, and must not change that.
void events_come_in_order_of_time_and_then_of_sequence(std::size_t ahead) {
  Random random(7);
  EventQueue queue;
  Time now = 0;
  std::uint64_t last_order = 0;
  bool ordered = true;
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    if (queue.empty() || random.below(100) < 52) {
      const std::uint32_t kind = random.below(10);
      const std::uint32_t near = kind < 4 ? 1'000'000 : 300;
      const std::uint32_t far = kind == 0 ? 2'000'000'000 : near;
      queue.push(now + Time{random.below(far) / 100} * 100, Kind::kWake, i);
      continue;
    }
    const Event event = *queue.peek();
    queue.look_ahead(ahead);
    queue.pop();
    ordered = ordered && (event.when > now || (event.when == now && event.order > last_order));
    now = event.when;
    last_order = event.order;
  }
  check(ordered, "events in order");
}

// Timeouts far ahead lengthen days. Of what then comes every 5 ps, half is put 1 ns ahead: into the
// day that has begun, for a quarter of all with days of 2,048 ps and hardly any with 1,024, of 206
// at most.
void days_shorten_again_after_a_burst_of_timeouts() {
  constexpr std::uint32_t kFlows = 20'000;
  constexpr Time kPeriod = 200'000;
  constexpr Time kShort = 1'000;
  EventQueue queue;
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    queue.push(4'000'000'000, Kind::kTimeout, i);
    queue.push(kPeriod * i / kFlows, Kind::kWake, i);
  }
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < 100 * kFlows; ++i) {
    const Event event = *queue.peek();
    most = i < 99 * kFlows ? 0 : std::max(most, queue.today().size());
    queue.pop();
    const Time wait = event.extra == 0 ? kShort : kPeriod - kShort;
    queue.push(event.when + wait, Kind::kWake, event.subject, 1 - event.extra);
  }
  check(most > 100 && most <= 206, "days are as short as their events ask for");
}

const std::vector<std::string>& controls() {
  static const std::vector<std::string> names{"pfc", "credits", "lossy", "trimming", "scheduled"};
  return names;
}

const std::vector<std::string>& balances() {
  static const std::vector<std::string> names{
      "ecmp",
      "adaptive",
      "cells",
      "flowlet",
      "d-mod-k",
      "source",
  };
  return names;
}

const std::vector<std::string>& transports() {
  static const std::vector<std::string> names{"go-back-n", "selective", "pulled"};
  return names;
}

const std::vector<std::string>& sprays() {
  static const std::vector<std::string> names{
      "fixed",
      "oblivious",
      "bitmap",
      "retiring",
      "mixed",
      "reps",
  };
  return names;
}

const std::vector<std::string>& schemes() {
  static const std::vector<std::string> names{
      "none",
      "dcqcn",
      "dcqcn-firmware",
      "hpcc",
      "hpcc-pint",
      "timely",
      "swift",
      "dctcp",
      "dctcp-rate",
      "ib-cc",
      "reno",
      "cubic",
      "nscc",
      "nscc-unscaled",
      "rttcc",
  };
  return names;
}

template <class T>
const T& any(const std::vector<T>& of, Random& random) {
  return of[random.below(static_cast<std::uint32_t>(of.size()))];
}

/// Makes the last transfer another message of the connection before it, or opens one.
void share(Work& work, Random& random) {
  const std::size_t i = work.source.size() - 1;
  const bool again = i > 0 && random.below(3) != 0;
  if (again) {
    work.source[i] = work.source[i - 1];
    work.target[i] = work.target[i - 1];
    work.lane[i] = work.lane[i - 1];
    work.entropy[i] = work.entropy[i - 1];
    work.start_ps[i] = Time{random.below(100'000'000)};
  }
  work.connection.push_back(again ? work.connection.back() : static_cast<std::uint32_t>(i));
}

Config random_work(Random& random, std::uint32_t ports, bool shared) {
  const std::uint32_t leaves = 1 + random.below(4);
  const std::uint32_t hosts = 2 + random.below(4);
  Config c = config(leaf_spine(leaves, hosts, 1 + random.below(4), random.below(3'000'000), ports));
  const std::uint32_t count = leaves * hosts;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint32_t from = random.below(count);
    add_transfer(
        c.work, from, (from + 1 + random.below(count - 1)) % count, 1 + random.below(200'000));
    c.work.lane.back() = static_cast<std::uint8_t>(1 + random.below(2));
    if (ports > 1) {
      c.work.turn.push_back(static_cast<std::uint16_t>(i));
    }
    if (shared) {
      share(c.work, random);
    }
  }
  c.num_lanes = 3;
  return c;
}

void draw_switches(Config& c, Random& random) {
  c.switches.cut_through = random.below(2) == 0;
  c.switches.queue_bytes.assign(c.switches.kmin_bytes.size(), random.below(2) == 0 ? 40'000 : 0);
  c.switches.ingress_bytes = c.link_control == "lossy" && random.below(2) == 0 ? 30'000 : 0;
  c.switches.input_turns =
      (c.link_control == "lossy" || c.link_control == "pfc") && random.below(2) == 0;
  c.switches.return_headers = random.below(2) == 0;
  const bool by_credit = c.link_control == "credits" || c.link_control == "scheduled";
  c.credit.blocks = by_credit ? 200 + random.below(4'000) : 0;
  c.credit.packet_bytes = 4'400;
  c.schedule.cell_header_bytes = 12;
  c.schedule.cells_together = 1 + random.below(20);
  c.schedule.wait_ps = random.below(5'000'000);
  c.schedule.queue_bytes = random.below(2) == 0 ? 20'000 : 100'000'000;
  c.schedule.reassembly_ps = 50'000'000;
  if (random.below(2) == 0) {
    c.switches.arbitration = {
        .high = {{.lane = 1, .bytes = 4'096}},
        .low = {{.lane = 2, .bytes = 640}},
        .limit_bytes = 4'096 * std::int64_t{random.below(3)},
    };
  }
}

void draw_hosts(Config& c, Random& random) {
  c.hosts.host_rate_bps = random.below(3) == 0 ? 30e9 : 0;
  c.hosts.max_doublings = random.below(4);
  c.hosts.measures_timeout = random.below(2) == 0;
  c.hosts.ask_rtts = random.below(2) == 0 ? 3 : 0;
  c.hosts.probe_rtts = random.below(2) == 0 ? 2 : 0;
  c.hosts.disorder_packets = random.below(4);
  c.hosts.ack_every_bytes = random.below(2) == 0 ? 16'384 : 0;
  c.hosts.ask_every_packets = random.below(3) == 0 ? 1U << random.below(9) : 0;
  c.hosts.asks_per_rtt = random.below(2) == 0 ? 4.0 : 0.0;
  c.hosts.first_window_lapses = random.below(2) == 0;
  c.hosts.pull_share = random.below(2) == 0 ? 1.0 : 0.9;
  c.hosts.restraint.least_share = random.below(2) == 0 ? 0.0 : 0.1;
  c.hosts.restraint.period_ps = 1'000'000 + random.below(20'000'000);
}

Config random_config(Random& random, std::uint32_t ports, bool shared) {
  Config c = random_work(random, ports, shared);
  c.link_control = any(controls(), random);
  c.balance = any(balances(), random);
  c.transport = any(transports(), random);
  c.congestion_control = c.transport == "pulled" ? "none" : any(schemes(), random);
  c.hosts.entropy = any(sprays(), random);
  c.switches.pint = c.congestion_control == "hpcc-pint";
  c.switches.telemetry = !c.switches.pint;
  c.hosts.base_rtt_ps = c.switches.pint ? 12'000'000 : 0;
  draw_switches(c, random);
  draw_hosts(c, random);
  c.seed = random();
  if (random.below(3) == 0) {
    const auto link = random.below(static_cast<std::uint32_t>(c.topology.source.size()));
    c.faults.push_back({.when = 5'000'000, .what = Fault::What::kDown, .link = link});
    c.faults.push_back({.when = 90'000'000, .what = Fault::What::kUp, .link = link});
    c.faults.push_back({.when = 0, .what = Fault::What::kLoss, .link = link, .value = 0.02});
  }
  return c;
}

std::uint64_t total(const Work& work) {
  std::uint64_t bytes = 0;
  for (const std::int64_t size : work.size_bytes) {
    bytes += static_cast<std::uint64_t>(size);
  }
  return bytes;
}

// Whatever the policies: every byte arrives once, or the run says that it did not end; and a run
// that is stopped, saved, loaded and resumed, now fetching ahead, ends like one that went straight
// through.
void random_runs_end_well_and_resume() {
  Random random(2026);
  for (int run = 0; run < 220; ++run) {
    const bool many = run >= 100 && run < 150;
    const std::uint32_t ports = many ? 2 + static_cast<std::uint32_t>(run % 2) : 1;
    Config c = random_config(random, ports, /*shared=*/ports == 3 || run >= 150);
    Simulation straight(c);
    const Status status = straight.run(1'000'000'000'000, 2'000'000);
    const auto& counters = straight.network().counters;
    if (status != Status::kDone) {
      std::fprintf(stderr,
                   "run %d: %s %s %s %s %s: status %d\n",
                   run,
                   c.link_control.c_str(),
                   c.balance.c_str(),
                   c.transport.c_str(),
                   c.congestion_control.c_str(),
                   c.hosts.entropy.c_str(),
                   static_cast<int>(status));
    }
    check(status == Status::kDone, "a random run ends");
    check(counters.delivered_bytes == total(c.work), "every byte arrives once");
    Simulation first(c);
    static_cast<void>(first.run(20'000'000, 2'000'000));
    const auto state = first.snapshot();
    c.cache_bytes = 0;  // fetching ahead changes nothing
    Simulation second(c);
    second.restore(state);
    static_cast<void>(second.run(1'000'000'000'000, 2'000'000));
    check(second.network().counters.events == counters.events, "a resumed run is the same");
    check(second.progress().finish_ps == straight.progress().finish_ps, "to the picosecond");
  }
}

}  // namespace

int main() {
  one_packet_takes_its_time();
  tables_of_turns_share_a_port_by_weight();
  a_scheduled_fabric_is_as_fast_as_the_port();
  for (const std::size_t ahead : {0U, 1U, 13U, 200U}) {
    events_come_in_order_of_time_and_then_of_sequence(ahead);
  }
  days_shorten_again_after_a_burst_of_timeouts();
  random_runs_end_well_and_resume();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
