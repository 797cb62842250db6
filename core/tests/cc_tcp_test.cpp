// TCP's schemes. Each case states the window that the scheme's rule gives, and why.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "cc_signals.hpp"
#include "check.hpp"
#include "netloom/packet/cc/cubic.hpp"
#include "netloom/packet/cc/dctcp.hpp"
#include "netloom/packet/cc/policy.hpp"
#include "netloom/packet/cc/prr.hpp"
#include "netloom/packet/cc/reno.hpp"

namespace {

using namespace netloom::packet::cc;
using netloom::packet::Time;
using netloom::test::ack_of;
using netloom::test::check;
using netloom::test::close;
using netloom::test::kLine;
using netloom::test::windows_stay_whole;

constexpr std::uint64_t kPacket = kLine.payload_bytes;

/// A sender that fills its window, of which answers come one a packet and in order. Packets that
/// are lost leave what is in flight; what is sent again for them is sent as new data is.
template <class Cc>
struct Sender : netloom::test::Sender<Cc> {
  std::uint64_t in_flight = this->flow.window_bytes();

  void ack(bool marked = false) {
    in_flight -= kPacket;
    this->acked_to += kLine.payload_bytes;
    this->flow.on_ack(this->settings,
                      this->line,
                      ack_of({
                          .now = this->now,
                          .acked_to = this->acked_to,
                          .sent_to = this->sent_to,
                          .marked = marked,
                          .in_flight_bytes = static_cast<std::int64_t>(in_flight),
                      }));
    fill();
  }

  void ack(int num_packets) {
    for (int i = 0; i < num_packets; ++i) {
      ack();
    }
  }

  void ack_window() { ack(static_cast<int>(this->window())); }

  void lose(std::uint32_t num_packets = 1) {
    in_flight -= std::uint64_t{num_packets} * kLine.payload_bytes;
    this->flow.on_loss(this->settings, this->line, this->now, num_packets * kLine.payload_bytes);
    fill();
  }

  /// Sends what the window lets it; returns how many packets those were.
  std::uint64_t fill() {
    std::uint64_t num_sent = 0;
    for (; in_flight < this->flow.window_bytes(); in_flight += kPacket, ++num_sent) {
      this->flow.on_sent(this->settings, this->line, this->now, kLine.payload_bytes);
      this->sent_to += kLine.payload_bytes;
    }
    return num_sent;
  }
};

// Ten packets at first (RFC 6928); each packet acknowledged adds one: 20, 40 after two windows.
void slow_start_doubles_in_a_round_trip() {
  Sender<Reno> sender;
  check(sender.window() == 10, "the first window");
  sender.ack_window();
  sender.ack_window();
  check(sender.window() == 40, "two round trips");
}

// 20 packets; a loss halves them, a second one in the same window does not. The cut is over when
// the 20 and the two that left in place of the lost ones before the first answer are acknowledged.
// Each window of acknowledgements then adds one packet: w += 1/w, w times, which stays below one
// until the next.
void reno_halves_once_a_window_and_adds_one() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.lose();
  sender.lose();
  sender.ack(22);
  check(sender.window() == 10, "one cut, and no growth before it is acknowledged");
  sender.ack(11);
  check(sender.window() == 11, "then one packet a window");
}

// RFC 9937, section 6: of 20 packets one is lost and the window is to be 10. The first answer lets
// the repetition go; n answers later CEIL(n / 2) have left: every other answer sends a packet,
// until the 10 that shall be are in flight.
void one_loss_lets_every_other_answer_send() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.in_flight -= kPacket;
  sender.flow.on_loss(sender.settings, kLine, 0, kLine.payload_bytes);
  const std::uint64_t before = sender.sent_to;
  for (std::uint64_t n = 1; n <= 16; ++n) {
    sender.ack();
    check((sender.sent_to - before) / kLine.payload_bytes == (n + 1) / 2, "half of what arrived");
  }
  sender.ack(2);
  check(sender.in_flight == 10'000, "the target at the end of the round trip");
}

