// What tells a TCP sender of losses beside three later arrivals: RACK-TLP (RFC 8985).
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/config.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// What a connection knows of its answers in time.
struct Rack {
  Time sent = 0;         ///< The last departure of which is known that it arrived (RACK.xmit_ts).
  Time rtt = 0;          ///< What its answer took (RACK.rtt).
  Time smooth_rtt = 0;   ///< RFC 6298; 0 before the first answer.
  Time began_at = 0;     ///< When the timer was last begun: with news, or new data that left.
  Time probe_sent = -1;  ///< When the probe left, if it repeated a packet.
  std::uint64_t recover_to =
      0;                    ///< Recovery lasts until so much is acknowledged; 0: there is none.
  bool probed = false;      ///< Since the last news (TLP.end_seq).
  bool disordered = false;  ///< What was sent once came late (RACK.reordering_seen).

  /// Sections 6.2, steps 1 and 2; 7.2.
  void on_answer(Time departed, Time now) {
    const Time took = now - departed;
    if (departed >= sent) {
      sent = departed;
      rtt = took;
    }
    smooth_rtt = smooth_rtt == 0 ? took : (7 * smooth_rtt + took) / 8;
  }

  /// Where a connection stands after an answer: a loss begins recovery, which lasts until all is
  /// acknowledged that was sent by then (RFC 6675, section 5).
  void on_progress(bool lost, std::uint64_t acked_to, std::uint64_t sent_to) {
    if (lost && recover_to == 0) {
      recover_to = sent_to;
    }
    if (acked_to >= recover_to) {
      recover_to = 0;
    }
  }

  /// All that is out is taken for lost (RFC 6675, section 5.1).
  void on_timeout(std::uint64_t sent_to) { recover_to = sent_to; }

  [[nodiscard]] bool recovers() const { return recover_to != 0; }

  /// By how much what left earlier may come later: not at all in recovery, unless the network was
  /// seen to reorder (section 6.2, step 4, without its growth by DSACKs).
  [[nodiscard]] Time reordering(Time base_rtt) const {
    return recovers() && !disordered ? 0 : base_rtt / 4;
  }

  /// For how long a packet is out, at most, that is not lost (step 5): what left after the last
  /// that has arrived is not.
  [[nodiscard]] Time lost_after(Time base_rtt, Time now) const {
    return std::max(rtt + reordering(base_rtt), now - sent);
  }

  /// Whether silence is answered with a probe before it is with a timeout: once, and neither in
  /// recovery nor before a round trip is known (section 7.2).
  [[nodiscard]] bool may_probe() const { return !probed && !recovers() && smooth_rtt != 0; }

  /// The silence after which that is (section 7.2).
  [[nodiscard]] Time probe_after(const HostSettings& settings, bool one_packet) const {
    const auto rtts = static_cast<Time>(settings.probe_rtts * static_cast<double>(smooth_rtt));
    return rtts + settings.probe_margin_ps + (one_packet ? settings.ack_delay_ps : 0);
  }
};

}  // namespace netloom::packet
