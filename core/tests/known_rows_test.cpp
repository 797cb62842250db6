// Rows of work whose time is known: computations, and messages that are not moved.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "check.hpp"
#include "netloom/packet/host/progress.hpp"
#include "netloom/packet/simulation.hpp"
#include "packet_networks.hpp"

namespace {

using netloom::test::add_transfer;
using netloom::test::check;
using netloom::test::config;
using netloom::test::leaf_spine;
using namespace netloom::packet;

void add_known(Work& work,
               std::uint32_t which,
               std::uint32_t before,
               const std::vector<std::int32_t>& waits = {}) {
  work.start_ps.push_back(0);
  work.delay_ps.push_back(0);
  work.known.push_back(which);
  work.before.push_back(before);
  work.waits.insert(work.waits.end(), waits.begin(), waits.end());
  work.wait_offsets.push_back(static_cast<std::int64_t>(work.waits.size()));
}

Config one_switch() {
  Config c = config(leaf_spine(1, 2, 0, 1'000'000));
  c.work.known_times = {{.busy_ps = 0, .flight_ps = 0}, {.busy_ps = 70, .flight_ps = 20}};
  return c;
}

// Each keeps its connection for 70 and arrives 20 later; the third waits for the first too.
void messages_of_a_connection_are_sent_one_after_another() {
  Config c = one_switch();
  add_known(c.work, 1, kNone);
  add_known(c.work, 1, 0);
  add_known(c.work, 1, 1, {0});
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "known rows end");
  const Progress& progress = simulation.progress();
  check(progress.start_ps == std::vector<Time>{0, 70, 140}, "each begins when the last was sent");
  check(progress.arrive_ps == std::vector<Time>{90, 160, 230}, "and arrives 90 later");
}

// Two rings of hops: a row that waits for an arrival later than its connection is free waits.
void what_waits_begins_at_the_later_of_both() {
  Config c = one_switch();
  add_known(c.work, 1, kNone);
  add_known(c.work, 1, 0, {2});
  add_known(c.work, 1, kNone);
  c.work.start_ps[2] = 30;
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "known rows end");
  check(simulation.progress().start_ps[1] == 120, "30 + 90 is later than 70");
}

// A transfer of two parts that follows a message of known time: both begin when that was sent.
void parts_of_a_transfer_follow_what_its_connection_sent_before() {
  Config c = one_switch();
  add_transfer(c.work, 0, 1, 4'096);
  add_transfer(c.work, 0, 1, 4'096);
  c.work.before = {2, 2};
  add_known(c.work, 1, kNone);
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "both kinds end");
  check(simulation.progress().start_ps == std::vector<Time>{70, 70, 0}, "70 is when it was sent");
}

// A message of known time behind a transfer of two parts: its first byte follows the last of both,
// so that it arrives the 70 later that it keeps the connection for, and the next one 70 after it.
void what_is_known_follows_the_parts_of_a_transfer() {
  Config c = one_switch();
  add_transfer(c.work, 0, 1, 4'096);
  add_transfer(c.work, 0, 1, 4'096);
  c.work.before = {kNone, kNone};
  c.work.next_known = {2, 2};
  add_known(c.work, 1, kNone);
  add_known(c.work, 1, 2);
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "both kinds end");
  const Progress& progress = simulation.progress();
  const Time last = std::max(progress.arrive_ps[0], progress.arrive_ps[1]);
  check(progress.start_ps[2] == last - 20, "it takes 20 to arrive");
  check(progress.arrive_ps[2] == last + 70, "right behind the transfer");
  check(progress.arrive_ps[3] == last + 140, "and the next behind it");
}

// The same, but it is not ready before: it takes its time from then on.
void what_is_known_and_ready_late_does_not_feel_the_transfer() {
  Config c = one_switch();
  add_transfer(c.work, 0, 1, 4'096);
  c.work.before = {kNone};
  c.work.next_known = {1};
  add_known(c.work, 1, kNone);
  const Time late = 1'000'000'000;
  c.work.start_ps[1] = late;
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "both kinds end");
  check(simulation.progress().arrive_ps[1] == late + 90, "the connection is free by then");
}

void a_computation_takes_its_delay_and_no_flow() {
  Config c = config(leaf_spine(1, 2, 0, 1'000'000));
  add_transfer(c.work, 0, 1, 4'096);
  c.work.start_ps.push_back(0);
  c.work.delay_ps.push_back(500);
  c.work.waits = {0};
  c.work.wait_offsets.push_back(1);
  Simulation simulation(c);
  check(simulation.run(kNever, ~0ULL) == Status::kDone, "a computation ends");
  const Progress& progress = simulation.progress();
  check(progress.arrive_ps[1] == progress.arrive_ps[0] + 500, "500 after what it waits for");
}

}  // namespace

int main() {
  messages_of_a_connection_are_sent_one_after_another();
  what_waits_begins_at_the_later_of_both();
  parts_of_a_transfer_follow_what_its_connection_sent_before();
  what_is_known_follows_the_parts_of_a_transfer();
  what_is_known_and_ready_late_does_not_feel_the_transfer();
  a_computation_takes_its_delay_and_no_flow();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
