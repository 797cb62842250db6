// What the two ends of a selective repeat remember.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "netloom/packet/config.hpp"
#include "netloom/packet/packet.hpp"
#include "netloom/packet/transport/bit_rings.hpp"
#include "netloom/packet/transport/departures.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

/// The sending end of a transfer.
struct SelectiveSender {
  std::uint32_t acked = 0;      ///< Packets before it have all arrived.
  std::uint32_t next = 0;       ///< Never sent.
  std::uint32_t in_flight = 0;  ///< Sent, neither acknowledged nor believed lost.
  std::uint32_t num_lost = 0;   ///< To be sent again.
  std::uint32_t num_named = 0;  ///< Known to have arrived, by their numbers.
  std::uint32_t num_told = 0;   ///< That have arrived, as their receiver counts.
  std::uint32_t highest = 0;    ///< One past the last packet known to have arrived.
  std::uint32_t judged = 0;     ///< Disorder has had its say on packets before it.
  std::uint32_t arrived_ring = kNone;
  std::uint32_t lost_ring = kNone;
  Departures::Ring departures;
  std::uint64_t sent_bytes = 0;     ///< Repetitions included.
  std::uint64_t granted_bytes = 0;  ///< May be sent, repetitions included.
  std::uint64_t lapsed_bytes = 0;   ///< Of the first window; grants count it all the same.
  std::uint64_t missed_bytes = 0;   ///< Taken for lost, and their receiver saw nothing of them.
  std::uint64_t nacked_bytes = 0;   ///< Their receiver saw the rest of them, and said so.
  Time allowed_one_at = kNever;     ///< When it last sent unasked, for want of an answer.
  Time mean_rtt = 0;                ///< Of packets, smoothed; 0 before the first.
  Time rtt_spread = 0;              ///< Of these, likewise.
  Time probe_at = kNever;           ///< When it asks what has come, if nothing is heard till then.
  std::uint32_t asking = kNone;     ///< The last packet that asked for an answer.
  bool answered = false;
  bool repeats = false;  ///< Something was sent again.

  /// To be granted in all for everything to be sent, beside what the receiver sees trimmed.
  [[nodiscard]] std::uint64_t whole_bytes(const Extent& extent) const {
    return extent.size_bytes + lapsed_bytes + missed_bytes;
  }

  /// Whether something arrived before what was sent before it.
  [[nodiscard]] bool has_gap() const { return highest > acked; }

  /// Packets that have arrived, of which it is not known which they are.
  [[nodiscard]] std::uint32_t unnamed() const { return num_told - std::min(num_told, num_named); }
};

/// The receiving end.
struct SelectiveReceiver {
  std::uint32_t expected = 0;
  std::uint32_t ring = kNone;
  std::uint32_t num_received = 0;
  std::uint64_t granted_bytes = 0;
  std::uint64_t asked_bytes = 0;    ///< By its sender.
  std::uint64_t trimmed_bytes = 0;  ///< Which it need not ask for.

  /// What is to be granted in all, as far as is known.
  [[nodiscard]] std::uint64_t wanted_bytes() const { return asked_bytes + trimmed_bytes; }
};

/// What an answer says beside the packets around the one that it answers: before which number all
/// have arrived and, where one answer stands for several packets, how many have (UET's rcvd_bytes;
/// uet-htsim processAck). IRN's and TCP's answers do not count.
inline std::uint64_t told_of(const HostSettings& settings,
                             std::uint32_t expected,
                             std::uint32_t num_received) {
  const std::uint64_t count = settings.ack_every_bytes != 0 ? num_received : 0;
  return count << 32U | expected;
}

/// The packet to be taken for lost after `number` when time is up.
///
/// IRN, which takes one later arrival for the sign of a loss, repeats the oldest and what later
/// ones have overtaken: the rest may only be late (section 3.1; recalled). The last, which is
/// assumed, lets a lost tail be told by disorder, where each would wait for a timeout of its own.
inline std::uint32_t next_expired(const SelectiveSender& sender,
                                  const HostSettings& settings,
                                  std::uint32_t number) {
  const bool overtaken = settings.disorder_packets != 1 || number + 1 < sender.highest;
  return overtaken ? number + 1 : std::max(number + 1, sender.next - 1);
}