// 15 of 20 are lost, so that 5 answers come (section 9 of RFC 6937 has this case). Only 5 were in
// flight, fewer than the 10 that shall be: what arrives lets as much go. SACKs alone do not tell
// progress, so that none but those 5 leave in this round trip, and no burst of 10 does.
void a_burst_of_losses_is_repaired_as_fast_as_packets_arrive() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.in_flight -= 15 * kPacket;
  sender.flow.on_loss(sender.settings, kLine, 0, 15 * kLine.payload_bytes);
  const std::uint64_t before = sender.sent_to;
  sender.acked_to = 0;
  for (int i = 0; i < 5; ++i) {
    sender.in_flight -= kPacket;
    sender.flow.on_ack(sender.settings,
                       kLine,
                       ack_of({
                           .sent_to = sender.sent_to,
                           .in_flight_bytes = static_cast<std::int64_t>(sender.in_flight),
                       }));
    sender.fill();
  }
  check(sender.sent_to - before == 5 * kPacket, "as many as arrived");
  // The repetitions arrive and move the acknowledged on: two leave for each, up to the target.
  for (std::uint64_t n = 1; n <= 5; ++n) {
    sender.ack();
    check(sender.in_flight == (5 + n) * kPacket, "one more each");
  }
  sender.ack();
  check(sender.in_flight == 10 * kPacket, "no more than the target");
}

// All but one of 20 are in flight when a timer tells of the loss: one packet goes in its place.
void a_loss_without_an_answer_lets_one_packet_go() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.in_flight -= 5 * kPacket;
  sender.flow.on_loss(sender.settings, kLine, 0, 5 * kLine.payload_bytes);
  check(sender.fill() == 1, "one");
}

void a_timeout_leaves_one_packet() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.flow.on_timeout(sender.settings, kLine, 0);
  sender.in_flight = 0;
  sender.fill();
  check(sender.window() == 1, "one packet");
  sender.ack(9);
  check(sender.window() == 10, "slow start to half of what was");
}

