// Receivers that ask for less where uplinks are few: what a look makes of marks and trims.
#include "netloom/packet/host/pull_pace.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "check.hpp"

namespace {

using netloom::test::check;
using namespace netloom::packet;

constexpr Time kPeriod = 1'000'000;
constexpr Time kLonger = 5 * kPeriod / 4;  // than any interval between two looks

Config one_receiver() {
  Config config;
  config.topology.num_endpoints = 1;
  config.hosts.restraint.least_share = 0.2;
  config.hosts.restraint.period_ps = kPeriod;
  return config;
}

struct Arrivals {
  std::uint32_t whole = 0;
  std::uint32_t marked = 0;
  std::uint32_t trimmed = 0;
  std::uint32_t trimmed_last = 0;
};

/// What the first look finds, of all that came at the start.
struct Receiver {
  explicit Receiver(Config given)
      : config(std::move(given)), paces(config) {}

  void take(std::uint32_t count, std::uint8_t flags) {
    Packet packet{};
    packet.flags = flags;
    for (std::uint32_t i = 0; i < count; ++i) {
      paces.note(packet, now);
    }
  }

  double after(const Arrivals& came) {
    take(came.whole, 0);
    take(came.marked, kMarked);
    take(came.trimmed, kTrimmed);
    take(came.trimmed_last, kTrimmed | kAtLastHop);
    // Not before the next look, which is drawn, and before the one after it.
    const double before = paces.share(0, now);
    double share = before;
    for (Time step = 0; step < kLonger && share == before; step += kPeriod / 100) {
      share = paces.share(0, now += kPeriod / 100);
    }
    return share;
  }

  Config config;
  PullPaces paces;
  Time now = 0;
};

bool near(double got, double expected) {
  return std::abs(got - expected) < 1e-12;
}

void trims_on_the_way_come_off_the_share() {
  // 20 of 100 packets: 1 - 0.2.
  check(near(Receiver(one_receiver()).after({.whole = 80, .trimmed = 20}), 0.8), "a fifth less");
}

void trims_at_the_own_switch_do_not() {
  check(near(Receiver(one_receiver()).after({.whole = 80, .trimmed_last = 20}), 1.0), "no less");
}

void marks_count_beyond_a_share_once_smoothed() {
  // All marked: smoothed to 0.5, 0.2 over 0.3; half of that off.
  check(near(Receiver(one_receiver()).after({.marked = 50}), 1 - 0.2 * 0.5), "a tenth less");
  // Half of the whole packets: smoothed to 0.25.
  check(near(Receiver(one_receiver()).after({.whole = 50, .marked = 50}), 1.0), "no less, for few");
}

void the_share_has_a_floor() {
  check(near(Receiver(one_receiver()).after({.whole = 5, .trimmed = 95}), 0.2), "the floor");
}

void steps_double_while_nothing_is_marked() {
  Receiver receiver(one_receiver());
  receiver.after({.whole = 80, .trimmed = 20});
  // 0.8 and 0.01, 0.02, 0.04.
  check(near(receiver.after({.whole = 10}), 0.81), "one step");
  check(near(receiver.after({.whole = 10}), 0.83), "two steps");
  check(near(receiver.after({.whole = 10}), 0.87), "four steps");
  // One mark of a hundred slows no sender down, and keeps the step small.
  check(near(receiver.after({.whole = 99, .marked = 1}), 0.88), "one step again");
}

void without_a_floor_nobody_slows_down() {
  Config config = one_receiver();
  config.hosts.restraint.least_share = 0;
  check(near(Receiver(config).after({.trimmed = 100}), 1.0), "the whole port");
}

void looks_are_made_up_for_after_a_long_rest() {
  Receiver receiver(one_receiver());
  receiver.after({.whole = 5, .trimmed = 95});
  // 0.2 and 0.01, 0.02, ... 0.64 is more than the whole port: seven looks, ten periods at most.
  receiver.now += 10 * kPeriod;
  check(near(receiver.paces.share(0, receiver.now), 1.0), "back to the whole port");
  receiver.now += 1'000'000 * kPeriod;
  check(near(receiver.paces.share(0, receiver.now), 1.0), "and still");
}

}  // namespace

int main() {
  trims_on_the_way_come_off_the_share();
  trims_at_the_own_switch_do_not();
  marks_count_beyond_a_share_once_smoothed();
  the_share_has_a_floor();
  steps_double_while_nothing_is_marked();
  without_a_floor_nobody_slows_down();
  looks_are_made_up_for_after_a_long_rest();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