/// What a sender may have in hand: a window that several flows of its port share.
struct Share {
  std::uint64_t window_bytes;
  std::uint32_t sharers;
};

/// What a sender whose first window lapses asks for: all, as far as its share of the window goes,
/// or a packet. What it has in hand comes off the window, not off its share (uet-htsim
/// computePullTarget).
inline std::uint64_t demand_of(const SelectiveSender& sender,
                               const Extent& extent,
                               const Share& share) {
  // The first window may be more than all of it, and yet lapse too soon: one packet more.
  const bool may_lapse = !sender.answered && sender.next < extent.num_packets();
  const std::uint64_t least = may_lapse ? sender.granted_bytes + extent.payload_bytes : 0;
  const std::uint64_t all = std::max(sender.whole_bytes(extent), least);
  const std::uint64_t hand =
      sender.granted_bytes - std::min(sender.granted_bytes, sender.sent_bytes);
  const std::uint64_t room =
      (share.window_bytes - std::min(share.window_bytes, hand)) / share.sharers;
  return std::min(all,
                  sender.granted_bytes + sender.lapsed_bytes - sender.nacked_bytes +
                      std::max<std::uint64_t>(room, extent.payload_bytes));
}

/// The packet that the first bit of an answer is about.
///
/// Where one answer stands for several packets, those up to the one that it answers or, if that
/// was marked or asked for it, those from it on (uet-htsim UecSink::sackBitmapBase); else those
/// around it.
inline std::uint32_t first_named_of(const HostSettings& settings, const Packet& answer) {
  if (settings.ack_every_bytes == 0) {
    return answer.number & ~63U;
  }
  if ((answer.flags & (kMarked | kAckRequested)) != 0) {
    return answer.number;
  }
  const auto expected = static_cast<std::uint32_t>(answer.offset);
  return std::max(answer.number - std::min(answer.number, 63U), expected + 1);
}

/// Whether a packet has been sent, and has neither arrived nor is believed lost.
inline bool is_out_of(const SelectiveSender& sender, const BitRings& rings, std::uint32_t number) {
  return number >= sender.acked && number < sender.next &&
         !rings.test(sender.arrived_ring, number) && !rings.test(sender.lost_ring, number);
}

/// The first packet that is to be sent again; there must be one.
inline std::uint32_t first_lost_of(const SelectiveSender& sender, const BitRings& rings) {
  std::uint32_t number = sender.acked;
  while (true) {
    const std::uint64_t bits =
        rings.word(sender.lost_ring, number) & (~std::uint64_t{0} << (number & 63U));
    if (bits != 0) {
      return (number & ~63U) + static_cast<std::uint32_t>(std::countr_zero(bits));
    }
    number = (number & ~63U) + 64;
  }
}

/// The packet that has been out for longest, of those that have neither arrived nor are lost.
inline std::optional<Awaited> oldest_of(const SelectiveSender& sender,
                                        const BitRings& rings,
                                        const Departures& departures,
                                        Time now) {
  std::optional<Awaited> found;
  for (std::uint32_t number = sender.acked; number < sender.next; number = (number | 63U) + 1) {
    std::uint64_t out =
        ~(rings.word(sender.arrived_ring, number) | rings.word(sender.lost_ring, number));
    out &= ~std::uint64_t{0} << (number & 63U);
    for (; out != 0; out &= out - 1) {
      const std::uint32_t one = (number & ~63U) + static_cast<std::uint32_t>(std::countr_zero(out));
      if (one >= sender.next) {
        break;
      }
      const Time age = departures.age(sender.departures, one, now);
      if (!found || age > found->age) {
        found = {.number = one, .age = age, .entropy = 0};
      }
    }
  }
  if (found) {
    found->entropy = departures.entropy(sender.departures, found->number);
  }
  return found;
}

}  // namespace netloom::packet
