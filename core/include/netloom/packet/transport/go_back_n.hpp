// Reliable connection as RDMA NICs have it: order or nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/config.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

/// Go-back-N (InfiniBand vol. 1, section 9.7; recalled. HPCC-ns3 rdma-hw.cc).
///
/// The receiver takes packets in order only. The first one out of order draws a NAK, the rest are
/// dropped until the gap closes or `nack_interval_ps` is over, two round trips of the empty path at
/// least: the sender starts again at the gap, and on each report of it.
class GoBackN {
 public:
  static constexpr bool kPulls = false;
  static constexpr bool kNaksTellRoundTrips = true;  // by congestion control: HPCC-ns3 ReceiveAck

  explicit GoBackN(const HostSettings& settings)
      : settings_(settings) {}

  struct Sender {
    std::uint64_t acked = 0;
    std::uint64_t next = 0;
    std::uint64_t highest = 0;
  };

  struct Receiver {
    std::uint64_t expected = 0;
    Time nacked_at = -1;  ///< -1: not since the last packet in order.
    Time nack_again = 0;  ///< After which the same gap is reported again; 0: never.
  };

  static void open(Sender& /*sender*/) {}

  /// A gap that a report has reached is closed a round trip after it, and what waits on the way.
  void open(Receiver& receiver, Time base_rtt) const {
    const Time own = settings_.nack_interval_ps;
    receiver.nack_again = own == 0 ? 0 : std::max(own, kGapRtts * base_rtt);
  }

  static void close(Sender& /*sender*/) {}

  static void close(Receiver& /*receiver*/) {}

  [[nodiscard]] static bool has_work(const Sender& sender, const Extent& extent) {
    return sender.next < extent.size_bytes;
  }

  [[nodiscard]] static std::uint64_t in_flight(const Sender& sender, const Extent& /*extent*/) {
    return sender.next - sender.acked;
  }

  /// Whether a packet is out that may have to be sent again.
  [[nodiscard]] static bool is_waiting(const Sender& sender) { return sender.next != sender.acked; }

  [[nodiscard]] static std::uint64_t acked_to(const Sender& sender, const Extent& /*extent*/) {
    return sender.acked;
  }

  /// What was sent beyond a gap counts as unsent again.
  [[nodiscard]] static std::uint64_t sent_to(const Sender& sender, const Extent& /*extent*/) {
    return sender.next;
  }

  /// Whether all has been sent at least once.
  [[nodiscard]] static bool all_sent(const Sender& sender, const Extent& extent) {
    return sender.highest >= extent.size_bytes;
  }

  [[nodiscard]] static bool finished(const Sender& sender, const Extent& extent) {
    return sender.acked >= extent.size_bytes;
  }

  static Segment take(Sender& sender, const Extent& extent) {
    const std::uint64_t left = extent.size_bytes - sender.next;
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, extent.payload_bytes));
    const Segment segment{
        .offset = sender.next,
        .payload_bytes = bytes,
        .number = static_cast<std::uint32_t>(sender.next / extent.payload_bytes),
        .again = sender.next < sender.highest,
    };
    sender.next += bytes;
    sender.highest = std::max(sender.highest, sender.next);
    return segment;
  }

  static News on_ack(Sender& sender, const Extent& /*extent*/, const Packet& ack) {
    News news;
    if (ack.offset > sender.acked) {
      news.acked_bytes = static_cast<std::uint32_t>(ack.offset - sender.acked);
      sender.acked = ack.offset;
      sender.next = std::max(sender.next, sender.acked);
    }
    return news;
  }

  static News on_nack(Sender& sender, const Extent& extent, const Packet& nack) {
    News news = on_ack(sender, extent, nack);
    if (nack.offset == sender.acked) {  // an older one says nothing new
      news.lost_bytes = static_cast<std::uint32_t>(sender.next - sender.acked);
      sender.next = sender.acked;
    }
    return news;
  }

  static void on_timeout(Sender& sender, const Extent& /*extent*/) { sender.next = sender.acked; }

  static Receipt on_data(Receiver& receiver,
                         const Extent& /*extent*/,
                         const Packet& packet,
                         Time now) {
    if (packet.offset == receiver.expected) {
      receiver.expected += packet.payload_bytes;
      receiver.nacked_at = -1;
      return {.reply = Reply::kMaybe, .new_bytes = packet.payload_bytes, .disordered = false};
    }
    if (packet.offset < receiver.expected) {
      return {.reply = Reply::kAck, .new_bytes = 0, .disordered = false};
    }
    const bool told = receiver.nacked_at >= 0 &&
                      (receiver.nack_again == 0 || now - receiver.nacked_at < receiver.nack_again);
    if (!told) {
      receiver.nacked_at = now;
    }
    return {.reply = told ? Reply::kNothing : Reply::kNack, .new_bytes = 0, .disordered = true};
  }

  /// Nothing comes late: what is out of order is dropped.
  [[nodiscard]] static bool has_before(const Receiver& /*receiver*/, std::uint32_t /*number*/) {
    return true;
  }

  [[nodiscard]] static bool complete(const Receiver& receiver, const Extent& extent) {
    return receiver.expected >= extent.size_bytes;
  }

  /// What an answer says when all has arrived.
  [[nodiscard]] static std::uint64_t end_of(const Extent& extent) { return extent.size_bytes; }

  /// Writes what has arrived into an answer.
  static void report(const Receiver& receiver, Packet& answer) {
    answer.offset = receiver.expected;
  }

  template <class Archive>
  void visit(Archive& /*archive*/) {}

 private:
  static constexpr Time kGapRtts = 2;  // assumed: as much again in queues as the empty way takes

  const HostSettings& settings_;
};

}  // namespace netloom::packet
