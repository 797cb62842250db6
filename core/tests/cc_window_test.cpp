// Schemes that set a window. Each case states the window that the scheme's rule gives, and why.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "cc_signals.hpp"
#include "check.hpp"
#include "netloom/packet/cc/cubic.hpp"
#include "netloom/packet/cc/dctcp.hpp"
#include "netloom/packet/cc/nscc.hpp"
#include "netloom/packet/cc/reno.hpp"
#include "netloom/packet/cc/swift.hpp"

namespace {

using namespace netloom::packet::cc;
using netloom::packet::Ack;
using netloom::packet::Line;
using netloom::packet::Time;
using netloom::test::abuse;
using netloom::test::ack_of;
using netloom::test::check;
using netloom::test::close;
using netloom::test::kLine;

/// A sender that always fills its window, and one acknowledgement a packet.
template <class Cc>
struct Sender {
  Cc::Settings settings;
  Line line = kLine;
  Cc flow = Cc::make(settings, line, 0);
  Time now = 0;
  std::uint64_t acked_to = 0;
  std::uint64_t sent_to = flow.window_bytes();

  void ack(bool marked = false, Time rtt = kLine.base_rtt) {
    acked_to += line.payload_bytes;
    flow.on_ack(
        settings,
        line,
        ack_of(
            {.now = now, .rtt = rtt, .acked_to = acked_to, .sent_to = sent_to, .marked = marked}));
    sent_to = std::max(sent_to, acked_to + flow.window_bytes());
  }

  void ack_window(bool marked = false) {
    for (std::uint64_t left = window(); left > 0; --left) {
      ack(marked);
    }
  }

