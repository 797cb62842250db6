// Schemes that set a rate. Each case states the rate that the scheme's rule gives, and why.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "cc_signals.hpp"
#include "check.hpp"
#include "netloom/packet/cc/dcqcn.hpp"
#include "netloom/packet/cc/dcqcn_firmware.hpp"
#include "netloom/packet/cc/dctcp_rate.hpp"
#include "netloom/packet/cc/hpcc.hpp"
#include "netloom/packet/cc/hpcc_pint.hpp"
#include "netloom/packet/cc/ib_cc.hpp"
#include "netloom/packet/cc/none.hpp"
#include "netloom/packet/cc/rttcc.hpp"
#include "netloom/packet/cc/timely.hpp"

namespace {

using namespace netloom::packet::cc;
using netloom::packet::Ack;
using netloom::packet::Hop;
using netloom::packet::kNever;
using netloom::packet::Line;
using netloom::packet::Time;
using netloom::test::abuse;
using netloom::test::ack_of;
using netloom::test::check;
using netloom::test::close;
using netloom::test::kLine;
using netloom::test::pass_time;

constexpr double kGbps = 1e9;

void without_control_a_flow_sends_at_line_rate() {
  const auto flow = None::make({}, kLine, 0);
  check(flow.rate_bps() == kLine.rate_bps && None::window_bytes() == kNoWindow, "not unbounded");
}

/// An acknowledgement with the telemetry of one hop of 100 Gb/s.
struct Telemetry {
  Hop hop{.when = 0, .sent_bytes = 0, .queue_bytes = 0, .rate_bps = 100 * kGbps};
  std::uint64_t acked_to = 1'000;

