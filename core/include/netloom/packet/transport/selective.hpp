// Selective repeat: whatever arrives is kept, whatever is missing is sent again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "netloom/packet/config.hpp"
#include "netloom/packet/transport/bit_rings.hpp"
#include "netloom/packet/transport/departures.hpp"
#include "netloom/packet/transport/segment.hpp"
#include "netloom/packet/transport/selective_ends.hpp"

namespace netloom::packet {

/// IRN (SIGCOMM 2018), UET's reliable unordered delivery, spray-capable NICs, and TCP with SACK.
///
/// They differ in what tells a loss: `disorder_packets` later arrivals (IRN 1, TCP 3; 0: none, for
/// sprayed packets overtake each other), a trimmed header, or time. A loss is inferred from
/// disorder once a packet; when its repetition is lost as well, time tells. With `kPulled`, data
/// beyond the first window is sent only as the receiver asks for it (NDP, UET's RCCC).
template <bool kPulled>
class SelectiveRepeat {
 public:
  static constexpr bool kPulls = kPulled;
  static constexpr bool kNaksTellRoundTrips =
      false;  // they tell of a trimmed packet, and of no round trip

  explicit SelectiveRepeat(const HostSettings& settings)
      : settings_(settings), rings_(settings.ring_packets) {}

  using Sender = SelectiveSender;
  using Receiver = SelectiveReceiver;

  void open(Sender& sender) {
    sender.arrived_ring = rings_.take();
    sender.lost_ring = rings_.take();
    if (dates()) {
      sender.departures = departures_.take();
    }
  }

  void open(Receiver& receiver, Time /*base_rtt*/) { receiver.ring = rings_.take(); }

  void close(Sender& sender) {
    rings_.give_back(sender.arrived_ring);
    rings_.give_back(sender.lost_ring);
    if (dates()) {
      departures_.give_back(sender.departures);
    }
  }

  void close(Receiver& receiver) { rings_.give_back(receiver.ring); }

  [[nodiscard]] bool has_work(const Sender& sender, const Extent& extent) const {
    if (kPulled && sender.sent_bytes >= sender.granted_bytes) {
      return false;
    }
    return sender.num_lost != 0 ||
           (sender.next < extent.num_packets() && sender.next - sender.acked < rings_.capacity());
  }

  /// What counts against a window: packets that are known to have arrived do not, also where it is
  /// not known which they are. Below 0 while some of these were taken for lost.
  [[nodiscard]] static std::int64_t in_flight(const Sender& sender, const Extent& extent) {
    return (std::int64_t{sender.in_flight} - sender.unnamed()) * extent.payload_bytes;
  }

  /// Whether a packet is out that may have to be sent again.
  [[nodiscard]] static bool is_waiting(const Sender& sender) { return sender.in_flight != 0; }

  /// Whether something is out, and nothing of it asks for an answer.
  [[nodiscard]] bool awaits_without_request(const Sender& sender) const {
    return is_waiting(sender) && !is_out_of(sender, rings_, sender.asking);
  }

  [[nodiscard]] static std::uint64_t acked_to(const Sender& sender, const Extent& extent) {
    return std::min(std::uint64_t{sender.acked} * extent.payload_bytes, extent.size_bytes);
  }

  [[nodiscard]] static std::uint64_t sent_to(const Sender& sender, const Extent& extent) {
    return std::min(std::uint64_t{sender.next} * extent.payload_bytes, extent.size_bytes);
  }

  /// Whether all has been sent at least once.
  [[nodiscard]] static bool all_sent(const Sender& sender, const Extent& extent) {
    return sender.next >= extent.num_packets();
  }

  [[nodiscard]] static bool finished(const Sender& sender, const Extent& extent) {
    return sender.acked >= extent.num_packets();
  }