// Ten packets are allowed and four in flight: the window does not hold the sender back.
void a_window_that_is_not_half_used_does_not_grow() {
  Sender<Reno> sender;
  for (std::uint64_t acked_to = 1'000; acked_to <= 4'000; acked_to += 1'000) {
    sender.flow.on_ack(
        sender.settings, kLine, ack_of({.acked_to = acked_to, .sent_to = acked_to + 3'000}));
  }
  check(sender.window() == 10, "it grew");
}

// Slow start to 40 packets. A silence of a timeout leaves the window; a longer one leaves the first
// window, from which slow start goes on: the threshold was never set.
void a_silent_connection_begins_again() {
  Sender<Reno> sender;
  sender.ack_window();
  sender.ack_window();
  sender.flow.on_idle(sender.settings, kLine, {.lasted = 200, .timeout = 200});
  check(sender.window() == 40, "a timeout of silence");
  sender.flow.on_idle(sender.settings, kLine, {.lasted = 201, .timeout = 200});
  check(sender.window() == 10, "more than that");
  sender.ack_window();
  check(sender.window() == 20, "slow start");
  sender.flow.on_timeout(sender.settings, kLine, 0);
  sender.flow.on_idle(sender.settings, kLine, {.lasted = 201, .timeout = 200});
  check(sender.window() == 1, "a smaller window stays");
}

// Alpha is 1 until a round has been seen, and the first acknowledgement ends the empty round 0 with
// one packet of one marked: 1 still. So the first mark halves, as a loss does.
void dctcp_halves_at_its_first_mark() {
  Sender<Dctcp> sender;
  for (int i = 0; i < 10; ++i) {
    sender.ack(true);
  }
  check(sender.in_flight == 5'000, "half, when what was in flight is acknowledged");
  check(sender.window() == 5, "once a window");
}

// n rounds without a mark leave alpha at (15/16)^n; the next mark cuts by half of that.
void dctcp_cuts_by_half_of_alpha() {
  Sender<Dctcp> sender;
  sender.ack(true);  // leaves slow start, and alpha at 1
  int num_rounds = 0;
  double window = 5;
  std::uint64_t round_to = 10'000;  // what the mark's acknowledgement ended
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t sent_to = sender.sent_to;
    sender.ack();
    if (sender.acked_to > round_to) {
      ++num_rounds;
      round_to = sent_to;
    }
    // The cut lasts until those are acknowledged.
    window += sender.acked_to > 10'000 ? 1 / window : 0;
  }
  check(sender.window() == static_cast<std::uint64_t>(window), "Reno's growth in between");
  sender.ack(true);
  const bool ended = sender.acked_to > round_to;  // the mark may end a round of its own
  check(!ended, "the case is meant to mark within a round");
  sender.ack_window();
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

/// A CUBIC flow of 100 packets that lost one, the lost window acknowledged.
struct CubicCase : Sender<Cubic> {
  CubicCase()
      : Sender<Cubic>{{.settings = {{.first_packets = 100}}}} {
    cut();
  }

  void cut() {
    const auto num_in_flight = static_cast<int>(window());
    lose();
    ack(num_in_flight + 1);  // and the one that leaves before the first answer
  }

  /// 600 acknowledgements: enough to follow the curve, too few for Reno's pace to pass it.
  void climb(double seconds) {
    for (int step = 0; step <= 300; ++step) {
      now = static_cast<Time>(seconds * step / 300 * 1e12);
      ack();
      ack();
    }
  }
};

// 100 packets, cut to 70: K = cbrt(30 / 0.4) = 4.217 s later it is back on the plateau.
void cubic_is_back_on_its_plateau_after_k() {
  CubicCase sender;
  check(sender.window() == 70, "by 0.7");
  sender.climb(std::cbrt(30 / 0.4));
  check(sender.window() >= 99 && sender.window() <= 100, "not on the plateau");
}

// A second loss at 70, below the plateau of 100: the next plateau is 70 x 1.7 / 2 = 59.5, the
// window 49, and K = cbrt(10.5 / 0.4).
void cubic_makes_room_when_it_is_cut_below_its_plateau() {
  CubicCase sender;
  sender.cut();
  check(sender.window() == 49, "0.7 twice");
  sender.climb(std::cbrt(10.5 / 0.4));
  check(sender.window() == 59, "not on the lower plateau");
}

// Far beyond K the curve is out of reach: half a window in a round trip, half a packet for each
// that is acknowledged. The first one begins the epoch, on which the curve starts at 70.
void cubic_grows_by_half_a_window_at_most() {
  CubicCase sender;
  sender.ack();
  sender.now = 1'000'000'000'000'000;
  for (int i = 0; i < 9; ++i) {
    sender.ack();
  }
  check(sender.window() == 74, "nine halves");
}

// Within a data centre's round trips cubic growth is nothing, and the window is Reno's with
// alpha = 3 (0.3) / 1.7 = 0.529 a round trip.
void cubic_is_as_fast_as_reno_where_round_trips_are_short() {
  CubicCase sender;
  double window = 70;
  for (int i = 0; i < 2'000; ++i) {
    sender.ack();
    window += 0.9 / 1.7 / window;
  }
  check(std::abs(static_cast<double>(sender.window()) - window) < 1, "not Reno's pace");
}

}  // namespace

int main() {
  slow_start_doubles_in_a_round_trip();
  reno_halves_once_a_window_and_adds_one();
  one_loss_lets_every_other_answer_send();
  a_burst_of_losses_is_repaired_as_fast_as_packets_arrive();
  a_loss_without_an_answer_lets_one_packet_go();
  a_timeout_leaves_one_packet();
  a_window_that_is_not_half_used_does_not_grow();
  a_silent_connection_begins_again();
  dctcp_halves_at_its_first_mark();
  dctcp_cuts_by_half_of_alpha();
  the_cube_root_is_one();
  cubic_is_back_on_its_plateau_after_k();
  cubic_makes_room_when_it_is_cut_below_its_plateau();
  cubic_grows_by_half_a_window_at_most();
  cubic_is_as_fast_as_reno_where_round_trips_are_short();
  windows_stay_whole<Reno>();
  windows_stay_whole<Dctcp>();
  windows_stay_whole<Cubic>();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
