// The register of congestion controls: what a scheme says of itself, and controllers by name.
#include "netloom/packet/cc/schemes.hpp"

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "netloom/packet/cc/dcqcn.hpp"
#include "netloom/packet/cc/none.hpp"

namespace {

using namespace netloom::packet;
using netloom::test::check;

constexpr Line kLine{
    .rate_bps = 100e9,
    .base_rtt = 10'000'000,
    .payload_bytes = 1'000,
    .packet_bytes = 1'050,
};

void no_two_schemes_share_a_name() {
  std::set<std::string> names;
  for (const cc::SchemeInfo& scheme : cc::schemes()) {
    check(names.emplace(scheme.traits.name).second, "a name is given once");
    check(&cc::traits_of(std::string(scheme.traits.name)) != nullptr, "it finds its traits");
  }
  check(names.contains("none"), "none is a scheme");
}

void reactions_are_those_of_the_code() {
  constexpr cc::Reactions kNothing = cc::reactions_of<cc::None>();
  static_assert(!kNothing.acks && !kNothing.notifications && !kNothing.departures);
  constexpr cc::Reactions kDcqcn = cc::reactions_of<cc::Dcqcn>();
  static_assert(!kDcqcn.acks && kDcqcn.notifications && kDcqcn.departures && kDcqcn.timers);
}

/// A controller gives what the scheme itself would.
void a_notification_halves_a_new_connection() {
  const auto control = cc::make_controllers("dcqcn", Parameters({}), 2);
  check(control->start(1, kLine, 0).rate_bps == 100e9, "DCQCN starts at line rate");
  const cc::Allowance cut = control->on_notification(1, kLine, 0);
  check(cut.rate_bps == 50e9, "alpha is 1 at first: the first CNP halves the rate");
  check(cut.next_timer == 55'000'000, "the increase timer runs for 55 us");
  check(cut.window_bytes == cc::kNoWindow, "there is no window");
  check(control->start(0, kLine, 0).rate_bps == 100e9, "another connection is not cut");
}

void a_saved_state_goes_on_where_it_was() {
  const auto control = cc::make_controllers("dcqcn", Parameters({}), 1);
  control->start(0, kLine, 0);
  control->on_notification(0, kLine, 0);
  Saver saver;
  control->save(saver);
  const auto other = cc::make_controllers("dcqcn", Parameters({}), 1);
  Loader loader(saver.bytes());
  other->load(loader);
  check(other->on_notification(0, kLine, 1).rate_bps == 25e9, "the second CNP halves it again");
}

void what_does_not_exist_is_refused() {
  int refused = 0;
  try {
    static_cast<void>(cc::make_controllers("vegas", Parameters({}), 1));
  } catch (const std::invalid_argument&) {
    ++refused;
  }
  try {
    static_cast<void>(cc::make_controllers("reno", Parameters({{"gain", 1.0}}), 1));
  } catch (const std::invalid_argument&) {
    ++refused;
  }
  check(refused == 2, "an unknown scheme and an unknown parameter are refused");
}

}  // namespace

int main() {
  no_two_schemes_share_a_name();
  reactions_are_those_of_the_code();
  a_notification_halves_a_new_connection();
  a_saved_state_goes_on_where_it_was();
  what_does_not_exist_is_refused();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