  Segment take(Sender& sender, const Extent& extent) {
    const bool again = sender.num_lost != 0;
    const std::uint32_t number = again ? first_lost_of(sender, rings_) : sender.next++;
    if (again) {
      rings_.clear(sender.lost_ring, number);
      --sender.num_lost;
    }
    ++sender.in_flight;
    const std::uint32_t bytes = extent.bytes_of(number);
    sender.sent_bytes += bytes;
    return {
        .offset = std::uint64_t{number} * extent.payload_bytes,
        .payload_bytes = bytes,
        .number = number,
        .again = again,
    };
  }

  /// Notes that a packet leaves.
  void depart(Sender& sender, const Packet& packet) {
    sender.repeats |= (packet.flags & kAgain) != 0;
    sender.asking = (packet.flags & kAckRequested) != 0 ? packet.number : sender.asking;
    if (dates()) {
      departures_.note(sender.departures, sender.acked, packet.number, packet);
    }
  }

  /// Whether a packet is taken for lost when it has been out for long itself, whatever is heard of
  /// others: UET's rule, as of all whose answers stand for several packets (uet-htsim _send_times).
  [[nodiscard]] bool times_each() const { return settings_.ack_every_bytes != 0; }

  /// Takes for lost what has been out for longer than `most`; returns its payload.
  std::uint32_t lose_older(Sender& sender, const Extent& extent, Time most, Time now) {
    std::uint32_t bytes = 0;
    for (std::uint32_t number = sender.acked; number < sender.next; ++number) {
      if (departures_.age(sender.departures, number, now) > most) {
        bytes += lose(sender, extent, number);
        sender.judged = std::max(sender.judged, number + 1);  // once: it may have been repeated
      }
    }
    return bytes;
  }

  /// How long the first packet has been out of which nothing is known.
  [[nodiscard]] Time first_age(const Sender& sender, Time now) const {
    return departures_.age(sender.departures, sender.acked, now);
  }

  /// Whether a packet that was sent once is answered after one that was sent later (RFC 8985,
  /// section 6.2, step 3).
  [[nodiscard]] bool comes_late(const Sender& sender, const Packet& ack) const {
    return dates() && ack.number >= sender.acked && ack.number + 1 < sender.highest &&
           !rings_.test(sender.arrived_ring, ack.number) &&
           departures_.times(sender.departures, ack.number, ack.sent) == 1;
  }

  /// The packet that has been out for longest.
  [[nodiscard]] std::optional<Awaited> oldest(const Sender& sender, Time now) const {
    return oldest_of(sender, rings_, departures_, now);
  }

  News on_ack(Sender& sender, const Extent& extent, const Packet& ack) {
    News news;
    if (finished(sender, extent)) {
      return news;
    }
    hear(sender);
    if (times_each()) {
      news.times_sent = ack.form == Form::kProbeAck ? std::uint8_t{0} : times_sent(sender, ack);
    }
    const std::uint64_t before = std::uint64_t{sender.unnamed()} * extent.payload_bytes;
    std::uint64_t bits = ack.bits;
    while (bits != 0) {
      const std::uint32_t number =
          first_named(ack) + static_cast<std::uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
      news.acked_bytes += arrived(sender, extent, number);
    }
    for (; sender.acked < static_cast<std::uint32_t>(ack.offset); ++sender.acked) {
      news.acked_bytes += arrived(sender, extent, sender.acked);
      rings_.clear(sender.arrived_ring, sender.acked);
    }
    sender.highest = std::max(sender.highest, sender.acked);
    sender.num_told = std::max(sender.num_told, static_cast<std::uint32_t>(ack.offset >> 32U));
    const std::uint64_t total =
        news.acked_bytes + std::uint64_t{sender.unnamed()} * extent.payload_bytes;
    news.acked_bytes = static_cast<std::uint32_t>(total - std::min(total, before));
    news.lost_bytes = judge(sender, extent);
    return news;
  }

  News on_nack(Sender& sender, const Extent& extent, const Packet& nack) {
    if ((nack.flags & kReturned) != 0) {
      return on_return(sender, extent, nack);
    }
    News news = times_each() ? News{} : on_ack(sender, extent, nack);  // uet-htsim processNack
    if (nack.number >= sender.acked && nack.number < sender.next) {
      hear(sender);
      const std::uint32_t lost_bytes = lose(sender, extent, nack.number);
      sender.nacked_bytes += lost_bytes;
      news.lost_bytes += lost_bytes;
    }
    return news;
  }

