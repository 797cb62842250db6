// Packets cut on the wire by others that may not wait (IEEE 802.1Qbu, 802.3br).
#pragma once

#include <cstdint>

#include "netloom/packet/packet.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

// Bytes of a cut packet, as recalled from IEEE 802.3br: each piece but the last ends in a check
// sum of 4, each has a preamble of 8 before and a gap of 12 behind it. A piece has 64 bytes at
// least, so that a packet shorter than 124 is never cut, and nothing waits for more than 143.
constexpr std::int64_t kPreambleBytes = 8;
constexpr std::int64_t kPieceGapBytes = 12;
constexpr std::int64_t kPieceCheckBytes = 4;
constexpr std::int64_t kLeastPieceBytes = 64;

/// A packet that may be cut, while it is sent or waits for its rest to be.
struct CutPacket {
  Index packet = kNone;
  Time began = 0;  ///< When the piece that is sent began.
  std::int64_t left =
      0;  ///< Bytes of it that are not out, from that piece on, less preamble and gap.
  bool sending = false;  ///< False: its rest waits.

  /// Bytes from the beginning of the piece until it can end, if it can; 0: it cannot.
  ///
  /// `sent` are bytes since the piece began, its preamble included.
  [[nodiscard]] std::int64_t cut_after(std::int64_t sent) const {
    constexpr std::int64_t kLeastSent = kPreambleBytes + kLeastPieceBytes - kPieceCheckBytes;
    const std::int64_t at = sent < kLeastSent ? kLeastSent : sent;
    return left - (at - kPreambleBytes) >= kLeastPieceBytes ? at : 0;
  }
};

}  // namespace netloom::packet
