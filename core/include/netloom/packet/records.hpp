// What a run writes down: totals, pauses, departures, samples.
#pragma once

#include <cstdint>

#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// Totals of a run.
struct Counters {
  std::uint64_t events = 0;
  std::uint64_t looks = 0;  ///< Of these, samples and looks for deadlocks: nothing moves by them.
  std::uint64_t link_traversals = 0;
  std::uint64_t data_packets = 0;       ///< Left a sender, retransmissions included.
  std::uint64_t delivered_packets = 0;  ///< Data that reached its endpoint, whole.
  std::uint64_t delivered_bytes = 0;    ///< Payload, first arrivals only.
  std::uint64_t marks = 0;
  std::uint64_t notifications = 0;
  std::uint64_t notices = 0;  ///< Sent by switches to sources of what waits in them.
  std::uint64_t relays = 0;   ///< Rates that an edge told the far end of a link.
  std::uint64_t drops = 0;    ///< No room in a buffer.
  std::uint64_t lost = 0;     ///< On a link: corrupted or cut.
  std::uint64_t trims = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t duplicates = 0;  ///< Data that arrived whole, and had arrived before.
  std::uint64_t reordered = 0;   ///< Data that arrived before data sent earlier.
  std::uint64_t timeouts = 0;
  std::uint64_t probes = 0;  ///< Last packets repeated after a short silence.
  std::uint64_t asks = 0;    ///< Senders that asked what had come.
  std::uint64_t pauses = 0;  ///< Lanes of links put to rest.
  std::uint64_t pause_frames = 0;
  std::uint64_t pause_ps = 0;  ///< Of pauses that are over.
  std::uint64_t credit_updates = 0;
  std::uint64_t credit_stalls = 0;  ///< Lanes that ran out of credit.
  std::uint64_t watchdogs = 0;
  std::uint64_t unroutable = 0;
  std::uint64_t deadlocks = 0;
};

/// Totals of deterministic networking, beside `Counters`.
struct TimingCounters {
  std::uint64_t metered = 0;      ///< Dropped: more than their stream may send.
  std::uint64_t replicated = 0;   ///< Copies made.
  std::uint64_t eliminated = 0;   ///< Copies dropped: the packet had come before.
  std::uint64_t too_late = 0;     ///< Dropped: older than the history of their stream.
  std::uint64_t preemptions = 0;  ///< Packets cut on the wire.
  std::uint64_t late_cycles = 0;  ///< Came after the cycle in which they were to be sent.
};

/// A stretch of time in which a lane of a link was paused.
struct PauseRecord {
  Time begin;
  Time end;  ///< -1 while it lasts.
  std::uint32_t link;
  std::uint32_t lane;
};

/// A departure.
struct TraceRecord {
  Time when;
  std::uint64_t offset;
  std::uint32_t link;
  std::uint32_t flow;
  std::uint32_t size_bytes;
  std::uint8_t form;
  std::uint8_t flags;
};

/// A watched link at one time.
struct SampleRecord {
  Time when;
  std::uint64_t sent_bytes;
  std::uint32_t link;
  std::uint32_t waiting_bytes;
  std::uint32_t paused;
};

}  // namespace netloom::packet
