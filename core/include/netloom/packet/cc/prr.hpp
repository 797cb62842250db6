// Proportional rate reduction: how a cut is spread over the window that it is about (RFC 9937, and
// RFC 6937 before it; Linux tcp_cwnd_reduction).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

/// What a TCP sender may have in flight while a cut lasts: from the window before it down to the
/// one after it, packets leave in the proportion of these two to what is delivered; once less is in
/// flight than shall be, as many as are delivered, and one more for each answer that tells of
/// progress and of no further loss (sections 4 and 6).
class Reduction {
 public:
  /// The cut begins (section 6.1): of a window of `window_bytes`, `lost_bytes` are known to be
  /// lost. Until the first answer one packet may leave in their place, as in Linux when a timer
  /// tells of the loss (tcp_rack_reo_timeout).
  void begin(std::uint64_t window_bytes, std::uint32_t lost_bytes, const Line& line) {
    *this = {};
    lost_bytes_ = lost_bytes;
    const std::uint64_t kept = window_bytes - std::min<std::uint64_t>(window_bytes, lost_bytes);
    window_bytes_ = packets_within(static_cast<double>(kept) + line.payload_bytes, line);
  }

  void on_loss(std::uint32_t bytes) { lost_bytes_ += bytes; }

  /// Section 6.3.
  void on_sent(std::uint32_t bytes) { out_bytes_ += bytes; }

  /// An answer while the cut lasts, whose aim is `target_bytes` (section 6.2).
  void on_ack(const Ack& ack, std::uint64_t target_bytes, const Line& line) {
    if (ack.acked_bytes == 0) {
      return;
    }
    const bool safe = ack.acked_to > std::exchange(acked_to_, ack.acked_to) && lost_bytes_ == 0;
    const Flight flight = flight_of(ack);
    delivered_bytes_ += ack.acked_bytes;
    const std::uint64_t limit =
        flight.bytes > target_bytes
            ? beyond(due_bytes(target_bytes, line), flight.sent_bytes)
            : std::min(target_bytes - flight.bytes,
                       std::max<std::uint64_t>(beyond(delivered_bytes_, flight.sent_bytes),
                                               ack.acked_bytes) +
                           (safe ? line.payload_bytes : 0U));
    const bool none = flight.sent_bytes == 0 && limit < line.payload_bytes;  // fast retransmit
    window_bytes_ = packets_within(
        static_cast<double>(flight.bytes + (none ? line.payload_bytes : limit)), line);
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

 private:
  struct Flight {
    std::uint64_t bytes;       ///< In flight.
    std::uint64_t sent_bytes;  ///< Since the cut began: prr_out.
  };

  /// What is out, as of a stack that sends at once: what earlier answers let go and the line has
  /// not taken yet counts.
  Flight flight_of(const Ack& ack) {
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(ack.in_flight_bytes, 0));
    const std::uint64_t before = bytes + ack.acked_bytes + std::exchange(lost_bytes_, 0);
    const std::uint64_t waits = flight_bytes_ == 0 ? 0 : beyond(window_bytes_, before);
    flight_bytes_ = flight_bytes_ == 0 ? before : flight_bytes_;
    return {.bytes = bytes + waits, .sent_bytes = out_bytes_ + waits};
  }

  /// What may have left by now, in whole packets, in which Linux counts.
  [[nodiscard]] std::uint64_t due_bytes(std::uint64_t target_bytes, const Line& line) const {
    const std::uint64_t of = flight_bytes_ * line.payload_bytes;
    return (delivered_bytes_ * target_bytes + of - 1) / of * line.payload_bytes;
  }

  static std::uint64_t beyond(std::uint64_t all, std::uint64_t part) {
    return all - std::min(all, part);
  }

  std::uint64_t delivered_bytes_ = 0;  ///< Since the cut began: prr_delivered.
  std::uint64_t out_bytes_ = 0;        ///< Sent since then: prr_out.
  std::uint64_t flight_bytes_ = 0;     ///< When it began: RecoverFS; 0 before the first answer.
  std::uint64_t acked_to_ = 0;
  std::uint32_t lost_bytes_ = 0;  ///< Newly, since the last answer.
  std::uint32_t window_bytes_ = 0;
};

}  // namespace netloom::packet::cc