  /// `after` later the port has sent `sent_bytes` more and `queue_bytes` wait.
  Ack next(Time after, std::uint64_t sent_bytes, std::uint32_t queue_bytes) {
    hop.when += after;
    hop.sent_bytes += sent_bytes;
    hop.queue_bytes = queue_bytes;
    Ack ack = ack_of({.acked_to = acked_to, .sent_to = acked_to + 10'000});
    acked_to += 11'000;  // past everything that was sent: a round trip each time
    ack.hops = &hop;
    ack.num_hops = 1;
    return ack;
  }
};

constexpr Time kRtt = 8'192 * kNanosecond;  // 102,400 bytes at 100 Gb/s: 200 units of 512 bytes

HpccSettings hpcc_settings() {
  HpccSettings settings;
  settings.rtt = kRtt;
  settings.increase_of_line = 0;
  return settings;
}

// A whole round trip at full rate (u = 1) over a queue of 92,160 bytes (288 units of 320), which is
// 0.9 of the 102,400 that the line carries: U = 1.9 = 2 eta, so the rate halves and so does W.
void hpcc_halves_at_twice_its_target() {
  const HpccSettings settings = hpcc_settings();
  Telemetry telemetry;
  auto flow = Hpcc::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  check(flow.rate_bps() == 100 * kGbps, "the first acknowledgement is remembered only");
  check(flow.window_bytes() == 103'000, "W = R T, the last packet begun");
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  check(close(flow.rate_bps(), 50 * kGbps), "not half");
  check(flow.window_bytes() == 52'000, "51,200 bytes, the last packet begun");
}

// The queue counts only while it stays: min(0, 92,160) = 0, so U = 1 and the rate goes by 0.95.
void hpcc_takes_the_lesser_of_two_queues() {
  const HpccSettings settings = hpcc_settings();
  Telemetry telemetry;
  auto flow = Hpcc::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 0));
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  check(close(flow.rate_bps(), 95 * kGbps), "a queue that was not there before");
}

// Samples weigh by the part of a round trip they span: U = 0.005 after a whole one, 3/4 of that and
// 1/4 of 1 after a quarter at full load, half of that and 1/2 after half a one.
void hpcc_averages_over_a_round_trip() {
  HpccSettings settings = hpcc_settings();
  settings.target = 0.375;
  Telemetry telemetry;
  auto flow = Hpcc::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 0, 0));
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 512, 0));  // 1/200 of the line
  check(flow.rate_bps() == 100 * kGbps, "hardly any load: the line rate");
  flow.on_ack(settings, kLine, telemetry.next(kRtt / 4, 25'600, 0));
  check(flow.rate_bps() == 100 * kGbps, "a quarter of the line's load is below the target");
  flow.on_ack(settings, kLine, telemetry.next(kRtt / 2, 51'200, 0));
  const double load = 0.5 * (0.75 * 0.005 + 0.25) + 0.5;
  check(close(flow.rate_bps(), 100 * kGbps * 0.375 / load), "then half of what was and half full");
}

// Within the round trip each acknowledgement moves the rate from the same reference: two at U = 1.9
// still halve once.
void hpcc_moves_its_reference_once_a_round_trip() {
  const HpccSettings settings = hpcc_settings();
  Telemetry telemetry;
  auto flow = Hpcc::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  for (int i = 0; i < 3; ++i) {
    telemetry.acked_to = 2'000;  // before the 11,000 that were sent at the first
    flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
    check(close(flow.rate_bps(), 50 * kGbps), "more than one cut in a round trip");
  }
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  check(close(flow.rate_bps(), 25 * kGbps), "the next round trip cuts again");
}

// Counters of 24 and 20 bits wrap; the difference does not.
void hpcc_survives_the_wrap_of_its_counters() {
  const HpccSettings settings = hpcc_settings();
  Telemetry telemetry;
  telemetry.hop.when = 16'777'215 * kNanosecond - kRtt;  // 2^24 ns, less one
  telemetry.hop.sent_bytes = 536'870'400 - 102'400;      // 2^20 units of 512 bytes, less one
  auto flow = Hpcc::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  check(close(flow.rate_bps(), 50 * kGbps), "the wrap was seen as load");
}

// After 2^24 ns the clock has come round: the first acknowledgement is remembered only, and the
// rate stays at the half that it was before the silence.
void hpcc_begins_its_round_again_after_a_long_silence() {
  const HpccSettings settings = hpcc_settings();
  Telemetry telemetry;
  auto flow = Hpcc::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  const Time silence = Time{1 << 24} * kNanosecond;
  flow.on_idle(settings, kLine, {.lasted = silence, .timeout = 0});
  flow.on_ack(settings, kLine, telemetry.next(silence + 100, 102'400, 92'160));
  check(close(flow.rate_bps(), 50 * kGbps), "an old stamp was believed");
  flow.on_ack(settings, kLine, telemetry.next(kRtt, 102'400, 92'160));
  check(close(flow.rate_bps(), 25 * kGbps), "then it goes on");
}

// 1.05^13 / 512 is the code 13; a code holds the value to 5 %, and on average exactly.
void a_pint_code_is_a_power_of_1_05() {
  check(close(PintCode::decode(13), std::pow(1.05, 13) / 512), "a power");
  check(PintCode::encode(0, 0.5) == 0 && PintCode::encode(1e9, 0.5) == 255, "the ends");
  const double value = std::ceil(0.8 * 512) / 512;
  const std::uint8_t low = PintCode::encode(0.8, 0.999);
  const std::uint8_t high = PintCode::encode(0.8, 0.0);
  check(high == low + 1, "the two powers around");
  const double below = PintCode::decode(low);
  const double above = PintCode::decode(high);
  check(below <= value && value <= above, "around the value");
  int num_up = 0;
  for (int i = 0; i < 10'000; ++i) {
    num_up += PintCode::encode(0.8, (i + 0.5) / 10'000) == high ? 1 : 0;
  }
  const double mean = below + (above - below) * num_up / 10'000;
  check(std::abs(mean - value) < 1e-4, "on average");
}

// A packet of 1,024 bytes every 81.92 ns fills 100 Gb/s: the estimate tends to 1, by 1 % of the way
// with each packet. A queue that stays at 51,200 bytes, half of what the line carries in a round
// trip, adds 0.5.
void a_pint_port_adds_its_queue_to_its_load() {
  for (const std::uint64_t queue_bytes : {0, 51'200}) {
    PintPort port;
    double utilization = 0;
    for (int i = 1; i <= 2'000; ++i) {
      utilization = port.estimate(i * Time{81'920}, queue_bytes, 100 * kGbps, kRtt);
      port.sent(i * Time{81'920}, 1'024);
    }
    check(std::abs(utilization - (queue_bytes == 0 ? 1 : 1.5)) < 1e-6, "load and queue");
  }
}

void hpcc_with_pint_follows_the_same_rule() {
  const HpccSettings settings = hpcc_settings();
  Telemetry telemetry;
  auto flow = HpccPint::make(settings, kLine, 0);
  Ack ack = telemetry.next(kRtt, 0, 0);
  flow.on_ack(settings, kLine, ack);
  ack = telemetry.next(kRtt, 0, 0);
  ack.pint_code = PintCode::encode(1.9, 0);
  flow.on_ack(settings, kLine, ack);
  check(close(flow.rate_bps(), 95 * kGbps / PintCode::decode(PintCode::encode(1.9, 0))), "R eta/U");
}

/// Acknowledges a whole round trip that took `rtt`.
void timely_round(Timely& flow, const Timely::Settings& settings, Time rtt, int round) {
  const auto sent = static_cast<std::uint64_t>(round) * 10'000;
  flow.on_ack(
      settings, kLine, ack_of({.rtt = rtt, .acked_to = sent + 1, .sent_to = sent + 10'000}));
}

// From 60 to 64 us: the smoothed change is 0.875 x 4 us, over 20 us a gradient of 0.175, and the
// rate goes by 1 - 0.8 x 0.175. At 1 ms, beyond 500 us: by 1 - 0.8 (1 - 1/2). At 0.8 ms the same
// holds, though the delay falls: by 1 - 0.8 (1 - 5/8).
void timely_follows_the_gradient_between_its_thresholds() {
  const Timely::Settings settings;
  auto flow = Timely::make(settings, kLine, 0);
  timely_round(flow, settings, 60 * kMicrosecond, 0);
  check(flow.rate_bps() == 100 * kGbps, "the first round trip is remembered only");
  timely_round(flow, settings, 64 * kMicrosecond, 1);
  check(close(flow.rate_bps(), 86 * kGbps), "the gradient");
  timely_round(flow, settings, 1'000 * kMicrosecond, 2);
  check(close(flow.rate_bps(), 86 * 0.6 * kGbps), "beyond the high threshold");
  timely_round(flow, settings, 800 * kMicrosecond, 3);
  check(close(flow.rate_bps(), 86 * 0.6 * 0.7 * kGbps), "falling, but beyond it still");
}

// Sent to 20,000 and gone back to 12,000: what is acknowledged next ends the round, by 1 - 0.8 / 2.
void timely_hears_a_sender_that_went_back() {
  const Timely::Settings settings;
  auto flow = Timely::make(settings, kLine, 0);
  timely_round(flow, settings, 60 * kMicrosecond, 0);
  timely_round(flow, settings, 60 * kMicrosecond, 1);
  const double before_bps = flow.rate_bps();
  flow.on_ack(settings, kLine, ack_of({.rtt = kRtt, .acked_to = 12'000, .sent_to = 12'000}));
  check(flow.rate_bps() == before_bps, "no round has ended");
  flow.on_ack(settings,
              kLine,
              ack_of({.rtt = 1'000 * kMicrosecond, .acked_to = 13'000, .sent_to = 15'000}));
  check(close(flow.rate_bps(), 0.6 * before_bps), "beyond the high threshold");
}

// Below 50 us the rate grows by a thousandth of the line; after five in a row by five.
void timely_leaps_after_five_increases() {
  const Timely::Settings settings;
  auto flow = Timely::make(settings, kLine, 0);
  timely_round(flow, settings, 60 * kMicrosecond, 0);
  timely_round(flow, settings, 1'000 * kMicrosecond, 1);
  const double start = flow.rate_bps() / kGbps;
  for (int round = 2; round < 9; ++round) {
    timely_round(flow, settings, 20 * kMicrosecond, round);
  }
  check(close(flow.rate_bps(), (start + 5 * 0.1 + 2 * 0.5) * kGbps), "five steps and two leaps");
}

// Alpha is 1 at first: the first mark halves. Marks on the data that was in flight do not cut
// again. At the end of the second round 1 of 11 was marked: alpha = 15/16 + 1/16 x 1/11; of the
// third 1 of 10.
void rate_dctcp_cuts_once_a_window() {
  const auto settings = DctcpRate::Settings::artifact();
  auto flow = DctcpRate::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, ack_of({.acked_to = 1'000, .sent_to = 10'000, .marked = true}));
  check(close(flow.rate_bps(), 50 * kGbps), "the first mark");
  flow.on_ack(settings, kLine, ack_of({.acked_to = 2'000, .sent_to = 11'000}));
  check(close(flow.rate_bps(), 50 * kGbps), "no growth while the cut is in flight");
  flow.on_ack(settings, kLine, ack_of({.acked_to = 10'001, .sent_to = 20'000}));
  check(close(flow.rate_bps(), 50.615 * kGbps), "615 Mb/s a round trip");
  flow.on_ack(settings, kLine, ack_of({.acked_to = 12'000, .sent_to = 22'000, .marked = true}));
  const double alpha = 15.0 / 16 + 1.0 / 16 / 11;
  const double rate_bps = 50.615 * (1 - alpha / 2) * kGbps;
  check(close(flow.rate_bps(), rate_bps), "by half of alpha");
  flow.on_ack(settings, kLine, ack_of({.acked_to = 20'001, .sent_to = 30'000}));
  flow.on_ack(settings, kLine, ack_of({.acked_to = 22'001, .sent_to = 32'000, .marked = true}));
  const double next_alpha = 15.0 / 16 * alpha + 1.0 / 16 / 10;
  check(close(flow.rate_bps(), rate_bps * (1 - next_alpha / 2)), "marks count in one round");
}

// Sent to 10,000, cut, and gone back to 2,000: the cut is over with the next that arrives.
void rate_dctcp_hears_a_sender_that_went_back() {
  const auto settings = DctcpRate::Settings::artifact();
  auto flow = DctcpRate::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, ack_of({.acked_to = 1'000, .sent_to = 10'000, .marked = true}));
  flow.on_ack(settings, kLine, ack_of({.acked_to = 2'000, .sent_to = 2'000}));
  flow.on_ack(settings, kLine, ack_of({.acked_to = 3'000, .sent_to = 9'000}));
  check(close(flow.rate_bps(), 50.615 * kGbps), "half, and 615 Mb/s a round trip");
}

// Entry i of the linear table delays by i packet times: after three BECNs a quarter of the line.
// The timer then takes one step back each 153.6 us.
void a_becn_is_a_step_up_the_table_and_the_timer_one_down() {
  const IbCc::Settings settings;
  auto flow = IbCc::make(settings, kLine, 0);
  for (int i = 0; i < 3; ++i) {
    flow.on_notification(settings, kLine, 0);
  }
  check(close(flow.rate_bps(), 25 * kGbps), "three steps");
  pass_time(flow, settings, 154 * kMicrosecond);
  check(close(flow.rate_bps(), 100.0 / 3 * kGbps), "one step back");
  pass_time(flow, settings, 500 * kMicrosecond);
  check(flow.rate_bps() == 100 * kGbps && flow.next_timer() == kNever, "all the way");
}

// 12 shifted right by 2 is 3 packet times.
void a_table_entry_is_a_multiplier_and_a_shift() {
  IbCc::Settings settings;
  settings.table.at(1) = (2U << 14U) | 12U;
  auto flow = IbCc::make(settings, kLine, 0);
  flow.on_notification(settings, kLine, 0);
  check(close(flow.rate_bps(), 25 * kGbps), "not a quarter");
}

// Base 12 us, target 18 us. At 24 us the excess is a quarter of the delay: by 1 - 0.8 / 4.
void rttcc_cuts_in_proportion_to_the_excess() {
  const Rttcc::Settings settings;
  auto flow = Rttcc::make(settings, kLine, 0);
  flow.on_ack(settings, kLine, ack_of({.now = 24 * kMicrosecond, .rtt = 24 * kMicrosecond}));
  check(close(flow.rate_bps(), 80 * kGbps), "the cut");
  flow.on_ack(settings, kLine, ack_of({.now = 30 * kMicrosecond, .rtt = 24 * kMicrosecond}));
  check(close(flow.rate_bps(), 80 * kGbps), "once a round trip");
  flow.on_ack(settings, kLine, ack_of({.now = 48 * kMicrosecond, .rtt = 12 * kMicrosecond}));
  check(close(flow.rate_bps(), 81 * kGbps), "a hundredth of the line");
}

template <class Cc>
void rates_stay_between_the_floor_and_the_line(double floor_bps,
                                               const typename Cc::Settings& settings = {}) {
  abuse<Cc>(settings, [floor_bps](const Cc& flow) {
    check(flow.rate_bps() >= floor_bps && flow.rate_bps() <= kLine.rate_bps, "rate out of bounds");
    check(flow.window_bytes() >= kLine.payload_bytes, "less than a packet");
  });
}

void hpcc_keeps_its_rules() {
  hpcc_halves_at_twice_its_target();
  hpcc_takes_the_lesser_of_two_queues();
  hpcc_averages_over_a_round_trip();
  hpcc_moves_its_reference_once_a_round_trip();
  hpcc_survives_the_wrap_of_its_counters();
  hpcc_begins_its_round_again_after_a_long_silence();
  a_pint_code_is_a_power_of_1_05();
  a_pint_port_adds_its_queue_to_its_load();
  hpcc_with_pint_follows_the_same_rule();
}

void every_scheme_keeps_its_bounds() {
  rates_stay_between_the_floor_and_the_line<None>(kLine.rate_bps);
  rates_stay_between_the_floor_and_the_line<Dcqcn>(10e6);
  rates_stay_between_the_floor_and_the_line<DcqcnFirmware>(1e6);
  rates_stay_between_the_floor_and_the_line<DcqcnFirmware>(1e9,
                                                           DcqcnFirmware::Settings::artifact());
  rates_stay_between_the_floor_and_the_line<Hpcc>(1e9);
  rates_stay_between_the_floor_and_the_line<HpccPint>(1e9);
  rates_stay_between_the_floor_and_the_line<Timely>(1e9);
  rates_stay_between_the_floor_and_the_line<DctcpRate>(1e9);
  rates_stay_between_the_floor_and_the_line<IbCc>(kLine.rate_bps / 128);
  rates_stay_between_the_floor_and_the_line<Rttcc>(100e6);
}

}  // namespace

int main() {
  without_control_a_flow_sends_at_line_rate();
  hpcc_keeps_its_rules();
  timely_follows_the_gradient_between_its_thresholds();
  timely_hears_a_sender_that_went_back();
  timely_leaps_after_five_increases();
  rate_dctcp_cuts_once_a_window();
  rate_dctcp_hears_a_sender_that_went_back();
  a_becn_is_a_step_up_the_table_and_the_timer_one_down();
  a_table_entry_is_a_multiplier_and_a_shift();
  rttcc_cuts_in_proportion_to_the_excess();
  every_scheme_keeps_its_bounds();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