  /// A switch sent the packet's header back: its receiver has not heard of it.
  ///
  /// Where receivers pull, it is sent again at once if nothing else is out and no pull is to come,
  /// and else waits for one (NDP's ndp.cpp, processRTS).
  News on_return(Sender& sender, const Extent& extent, const Packet& header) {
    News news;
    if (header.number >= sender.acked && header.number < sender.next) {
      news.lost_bytes = lose(sender, extent, header.number);
      sender.missed_bytes += news.lost_bytes;
    }
    const bool expects = sender.answered && sender.next < extent.num_packets();
    if (sender.in_flight == 0 && !expects) {
      allow_one(sender, extent);
    }
    return news;
  }

  void on_timeout(Sender& sender, const Extent& extent) {
    for (auto number = sender.acked; number < sender.next;
         number = next_expired(sender, settings_, number)) {
      sender.missed_bytes += lose(sender, extent, number);
    }
    allow_one(sender, extent);
  }

  /// Takes all that is out for lost.
  void lose_all(Sender& sender, const Extent& extent) {
    for (auto number = sender.acked; number < sender.next; ++number) {
      sender.missed_bytes += lose(sender, extent, number);
    }
  }

  /// The packet's time is over: it is taken for lost, alone (uet-htsim rtxTimerExpired).
  ///
  /// Where receivers pull, one packet a round trip asks for the rest (there: a request to send).
  void expire(Sender& sender, const Extent& extent, const Awaited& late, Time now, Time rtt) {
    sender.missed_bytes += lose(sender, extent, late.number);
    if (sender.allowed_one_at == kNever || now - sender.allowed_one_at >= rtt) {
      sender.allowed_one_at = now;
      allow_one(sender, extent);
    }
  }

  /// What the receiver is asked to grant in all, beside what it sees trimmed.
  [[nodiscard]] std::uint64_t demand(const Sender& sender,
                                     const Extent& extent,
                                     const Share& share) const {
    return settings_.first_window_lapses ? demand_of(sender, extent, share)
                                         : sender.whole_bytes(extent);
  }

  /// Sends the last packet again of which nothing was heard.
  void repeat_last(Sender& sender, const Extent& extent) {
    for (std::uint32_t number = sender.next; number-- > sender.acked;) {
      if (lose(sender, extent, number) != 0) {
        return;
      }
    }
  }

  void on_pull(Sender& sender, std::uint64_t granted_bytes) {
    hear(sender);
    sender.granted_bytes = std::max(sender.granted_bytes, granted_bytes - sender.lapsed_bytes);
  }

  Receipt on_data(Receiver& receiver, const Extent& extent, const Packet& packet, Time /*now*/) {
    receiver.asked_bytes = std::max(receiver.asked_bytes, packet.bits);
    if (packet.number < receiver.expected || rings_.test(receiver.ring, packet.number)) {
      return {.reply = Reply::kAck, .new_bytes = 0, .disordered = false};
    }
    if ((packet.flags & kTrimmed) != 0) {
      receiver.trimmed_bytes += extent.bytes_of(packet.number);
      return {.reply = Reply::kNack, .new_bytes = 0, .disordered = false};
    }
    rings_.set(receiver.ring, packet.number);
    ++receiver.num_received;
    const bool disordered = packet.number != receiver.expected;
    while (rings_.test(receiver.ring, receiver.expected)) {
      rings_.clear(receiver.ring, receiver.expected++);
    }
    const bool tell = disordered && settings_.disorder_packets != 0;
    return {
        .reply = tell ? Reply::kAck : Reply::kMaybe,
        .new_bytes = packet.payload_bytes,
        .disordered = disordered,
    };
  }

  /// Whether every packet before `number` has arrived.
  [[nodiscard]] static bool has_before(const Receiver& receiver, std::uint32_t number) {
    return receiver.expected >= number;
  }

