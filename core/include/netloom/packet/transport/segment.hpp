// What transports exchange with the endpoint that runs them.
#pragma once

#include <cstdint>

#include "netloom/packet/packet.hpp"

namespace netloom::packet {

/// A piece of a transfer that may be sent now.
struct Segment {
  std::uint64_t offset;
  std::uint32_t payload_bytes;
  std::uint32_t number;
  bool again;  ///< Sent before.
};

/// What an answer told the sender.
struct News {
  std::uint32_t acked_bytes = 0;  ///< Newly.
  std::uint32_t lost_bytes = 0;   ///< Newly known.
  std::uint8_t times_sent = 1;    ///< The packet that it answers; 0: that was not waited for.
};

/// A packet that is out.
struct Awaited {
  std::uint32_t number;
  Time age;               ///< Since it last left.
  std::uint16_t entropy;  ///< By which path.
};

/// What an arrival calls for.
enum class Reply : std::uint8_t { kNothing, kMaybe, kAck, kNack };

/// What an arrival was.
struct Receipt {
  Reply reply = Reply::kNothing;  ///< kMaybe: an acknowledgement, when enough has come in.
  std::uint32_t new_bytes = 0;
  bool disordered = false;
  bool redundant = false;  ///< Sent in case others are lost, and not a repetition.
};

/// One transfer as its transport sees it.
struct Extent {
  std::uint64_t size_bytes;
  std::uint32_t payload_bytes;  ///< Of a full packet.

  [[nodiscard]] std::uint32_t num_packets() const {
    return static_cast<std::uint32_t>((size_bytes + payload_bytes - 1) / payload_bytes);
  }

  [[nodiscard]] std::uint32_t bytes_of(std::uint32_t number) const {
    const std::uint64_t begin = std::uint64_t{number} * payload_bytes;
    const std::uint64_t left = size_bytes - begin;
    return left < payload_bytes ? static_cast<std::uint32_t>(left) : payload_bytes;
  }
};

}  // namespace netloom::packet
