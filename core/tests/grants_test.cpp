// Credit on its way back: in order of arrival, from the very place among all events on.
#include "netloom/packet/link/grants.hpp"

#include <cstdint>
#include <cstdlib>

#include "check.hpp"

namespace {

using netloom::test::check;
using namespace netloom::packet;

GrantArrival arrival(const GrantPool& pool, const GrantList& list, std::int64_t blocks) {
  return pool.arrival_of(list, blocks).value_or(GrantArrival{.at = -1, .order = 0});
}

void a_grant_counts_from_its_place_among_events_of_one_instant() {
  GrantPool pool;
  GrantList list;
  pool.add(list, {.at = 100, .order = 32}, 5);
  check(pool.take_due(list, 99, 1'000) == 0, "not before its time");
  check(pool.take_due(list, 100, 31) == 0, "not for an event that stands before it");
  check(pool.take_due(list, 100, 32) == 5, "for itself and what follows");
  check(pool.take_due(list, 200, 0) == 0, "once");
}

// Room that is free now is told at 50 though room that a packet leaves until 90 was told first.
void grants_are_kept_in_order_of_arrival() {
  GrantPool pool;
  GrantList list;
  pool.add(list, {.at = 90, .order = 16}, 1);
  pool.add(list, {.at = 50, .order = 32}, 2);
  pool.add(list, {.at = 70, .order = 48}, 4);
  pool.add(list, {.at = 95, .order = 64}, 8);
  check(pool.take_due(list, 50, 999) == 2, "the earliest first");
  check(pool.take_due(list, 89, 999) == 4, "then the one between");
  check(pool.take_due(list, 95, 999) == 9, "then the rest");
}

void a_stalled_lane_waits_for_the_grant_that_is_enough() {
  GrantPool pool;
  GrantList list;
  pool.add(list, {.at = 10, .order = 16}, 3);
  pool.add(list, {.at = 20, .order = 32}, 3);
  pool.add(list, {.at = 30, .order = 48}, 3);
  check(arrival(pool, list, 3).at == 10, "the first is enough for three blocks");
  check(arrival(pool, list, 4).order == 32, "two are enough for four");
  check(!pool.arrival_of(list, 10).has_value(), "nine blocks are not ten");
}

void nodes_are_used_again() {
  GrantPool pool;
  GrantList list;
  for (Time at = 1; at <= 1'000; ++at) {
    pool.add(list, {.at = at, .order = 0}, 1);
    check(pool.take_due(list, at, 0) == 1, "each comes back");
  }
  pool.add(list, {.at = 2'000, .order = 0}, 7);
  check(arrival(pool, list, 7).at == 2'000, "an emptied list starts again");
}

}  // namespace

int main() {
  a_grant_counts_from_its_place_among_events_of_one_instant();
  grants_are_kept_in_order_of_arrival();
  a_stalled_lane_waits_for_the_grant_that_is_enough();
  nodes_are_used_again();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
