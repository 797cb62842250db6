// Signals for the tests of congestion controls: a line, acknowledgements, and a long random abuse.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "check.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::test {

/// 100 Gb/s and 12 us, as in the reference network of NSCC: 150 kB, or 150 packets.
constexpr packet::Line kLine{.rate_bps = 100e9,
                             .base_rtt = 12'000'000,
                             .payload_bytes = 1'000,
                             .packet_bytes = 1'000,
                             .trims = true};

struct AckSpec {
  packet::Time now = 0;
  packet::Time rtt = kLine.base_rtt;
  std::uint32_t acked_bytes = kLine.payload_bytes;
  std::uint64_t acked_to = 0;
  std::uint64_t sent_to = 0;
  bool marked = false;
  std::int64_t in_flight_bytes = 100'000;
};

inline packet::Ack ack_of(const AckSpec& spec) {
  return {.now = spec.now,
          .rtt = spec.rtt,
          .acked_bytes = spec.acked_bytes,
          .acked_to = spec.acked_to,
          .sent_to = spec.sent_to,
          .in_flight_bytes = spec.in_flight_bytes,
          .marked = spec.marked,
          .hops = nullptr,
          .num_hops = 0};
}

inline bool close(double got, double expected) {
  return std::abs(got - expected) <= 1e-9 * std::abs(expected);
}

/// Fires every timer up to `until`.
template <class Cc>
void pass_time(Cc& cc, const typename Cc::Settings& settings, packet::Time until) {
  while (cc.next_timer() <= until) {
    cc.on_timer(settings, kLine, cc.next_timer());
  }
}

/// Feeds a flow 20,000 signals at random and shows it to `inspect` after each.
///
/// Round trips are up to 60 times the base, half of the packets marked, queues up to 2 MB.
template <class Cc>
void abuse(const typename Cc::Settings& settings, const std::function<void(const Cc&)>& inspect) {
  std::uint64_t state = 11;
  const auto below = [&state](std::uint64_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
    return (state >> 33U) % bound;
  };
  packet::Time now = 0;
  std::uint64_t acked_to = 0;
  std::uint64_t sent_to = 0;
  packet::Hop hop{.when = 0, .sent_bytes = 0, .queue_bytes = 0, .rate_bps = 100e9};
  Cc flow = Cc::make(settings, kLine, now);
  for (int i = 0; i < 20'000; ++i) {
    now += static_cast<packet::Time>(below(kLine.base_rtt / 4));
    pass_time(flow, settings, now);
    flow.on_sent(settings, kLine, now, kLine.payload_bytes);
    sent_to += kLine.payload_bytes;
    const std::uint64_t dice = below(100);
    if (dice < 2) {
      flow.on_timeout(settings, kLine, now);
    } else if (dice < 8) {
      flow.on_loss(settings, kLine, now, kLine.payload_bytes);
    } else if (dice < 16) {
      flow.on_notification(settings, kLine, now);
    } else {
      acked_to =
          acked_to + kLine.payload_bytes <= sent_to ? acked_to + kLine.payload_bytes : sent_to;
      hop = {.when = now,
             .sent_bytes = hop.sent_bytes + below(200'000),
             .queue_bytes = static_cast<std::uint32_t>(below(2'000'000)),
             .rate_bps = 100e9};
      packet::Ack ack =
          ack_of({.now = now,
                  .rtt = static_cast<packet::Time>(below(60)) * kLine.base_rtt + kLine.base_rtt,
                  .acked_to = acked_to,
                  .sent_to = sent_to,
                  .marked = below(2) == 0});
      ack.hops = &hop;
      ack.num_hops = 1;
      ack.pint_code = static_cast<std::uint8_t>(below(256));
      flow.on_ack(settings, kLine, ack);
    }
    inspect(flow);
  }
}

/// A sender that always fills its window, and one acknowledgement a packet.
template <class Cc>
struct Sender {
  Cc::Settings settings;
  packet::Line line = kLine;
  Cc flow = Cc::make(settings, line, 0);
  packet::Time now = 0;
  std::uint64_t acked_to = 0;
  std::uint64_t sent_to = flow.window_bytes();

  void ack(bool marked = false, packet::Time rtt = kLine.base_rtt) {
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

/// No signal takes a window below a packet, or to a part of one.
template <class Cc>
void windows_stay_whole() {
  abuse<Cc>({}, [](const Cc& flow) {
    check(flow.window_bytes() >= kLine.payload_bytes, "less than a packet");
    check(flow.window_bytes() % kLine.payload_bytes == 0, "not whole packets");
    check(flow.rate_bps() > 0 && flow.rate_bps() <= kLine.rate_bps, "rate out of bounds");
  });
}

}  // namespace netloom::test
