// Deterministic networking under the sanitizers: gates, shapers, cut packets, two routes.
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "check.hpp"
#include "netloom/packet/config.hpp"
#include "netloom/packet/host/progress.hpp"
#include "netloom/packet/queue/gates.hpp"
#include "netloom/packet/queue/preemption.hpp"
#include "netloom/packet/queue/shapers.hpp"
#include "netloom/packet/random.hpp"
#include "netloom/packet/sides.hpp"
#include "netloom/packet/simulation.hpp"
#include "packet_networks.hpp"

namespace {

using netloom::test::add_transfer;
using netloom::test::check;
using netloom::test::config;
using netloom::test::leaf_spine;
using namespace netloom::packet;

// Lane 1 is open in [0, 100), lane 2 in [100, 160), both in [160, 200), from 1000 on.
void a_frame_begins_only_if_it_ends_before_its_gate_closes() {
  const Gates gates({
      .offset_ps = 1'000,
      .steps =
          {
              {.open = 2, .duration_ps = 100},
              {.open = 4, .duration_ps = 60},
              {.open = 6, .duration_ps = 40},
          },
  });
  check(gates.next_start(1, 100, 1'000) == 1'000, "it fits exactly");
  check(gates.next_start(1, 100, 1'001) == 1'160, "open from 160 to 300: it goes on");
  check(gates.next_start(1, 141, 1'000) == kNever, "no window is that long");
  check(gates.next_start(2, 100, 1'000) == 1'100, "two steps are one window");
  check(gates.next_start(2, 30, 1'190) == 1'300, "too late in this cycle");
  check(gates.next_start(3, 1, 1'000) == kNever, "never open");
  check(gates.next_start(1, 10, 0) == 0, "before the offset the cycle runs as well");
}

// 1,000 bytes at 3 Gb/s take 2,666,666 2/3 ps: three packets take exactly 8,000,000.
void a_token_bucket_keeps_thirds_of_a_picosecond() {
  const StreamSettings set{.rate_bps = 3'000'000'000, .burst_bytes = 2'000};
  TokenBucket bucket;
  Time now = 0;
  for (int packet = 0; packet < 3'000; ++packet) {
    now = bucket.ready_at(1'000, set, now);
    bucket.take(1'000, set, now);
  }
  check(now == Time{2'998} * 8'000'000 / 3 + 1, "the last one, rounded up once");
}

void a_meter_lets_exactly_the_curve_through() {
  const StreamSettings set{.rate_bps = 8'000'000'000, .burst_bytes = 3'000};
  TokenBucket bucket;
  int passed = 0;
  for (Time now = 0; now < 100'000; now += 100) {  // a byte a nanosecond: 100 ns are 100 bytes
    passed += bucket.meter(1'000, set, now) ? 1 : 0;
  }
  check(passed == 3, "a burst, and 100 bytes of the next packet");
}

// 1,000 bytes at 8 Gb/s take 1 us; at half the rate as idleSlope the credit is back after 1 us.
void credit_is_spent_and_comes_back() {
  constexpr std::int64_t kIdle = 4'000'000'000;
  CreditShaper shaper;
  shaper.begin_waiting(kIdle, 0);
  check(shaper.ready_at(kIdle, 0) == 0, "no debts");
  shaper.send(kIdle, 2 * kIdle, 0, 1'000'000);
  check(shaper.ready_at(kIdle, 1'000'000) == 2'000'000, "as long again");
  shaper.begin_waiting(kIdle, 5'000'000);
  shaper.send(kIdle, 2 * kIdle, 6'000'000, 7'000'000);  // waited 1 us: its credit pays for it
  check(shaper.ready_at(kIdle, 7'000'000) == 7'000'000, "credit was saved while it waited");
}

void pieces_have_sixty_four_bytes() {
  const CutPacket longer{.packet = 0, .began = 0, .left = 124, .sending = true};
  check(longer.cut_after(0) == 68, "after the preamble and 60 bytes, with the check sum 64");
  check(longer.cut_after(69) == 0, "63 would be left");
  const CutPacket shorter{.packet = 0, .began = 0, .left = 123, .sending = true};
  check(shorter.cut_after(0) == 0, "123 bytes are never cut");
}

Config lossy(Topology topology) {
  Config c = config(std::move(topology));
  c.link_control = "lossy";
  c.switches.queue_bytes.assign(c.topology.source.size(), 1 << 30);
  c.switches.buffer_bytes.assign(c.topology.num_vertices, 1 << 30);
  c.switches.kmin_bytes.assign(c.topology.source.size(), 1 << 30);
  c.switches.kmax_bytes.assign(c.topology.source.size(), 1 << 30);
  c.watch.deadlock_every_ps = 0;
  return c;
}

void mix(Config& c, std::uint64_t seed) {
  Random random(seed);
  c.num_lanes = 4;
  for (int transfer = 0; transfer < 60; ++transfer) {
    const auto from = static_cast<std::uint32_t>(random() % c.topology.num_endpoints);
    const auto step = static_cast<std::uint32_t>(random() % (c.topology.num_endpoints - 1));
    add_transfer(c.work,
                 from,
                 (from + 1 + step) % c.topology.num_endpoints,
                 static_cast<std::int64_t>(random() % 60'000) + 1);
    c.work.lane.back() = static_cast<std::uint8_t>(1 + random() % 3);
    c.work.start_ps.back() = static_cast<Time>(random() % 5'000'000);
  }
}

std::vector<Time> arrivals(const Config& c) {
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "it ends");
  return simulation.progress().arrive_ps;
}

void timed_ports_that_nothing_holds_back_are_plain_ports() {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Config c = lossy(leaf_spine(3, 4, 2, 100'000));
    mix(c, seed);
    const auto plain = arrivals(c);
    c.timing.enabled = true;
    check(arrivals(c) == plain, "to the last picosecond");
  }
}

// Every port has gates, shapers of all kinds and express lanes; a run that is saved and restored
// half way ends as the one that is not.
void a_timed_run_can_be_saved() {
  Config c = lossy(leaf_spine(3, 4, 2, 100'000));
  mix(c, 9);
  const std::size_t links = c.topology.source.size();
  c.timing.enabled = true;
  c.timing.express.assign(links, 2);
  c.timing.shapers.resize(links * c.num_lanes);
  c.timing.streams.assign(1, {.rate_bps = 40'000'000'000, .burst_bytes = 20'000});
  c.timing.stream.assign(c.work.source.size(), 0);
  for (std::size_t link = 0; link < links; ++link) {
    c.timing.shapers[link * c.num_lanes + 2] = {
        .kind = LaneShaper::Kind::kCredit,
        .rate_bps = 30'000'000'000,
        .burst_bytes = 0,
    };
    c.timing.shapers[link * c.num_lanes + 3] = {
        .kind = link % 2 == 0 ? LaneShaper::Kind::kEligibility : LaneShaper::Kind::kTokenBucket,
        .rate_bps = 30'000'000'000,
        .burst_bytes = 9'000,
    };
  }
  const auto whole = arrivals(c);
  Simulation first(c);
  check(first.run(kNever, 2'000) == Status::kRunning, "half way");
  Simulation second(c);
  second.restore(first.snapshot());
  check(second.run(kNever, 1ULL << 40U) == Status::kDone, "the second half ends");
  check(second.progress().arrive_ps == whole, "as if it had not been saved");
  check(second.timing()->counters.preemptions > 0, "packets were cut");
}

// Host 0's leaf sends everything by both spines, host 1's leaf takes the first of each; one spine
// loses a packet in three.
void two_routes_lose_what_both_lose() {
  Config c = lossy(leaf_spine(2, 1, 2, 1'000'000));
  add_transfer(c.work, 0, 1, std::int64_t{400} * 4'096);
  c.timing.enabled = true;
  c.timing.replicates = {0, 0, 1, 0, 0, 0};
  c.timing.eliminates = {0, 0, 0, 1, 0, 0};
  c.timing.history_packets = 32;
  c.faults.push_back({.when = 0, .what = Fault::What::kLoss, .link = 4, .value = 0.33});
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "it ends");
  const auto& counters = simulation.network().counters;
  const auto& timing = simulation.timing()->counters;
  check(counters.lost > 80, "one route loses");
  check(counters.retransmissions == 0, "nothing is sent again");
  check(timing.replicated == 400, "everything twice");
  check(timing.eliminated + counters.lost == 400, "what came twice is dropped");
  check(counters.duplicates == 0, "the receiver sees each packet once");
}

}  // namespace

int main() {
  a_frame_begins_only_if_it_ends_before_its_gate_closes();
  a_token_bucket_keeps_thirds_of_a_picosecond();
  a_meter_lets_exactly_the_curve_through();
  credit_is_spent_and_comes_back();
  pieces_have_sixty_four_bytes();
  timed_ports_that_nothing_holds_back_are_plain_ports();
  a_timed_run_can_be_saved();
  two_routes_lose_what_both_lose();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
