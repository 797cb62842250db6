// DCQCN, the paper's and the NIC's. Each case states the rate that the rule gives, and why.
#include <cmath>
#include <cstdlib>

#include "cc_signals.hpp"
#include "check.hpp"
#include "netloom/packet/cc/dcqcn.hpp"
#include "netloom/packet/cc/dcqcn_firmware.hpp"

namespace {

using namespace netloom::packet::cc;
using netloom::packet::kNever;
using netloom::test::ack_of;
using netloom::test::check;
using netloom::test::close;
using netloom::test::kLine;
using netloom::test::pass_time;

constexpr double kGbps = 1e9;
constexpr netloom::packet::Time kPeriod = 55 * kMicrosecond;

// Alpha starts at 1, so the first CNP halves 100 Gb/s. 50 us later alpha is 1 - g + g = 1 still, no
// 55 us having passed: a quarter.
void a_first_cnp_halves_the_rate() {
  const Dcqcn::Settings settings;
  auto flow = Dcqcn::make(settings, kLine, 0);
  check(flow.rate_bps() == 100 * kGbps && flow.next_timer() == kNever, "not at rest at first");
  flow.on_notification(settings, kLine, 0);
  check(close(flow.rate_bps(), 50 * kGbps), "the first CNP");
  flow.on_notification(settings, kLine, 50 * kMicrosecond);
  check(close(flow.rate_bps(), 25 * kGbps), "the second CNP");
}

// 110 us without a CNP are two decays: alpha = (255/256)^2, and the cut is by half of that. The two
// recoveries before it brought the rate from 50 to 75 and 87.5.
void alpha_decays_every_55_us_without_a_cnp() {
  const Dcqcn::Settings settings;
  auto flow = Dcqcn::make(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  pass_time(flow, settings, 110 * kMicrosecond);
  check(close(flow.rate_bps(), 87.5 * kGbps), "two recoveries");
  flow.on_notification(settings, kLine, 110 * kMicrosecond);
  const double alpha = 255.0 / 256 * 255 / 256;
  check(close(flow.rate_bps(), 87.5 * kGbps * (1 - alpha / 2)), "the cut after two decays");
}

// After two cuts the target is 50 and the rate 25. Five recoveries: 50 - 25 / 32. Then the target
// grows by 0.1 (RAI, a thousandth of the line) and the rate goes half way.
void five_recoveries_come_before_the_first_additive_step() {
  const Dcqcn::Settings settings;
  auto flow = Dcqcn::make(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  pass_time(flow, settings, 5 * kPeriod);
  const double recovered = 50 - 25.0 / 32;
  check(close(flow.rate_bps(), recovered * kGbps), "five recoveries");
  pass_time(flow, settings, 6 * kPeriod);
  check(close(flow.rate_bps(), (recovered + 50.1) / 2 * kGbps), "the additive step");
}

// Six timers and five byte counters: eleven increases, of which the last is additive (timer six).
// The sixth counter makes both six: i = 1, the target grows by RHAI, a hundredth of the line; the
// seventh timer leaves the least at six: again i = 1. A CNP restarts both counts: the next byte
// counter recovers half of the cut.
void growth_is_hyper_once_timer_and_counter_are_past_five() {
  Dcqcn::Settings settings;
  settings.counter_bytes = 1'000;
  auto flow = Dcqcn::make(settings, kLine, 0);
  for (int i = 0; i < 4; ++i) {
    flow.on_notification(settings, kLine, 0);  // 6.25 Gb/s, target 12.5
  }
  for (int i = 0; i < 5; ++i) {
    flow.on_sent(settings, kLine, 0, 1'000);
  }
  pass_time(flow, settings, 6 * kPeriod);
  const double before = flow.rate_bps() / kGbps;
  check(close(before, 12.6 - (6.25 / 1024 + 0.1) / 2), "ten recoveries and an additive step");
  flow.on_sent(settings, kLine, 0, 1'000);
  const double first = (before + 13.6) / 2;
  check(close(flow.rate_bps(), first * kGbps), "the first hyper step");
  pass_time(flow, settings, 7 * kPeriod);
  check(close(flow.rate_bps(), (first + 14.6) / 2 * kGbps), "the second");
  flow.on_notification(settings, kLine, 7 * kPeriod);
  const double cut = std::pow(255.0 / 256, 7) / 2;
  flow.on_sent(settings, kLine, 7 * kPeriod, 1'000);
  check(close(flow.rate_bps(), (first + 14.6) / 2 * (1 - cut / 2) * kGbps), "a recovery again");
}

// In firmware a CNP only sets a flag. Looked at 4 us and 1 ns later, alpha has ticked four times
// without another CNP: 1 (255/256)^4, and the cut is by half of that.
void firmware_cuts_at_its_next_look() {
  const auto settings = DcqcnFirmware::Settings::artifact();
  auto flow = DcqcnFirmware::make(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  check(flow.rate_bps() == 100 * kGbps, "a CNP alone changes nothing");
  check(flow.next_timer() == 4 * kMicrosecond + kNanosecond, "when it looks");
  pass_time(flow, settings, 5 * kMicrosecond);
  const double alpha = std::pow(255.0 / 256, 4);
  check(close(flow.rate_bps(), 100 * kGbps * (1 - alpha / 2)), "the cut");
  check(flow.next_timer() == 304 * kMicrosecond + kNanosecond, "growth is 300 us away");
}

// CNPs at 0, 5 and 6.5 us. Alpha ticks every microsecond: at 6 with a CNP (that of 5), at 7 with
// one (that of 6.5), else without. The second look, at 8.001 us, sees a = 1 decayed five times,
// then two ticks with a CNP, then one without. No growth came in between, so the target stays.
void many_cnps_between_two_looks_are_one_cut() {
  const auto settings = DcqcnFirmware::Settings::artifact();
  auto flow = DcqcnFirmware::make(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  pass_time(flow, settings, 5 * kMicrosecond);
  const double first = flow.rate_bps();
  flow.on_notification(settings, kLine, 5 * kMicrosecond);
  flow.on_notification(settings, kLine, 13 * kMicrosecond / 2);
  check(flow.next_timer() == 8 * kMicrosecond + kNanosecond, "looks lie 4 us apart");
  pass_time(flow, settings, 9 * kMicrosecond);
  const double kept = 255.0 / 256;
  double alpha = std::pow(kept, 5);
  alpha = kept * (kept * alpha + 1.0 / 256) + 1.0 / 256;
  alpha *= kept;
  check(close(flow.rate_bps(), first * (1 - alpha / 2)), "the second cut");
  pass_time(flow, settings, 400 * kMicrosecond);
  check(close(flow.rate_bps(), (first * (1 - alpha / 2) + 100 * kGbps) / 2), "target: the line");
}

// At 100 Gb/s the artifact's steps are four times 5 and 50 Mb/s. Stage 0 recovers, stage 1 adds
// 20 Mb/s to the target, stages from 2 on 200 Mb/s. The target is the 75 Gb/s (all but alpha's
// decay) that one recovery had reached when the second cut came.
void firmware_recovers_once_then_adds_then_leaps() {
  auto settings = DcqcnFirmware::Settings::artifact();
  settings.gain = 0;  // alpha stays 1: every cut halves
  auto flow = DcqcnFirmware::make(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  pass_time(flow, settings, 310 * kMicrosecond);
  check(close(flow.rate_bps(), 75 * kGbps), "one cut, one recovery");
  flow.on_notification(settings, kLine, 310 * kMicrosecond);
  pass_time(flow, settings, 320 * kMicrosecond);
  check(close(flow.rate_bps(), 37.5 * kGbps), "the second cut");
  double target = 75;
  double rate = 37.5;
  for (const double step : {0.0, 0.02, 0.2, 0.2}) {
    target += step;
    rate = (rate + target) / 2;
    pass_time(flow, settings, flow.next_timer());
    check(close(flow.rate_bps(), rate * kGbps), "recovery, addition, leaps");
  }
}

// A CNP every 4 us for 2 ms. With a = 1019 / 1024, alpha falls to (1 - a) a^3 / (1 - a^4) = 0.248
// and no further: every cut takes at least 12 %, and 0.88^400 times
// 100 Gb/s is less than the least rate. The target stays the line all the while, so that 300 us of
// silence bring half of it back at once; with a clamped target they bring next to nothing.
void a_train_of_cuts_in_firmware_ends_in_a_leap_to_half_the_line() {
  for (const bool clamped : {false, true}) {
    DcqcnFirmware::Settings settings;
    settings.clamp_target = clamped;
    auto flow = DcqcnFirmware::make(settings, kLine, 0);
    for (netloom::packet::Time now = 0; now < 2'000 * kMicrosecond; now += 4 * kMicrosecond) {
      flow.on_notification(settings, kLine, now);
      pass_time(flow, settings, now + 4 * kMicrosecond);
    }
    pass_time(flow, settings, 2'010 * kMicrosecond);
    check(flow.rate_bps() == settings.min_rate_bps, "down to the least rate");
    pass_time(flow, settings, 2'320 * kMicrosecond);
    const double expected = clamped ? settings.min_rate_bps : 50 * kGbps;
    check(std::abs(flow.rate_bps() - expected) <= settings.min_rate_bps, "where it comes back to");
  }
}

// 12.24 us at 100 Gb/s are 153,000 bytes: 153 packets; at half the rate 76,500, the 77th begun.
void a_scaled_window_follows_the_rate_and_a_fixed_one_does_not() {
  auto settings = DcqcnFirmware::Settings::artifact();
  settings.gain = 0;
  settings.rtt = 12'240 * kNanosecond;
  for (const Window window : {Window::kFixed, Window::kScaled}) {
    settings.window = window;
    auto flow = DcqcnFirmware::make(settings, kLine, 0);
    check(flow.window_bytes() == 153'000, "the bandwidth-delay product");
    flow.on_ack(settings, kLine, ack_of({.marked = true}));
    pass_time(flow, settings, 10 * kMicrosecond);
    check(flow.window_bytes() == (window == Window::kFixed ? 153'000 : 77'000), "at half rate");
  }
}

void a_flow_back_at_line_rate_needs_no_timer() {
  const DcqcnFirmware::Settings settings;
  auto flow = DcqcnFirmware::make(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  pass_time(flow, settings, kNever - 1);
  check(flow.rate_bps() == kLine.rate_bps && flow.next_timer() == kNever, "not at rest");
}

}  // namespace

int main() {
  a_first_cnp_halves_the_rate();
  alpha_decays_every_55_us_without_a_cnp();
  five_recoveries_come_before_the_first_additive_step();
  growth_is_hyper_once_timer_and_counter_are_past_five();
  firmware_cuts_at_its_next_look();
  many_cnps_between_two_looks_are_one_cut();
  firmware_recovers_once_then_adds_then_leaps();
  a_train_of_cuts_in_firmware_ends_in_a_leap_to_half_the_line();
  a_scaled_window_follows_the_rate_and_a_fixed_one_does_not();
  a_flow_back_at_line_rate_needs_no_timer();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
