// A packet, 64 bytes, and the pool that packets live in.
#pragma once

#include <cstdint>

#include "netloom/packet/memory/huge_pages.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

using Index = std::uint32_t;

constexpr Index kNone = 0xFFFFFFFFU;

/// The last two: a sender asks what has come, and is told.
enum class Form : std::uint8_t { kData, kAck, kNack, kCnp, kPull, kProbe, kProbeAck };

/// Bits of Packet::flags.
enum Flag : std::uint8_t {
  kMarked = 1,         ///< Congestion experienced; in an acknowledgement, its echo.
  kTrimmed = 2,        ///< Lost its payload in a switch.
  kLast = 4,           ///< Ends its transfer.
  kAgain = 8,          ///< Sent before.
  kAckRequested = 32,  ///< The sender can send no more before it is answered.
  kAtLastHop = 64,     ///< Trimmed by the switch that its receiver is at.
  kReturned = 128,     ///< A header that did not fit, on its way back.
  kStored = 16,  ///< All of it has come in, not its head alone (cut-through); software has seen it.
};

/// One packet. An acknowledgement is made of the packet that it answers, in the same place.
struct alignas(64) Packet {
  Time sent;             ///< When the data left its sender; echoed.
  std::uint64_t offset;  ///< Data: first payload byte. Answers: all bytes before it are here.
  std::uint64_t bits;    ///< Selective acknowledgement from `number` & ~63; pulls: granted; data:
                         ///< what the sender asks to be granted.
  std::uint32_t flow;
  std::uint32_t source;   ///< Vertex that sent it.
  std::uint32_t target;   ///< Vertex that it goes to.
  Index next;             ///< Behind it in a queue or on a link.
  std::uint32_t came_by;  ///< Link that brought it to the switch; on the way there, a guess at the
                          ///< link that it will leave by.
  std::uint32_t number;   ///< Of the data packet in its flow; echoed.
  std::uint32_t gap_low;
  std::uint16_t gap_high;
  std::uint16_t size_bytes;  ///< With headers, as it occupies a buffer.
  std::uint16_t payload_bytes;
  std::uint16_t entropy;  ///< Source port, or what it stands for.
  std::uint8_t lane;      ///< Queue of each port that it takes.
  Form form;
  std::uint8_t flags;
  std::uint8_t num_hops;  ///< Telemetry written so far; with PINT, the one byte that it is.

  /// Picoseconds by which the next packet on its link arrives after it; 48 bits, 281 s.
  [[nodiscard]] Time gap() const {
    return static_cast<Time>((std::uint64_t{gap_high} << 32U) | gap_low);
  }

  void set_gap(Time gap) {
    gap_low = static_cast<std::uint32_t>(gap);
    gap_high = static_cast<std::uint16_t>(gap >> 32);
  }
};

static_assert(sizeof(Packet) == 64);

/// Packets by index; memory follows the most that were ever in flight.
class PacketPool {
 public:
  /// Sets address space aside for `count` packets, so that they never move; memory it takes as they
  /// come.
  void reserve(std::size_t count) { packets_.reserve(count); }

  [[nodiscard]] Index take() {
    if (free_ == kNone) {
      packets_.push_back({});
      return static_cast<Index>(packets_.size() - 1);
    }
    const Index index = free_;
    free_ = packets_[index].next;
    --num_free_;
    return index;
  }

  void give_back(Index index) {
    packets_[index].next = free_;
    free_ = index;
    ++num_free_;
  }

  [[nodiscard]] Packet& operator[](Index index) { return packets_[index]; }

  [[nodiscard]] const Packet& operator[](Index index) const { return packets_[index]; }

  [[nodiscard]] std::size_t in_use() const { return packets_.size() - num_free_; }

  [[nodiscard]] std::size_t capacity() const { return packets_.size(); }

  template <class Archive>
  void visit(Archive& archive) {
    archive(packets_);
    archive(free_);
    archive(num_free_);
  }

 private:
  Large<Packet> packets_;
  Index free_ = kNone;
  std::size_t num_free_ = 0;
};

}  // namespace netloom::packet
