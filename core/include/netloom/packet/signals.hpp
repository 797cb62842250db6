// What a sender knows of its path and hears from it.
#pragma once

#include <cstdint>
#include <limits>

namespace netloom::packet {

/// Picoseconds since the run began.
using Time = std::int64_t;

constexpr Time kNever = std::numeric_limits<Time>::max();

/// What one switch port wrote into a packet (in-band telemetry, HPCC).
struct Hop {
  Time when;                  ///< When the packet left the port.
  std::uint64_t sent_bytes;   ///< Bytes the port had sent by then.
  std::uint32_t queue_bytes;  ///< Bytes that waited behind it.
  double rate_bps;            ///< The port's line rate.
};

/// What a sender knows of its path before it sends.
struct Line {
  double rate_bps = 0.0;  ///< Of its own port.
  Time base_rtt = 0;      ///< A full packet out and its acknowledgement back, empty network.
  std::uint32_t payload_bytes = 0;  ///< In a full packet.
  std::uint32_t packet_bytes = 0;   ///< A full packet with headers, as it occupies a buffer.
  bool trims = false;               ///< Whether switches trim instead of drop.
  std::uint32_t nic_ps =
      0;  ///< From a GPU to the cable of a NIC that it shares, where the clock stands.
};

/// One acknowledgement, as it reaches the sender.
struct Ack {
  Time now = 0;
  Time rtt = 0;                   ///< From the acknowledged packet's departure until now.
  std::uint32_t acked_bytes = 0;  ///< Payload newly acknowledged.
  std::uint64_t acked_to = 0;  ///< Payload bytes acknowledged without a gap, from the flow's start.
  std::uint64_t sent_to = 0;   ///< Payload bytes sent; less again when a sender goes back.
  std::int64_t in_flight_bytes = 0;  ///< Payload; below 0 if what has arrived was taken for lost.
  std::uint8_t times_sent = 1;       ///< The packet that it answers; 0: that was not waited for.
  bool marked = false;               ///< Congestion experienced.
  const Hop* hops = nullptr;         ///< Telemetry; null without.
  std::uint8_t num_hops = 0;
  std::uint8_t pint_code = 0;  ///< Largest of the path (cc/pint.hpp); 0 without.
};

/// A connection that is given a message after a silence.
struct Idle {
  Time lasted;   ///< Since its last departure.
  Time timeout;  ///< The transport's, 0 for none.
};

}  // namespace netloom::packet