  [[nodiscard]] static bool complete(const Receiver& receiver, const Extent& extent) {
    return receiver.expected >= extent.num_packets();
  }

  /// What an answer says when all has arrived.
  [[nodiscard]] std::uint64_t end_of(const Extent& extent) const {
    return told_of(settings_, extent.num_packets(), extent.num_packets());
  }

  void report(const Receiver& receiver, Packet& answer) const {
    answer.offset = told_of(settings_, receiver.expected, receiver.num_received);
    const std::uint32_t first = first_named(answer);
    const std::uint32_t end = receiver.expected + rings_.capacity();
    answer.bits = first + 64 <= receiver.expected ? 0 : rings_.from(receiver.ring, first);
    if (first + 64 > end) {  // the ring begins again
      answer.bits &= ~std::uint64_t{0} >> (first + 64 - end);
    }
  }

  template <class Archive>
  void visit(Archive& archive) {
    rings_.visit(archive);
    departures_.visit(archive);
  }

 protected:
  [[nodiscard]] BitRings& rings() { return rings_; }

 private:
  /// Whether it is noted when each packet leaves: also by RFC 8985, which judges by that.
  [[nodiscard]] bool dates() const { return times_each() || settings_.probe_rtts != 0; }

  /// The first answer ends a first window that lapses (uet-htsim stopSpeculating).
  void hear(Sender& sender) {
    if (kPulled && settings_.first_window_lapses && !sender.answered &&
        sender.granted_bytes > sender.sent_bytes) {
      sender.lapsed_bytes = sender.granted_bytes - sender.sent_bytes;
      sender.granted_bytes = sender.sent_bytes;
    }
    sender.answered = true;
  }

  [[nodiscard]] std::uint32_t first_named(const Packet& answer) const {
    return first_named_of(settings_, answer);
  }

  /// How often the packet that is answered was sent, if this answers the last time and it was
  /// waited for.
  [[nodiscard]] std::uint8_t times_sent(const Sender& sender, const Packet& ack) const {
    return is_out_of(sender, rings_, ack.number)
               ? departures_.times(sender.departures, ack.number, ack.sent)
               : std::uint8_t{0};
  }

  /// A packet may be sent unasked.
  static void allow_one(Sender& sender, const Extent& extent) {
    if (kPulled) {
      sender.granted_bytes =
          std::max(sender.granted_bytes, sender.sent_bytes + extent.payload_bytes);
    }
  }

  /// Notes an arrival; returns its payload if it is news.
  std::uint32_t arrived(Sender& sender, const Extent& extent, std::uint32_t number) {
    if (number < sender.acked || number >= sender.next ||
        rings_.test(sender.arrived_ring, number)) {
      return 0;
    }
    rings_.set(sender.arrived_ring, number);
    ++sender.num_named;
    sender.highest = std::max(sender.highest, number + 1);
    if (rings_.test(sender.lost_ring, number)) {
      rings_.clear(sender.lost_ring, number);
      --sender.num_lost;
    } else {
      --sender.in_flight;
    }
    return extent.bytes_of(number);
  }

  std::uint32_t lose(Sender& sender, const Extent& extent, std::uint32_t number) {
    if (rings_.test(sender.arrived_ring, number) || rings_.test(sender.lost_ring, number)) {
      return 0;
    }
    rings_.set(sender.lost_ring, number);
    ++sender.num_lost;
    --sender.in_flight;
    return extent.bytes_of(number);
  }

  std::uint32_t judge(Sender& sender, const Extent& extent) {
    std::uint32_t bytes = 0;
    if (settings_.disorder_packets == 0) {
      return bytes;
    }
    sender.judged = std::max(sender.judged, sender.acked);
    for (; sender.judged + settings_.disorder_packets < sender.highest; ++sender.judged) {
      bytes += lose(sender, extent, sender.judged);
    }
    return bytes;
  }

  const HostSettings& settings_;
  BitRings rings_;
  Departures departures_;
};

using Selective = SelectiveRepeat<false>;
using Pulled = SelectiveRepeat<true>;

}  // namespace netloom::packet