  [[nodiscard]] std::uint64_t window() const { return flow.window_bytes() / line.payload_bytes; }
};

// Ten packets at first (RFC 6928); each packet acknowledged adds one: 20, 40 after two windows.
void slow_start_doubles_in_a_round_trip() {
  Sender<Reno> sender;
  check(sender.window() == 10, "the first window");
  sender.ack_window();
  sender.ack_window();
  check(sender.window() == 40, "two round trips");
}

// 20 packets; a loss halves them, a second one in the same window does not. Each window of
// acknowledgements then adds one packet: w += 1/w, w times, which stays below one until the next.
void reno_halves_once_a_window_and_adds_one() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.flow.on_loss(sender.settings, kLine, 0, 1'000);
  sender.flow.on_loss(sender.settings, kLine, 0, 1'000);
  check(sender.window() == 10, "one cut");
  for (int i = 0; i < 20; ++i) {
    sender.ack();
  }
  check(sender.window() == 10, "no growth before the cut is acknowledged");
  for (int i = 0; i < 11; ++i) {
    sender.ack();
  }
  check(sender.window() == 11, "then one packet a window");
}

void a_timeout_leaves_one_packet() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.flow.on_timeout(sender.settings, kLine, 0);
  check(sender.window() == 1, "one packet");
  for (int i = 0; i < 9; ++i) {
    sender.ack();
  }
  check(sender.window() == 10, "slow start to half of what was");
}

// Ten packets are allowed and only five in flight: the window does not hold the sender back.
void a_window_that_is_not_filled_does_not_grow() {
  Sender<Reno> sender;
  sender.sent_to = 5'000;
  for (int i = 0; i < 4; ++i) {
    sender.acked_to += 1'000;
    sender.flow.on_ack(
        sender.settings, kLine, ack_of({.acked_to = sender.acked_to, .sent_to = 5'000}));
  }
  check(sender.window() == 10, "it grew");
}

// Alpha is 1 until a round has been seen, and the first acknowledgement ends the empty round 0 with
// one packet of one marked: 1 still. So the first mark halves, as a loss does.
void dctcp_halves_at_its_first_mark() {
  Sender<Dctcp> sender;
  sender.ack(true);
  check(sender.window() == 5, "half");
  sender.ack(true);
  check(sender.window() == 5, "once a window");
}

// n rounds without a mark leave alpha at (15/16)^n; the next mark cuts by half of that.
void dctcp_cuts_by_half_of_alpha() {
  Sender<Dctcp> sender;
  sender.flow.on_loss(sender.settings, kLine, 0, 1'000);  // leaves slow start
  int num_rounds = 0;
  double window = 5;
  std::uint64_t round_to = 0;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t sent_to = sender.sent_to;
    sender.ack();
    if (sender.acked_to > round_to) {
      ++num_rounds;
      round_to = sent_to;
    }
    // Everything up to the first acknowledgement's 10,000 bytes belongs to the loss.
    window += sender.acked_to > 10'000 ? 1 / window : 0;
  }
  check(sender.window() == static_cast<std::uint64_t>(window), "Reno's growth in between");
  sender.ack(true);
  const bool ended = sender.acked_to > round_to;  // the mark may end a round of its own
  check(!ended, "the case is meant to mark within a round");
  const double alpha = std::pow(15.0 / 16, num_rounds);
  check(sender.window() == static_cast<std::uint64_t>(window * (1 - alpha / 2)), "alpha's cut");
}

// 0.001 to 2e9 (1.37^90 = 2e12), over every octave, to the last digits; cubes of whole numbers
// among them.
void the_cube_root_is_one() {
  double x = 1e-3;
  for (int i = 0; i < 90; ++i) {
    x *= 1.37;
    const double root = cube_root(x);
    check(std::abs(root * root * root / x - 1) < 1e-15 * 4, "not a cube root");
  }
  check(close(cube_root(27), 3) && cube_root(0) == 0, "of 27 and 0");
}

// 100 packets, cut to 70. K = cbrt(30 / 0.4) = 4.217 s. With a round trip of 1 s the window is
// cubic's target for the end of the round; K later it is back on the plateau of 100.
void cubic_is_back_on_its_plateau_after_k() {
  Sender<Cubic> sender{.settings = {{.first_packets = 100}}};
  sender.flow.on_loss(sender.settings, kLine, 0, 1'000);
  check(sender.window() == 70, "by 0.7");
  constexpr Time kSecond = 1'000'000'000'000;
  const double climb_s = std::cbrt(30 / 0.4);
  for (int i = 0; i < 100; ++i) {
    sender.ack();  // the lost window
  }
  for (int step = 0; step < 1'000; ++step) {
    sender.now = static_cast<Time>(climb_s * step) * (kSecond / 1'000);
    sender.ack();
    sender.ack();
  }
  check(sender.window() >= 99 && sender.window() <= 101, "not on the plateau");
}

// Within a data centre's round trips cubic growth is nothing, and the window is Reno's with
// alpha = 3 (0.3) / 1.7 = 0.529 a round trip.
void cubic_is_as_fast_as_reno_where_round_trips_are_short() {
  Sender<Cubic> sender{.settings = {{.first_packets = 100}}};
  sender.flow.on_loss(sender.settings, kLine, 0, 1'000);
  for (int i = 0; i < 100; ++i) {
    sender.ack();
  }
  double window = 70;
  for (int i = 0; i < 2'000; ++i) {
    sender.ack();
    window += 0.9 / 1.7 / window;
  }
  check(std::abs(static_cast<double>(sender.window()) - window) < 1, "not Reno's pace");
}

// Base delay 25 us; ten packets scale it by 125 us x (1/sqrt 10 - 1/10) / (1/sqrt 0.1 - 1/10) =
// 8.83 us. At 20 us: += 1/10 packet. At 200 us: 1 - 0.8 (200 - 33.8) / 200 < 1/2, so half, once.
void swift_grows_below_its_target_and_halves_far_above() {
  Sender<Swift> sender;
  sender.now = 100 * kMicrosecond;
  for (int i = 0; i < 11; ++i) {
    sender.ack(false, 20 * kMicrosecond);
  }
  check(sender.window() == 11, "a packet a round trip");
  sender.ack(false, 33 * kMicrosecond);
  check(sender.window() == 11, "below the scaled target still");
  sender.now += 200 * kMicrosecond;
  sender.ack(false, 200 * kMicrosecond);
  check(sender.window() == 5, "half");
  sender.ack(false, 200 * kMicrosecond);
  check(sender.window() == 5, "once a round trip");
}

// Halved each round trip, the window falls below one packet; one is then sent every RTT / cwnd.
void swift_paces_what_is_less_than_a_packet() {
  Sender<Swift> sender;
  for (int i = 0; i < 5; ++i) {
    sender.now += 2'000 * kMicrosecond;
    sender.ack(false, 2'000 * kMicrosecond);
  }
  check(sender.window() == 1, "never less than a packet");
  // 10 / 2^5 packets of 1,000 bytes in 2 ms.
  check(close(sender.flow.rate_bps(), 10.0 / 32 * 8'000 / 2e-3), "the pace");
}

// On the reference network a = 1; trimming: target 9 us, b = 0.75. The window starts at 1.5 BDP.
struct NsccCase : Sender<Nscc> {
  explicit NsccCase(double first_packets = 100)
      : Sender<Nscc>{.settings = {.first_packets = first_packets}} {
    flow.on_sent(settings, line, 0, static_cast<std::uint32_t>(flow.window_bytes()));
    now = line.base_rtt - 1;  // a round trip later eta would join in
  }

  /// Acknowledges `num` packets that queued for `delay`, all within one adjustment.
  void acks(int num, Time delay, bool marked = false) {
    for (int i = 0; i < num; ++i) {
      ack(marked, kLine.base_rtt + delay);
      flow.on_sent(settings, line, now, line.payload_bytes);
    }
  }
};

void nscc_starts_at_one_and_a_half_bdp() {
  check(Sender<Nscc>{}.window() == 225, "150 packets make a BDP");
}

// Nine packets make an adjustment. No mark and 4.5 us, half of the target: each packet adds
// alpha x 1000 x 4.5 us, alpha = 4 x 1000 x 0.75 / 9 us, that is 1.5e6; nine over 100,000 bytes are
// 135 bytes. A thousand adjustments in the same instant would add some 135 packets.
void nscc_grows_in_proportion_below_its_target() {
  NsccCase sender;
  double bytes = 100'000;
  for (int i = 0; i < 100; ++i) {
    sender.acks(9, 4'500'000);
    bytes += 9 * 1.5e6 / bytes;
  }
  check(sender.window() == static_cast<std::uint64_t>(bytes / 1'000), "not in proportion");
}

// No mark but 9 us or more: fi = 5 packets, 5e6 for each packet, whatever the delay.
void nscc_grows_by_the_same_beyond_its_target() {
  NsccCase sender;
  double bytes = 100'000;
  for (int i = 0; i < 100; ++i) {
    sender.acks(9, 20 * kMicrosecond);
    bytes += 9 * 5e6 / bytes;
  }
  check(sender.window() == static_cast<std::uint64_t>(bytes / 1'000), "not the same for all");
}

// A mark while the queue is short only moves the path: the window stays.
void nscc_leaves_its_window_when_a_short_queue_marks() {
  NsccCase sender;
  sender.acks(90, 4'500'000, true);
  check(sender.window() == 100, "it moved");
}

// A mark and 700 us. The average starts at 0 and moves by 0.0125 of the way: 8.75 us, then
// 17.39 us, past the target of 9. The cut is by 0.8 (17.39 - 9) / 17.39 = 39 %, once a round trip.
void nscc_cuts_by_the_average_delay_once_a_round_trip() {
  NsccCase sender;
  sender.acks(1, 700 * kMicrosecond, true);
  check(sender.window() == 100, "the average is below the target");
  sender.acks(1, 700 * kMicrosecond, true);
  check(sender.window() == 61, "the cut");
  sender.acks(50, 700 * kMicrosecond, true);
  check(sender.window() == 61, "once");
}

// With no delay for more than a window (100 packets), each packet adds a quarter of itself. Up to
// then the increase is proportional: 3e6 for each packet.
void nscc_grows_fast_on_an_empty_path() {
  NsccCase sender;
  double bytes = 100'000;
  int num_acks = 0;
  for (double left = 0; left <= bytes; ++num_acks) {
    sender.acks(1, 0);
    left += 1'000;
    bytes += num_acks % 9 == 8 ? 9 * 3e6 / bytes : 0;
  }
  const std::uint64_t before = sender.window();
  sender.acks(8, 0);
  check(sender.window() >= before + 2 && sender.window() <= before + 3, "eight quarters");
}

// Eta, 150 bytes, comes with the adjustment that ends each round trip.
void nscc_adds_eta_every_round_trip() {
  NsccCase sender;
  for (int i = 0; i < 20; ++i) {
    sender.now += kLine.base_rtt + 1;
    sender.acks(1, 4'500'000, true);  // marked below the target: nothing else moves the window
  }
  check(sender.window() == 103, "20 times 150 bytes");
}

// A trimmed packet takes its own size off the window, once quick adapt is not yet due.
void nscc_loses_what_is_trimmed() {
  NsccCase sender;
  sender.acks(1, 0, true);  // quick adapt now waits for a round trip and a target
  for (int i = 0; i < 10; ++i) {
    sender.flow.on_loss(sender.settings, kLine, sender.now, 1'000);
  }
  check(sender.window() == 90, "ten packets");
}

// 21 us after the last look (12 us base and 9 us target) with a loss, and seven packets through in
// between, below 225/8: the window becomes seven packets. What was in flight then is ignored.
void nscc_adapts_at_once_to_what_it_achieved() {
  NsccCase sender;
  sender.acks(1, 0, true);
  sender.acks(7, 5 * kMicrosecond, true);
  sender.now += 22 * kMicrosecond;
  sender.flow.on_loss(sender.settings, kLine, sender.now, 1'000);
  check(sender.window() == 7, "what it achieved");
  sender.flow.on_loss(sender.settings, kLine, sender.now, 1'000);
  sender.acks(30, 50 * kMicrosecond, true);
  check(sender.window() == 7, "the window in flight is ignored");
}

template <class Cc>
void windows_stay_above_a_packet() {
  abuse<Cc>({}, [](const Cc& flow) {
    check(flow.window_bytes() >= kLine.payload_bytes, "less than a packet");
    check(flow.window_bytes() % kLine.payload_bytes == 0, "not whole packets");
    check(flow.rate_bps() > 0 && flow.rate_bps() <= kLine.rate_bps, "rate out of bounds");
  });
}

void tcp_keeps_its_rules() {
  slow_start_doubles_in_a_round_trip();
  reno_halves_once_a_window_and_adds_one();
  a_timeout_leaves_one_packet();
  a_window_that_is_not_filled_does_not_grow();
  dctcp_halves_at_its_first_mark();
  dctcp_cuts_by_half_of_alpha();
  the_cube_root_is_one();
  cubic_is_back_on_its_plateau_after_k();
  cubic_is_as_fast_as_reno_where_round_trips_are_short();
}

void nscc_keeps_its_rules() {
  nscc_starts_at_one_and_a_half_bdp();
  nscc_grows_in_proportion_below_its_target();
  nscc_grows_by_the_same_beyond_its_target();
  nscc_leaves_its_window_when_a_short_queue_marks();
  nscc_cuts_by_the_average_delay_once_a_round_trip();
  nscc_grows_fast_on_an_empty_path();
  nscc_adds_eta_every_round_trip();
  nscc_loses_what_is_trimmed();
  nscc_adapts_at_once_to_what_it_achieved();
}

}  // namespace

int main() {
  tcp_keeps_its_rules();
  swift_grows_below_its_target_and_halves_far_above();
  swift_paces_what_is_less_than_a_packet();
  nscc_keeps_its_rules();
  windows_stay_above_a_packet<Reno>();
  windows_stay_above_a_packet<Dctcp>();
  windows_stay_above_a_packet<Cubic>();
  windows_stay_above_a_packet<Swift>();
  windows_stay_above_a_packet<Nscc>();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
