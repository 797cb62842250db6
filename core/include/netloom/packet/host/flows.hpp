// What the two ends of a flow remember.
#pragma once

#include <cstdint>

#include "netloom/packet/cc/controllers.hpp"
#include "netloom/packet/packet.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

enum class FlowState : std::uint8_t { kNotStarted, kIdle, kReady, kPaced, kDone };

/// The sending end of a flow.
template <class Transport>
struct Outgoing {
  cc::Allowance allowed;  ///< By congestion control; of the flow that keeps its connection's.
  Line line{};
  Transport::Sender sender{};
  Time pace_at = 0;
  Time alarm_at = 0;                   ///< The alarm that counts, while paced.
  Time timer_at = kNever;              ///< The timer event that counts.
  Time deadline = kNever;              ///< Of the oldest packet in flight.
  Time timeout_at = kNever;            ///< The timeout event that counts.
  std::uint64_t window = 0;            ///< The transport's own bound.
  std::uint64_t ack_requested_to = 0;  ///< Up to where an answer was asked for.
  std::uint32_t link = kNone;
  std::uint32_t after = kNone;  ///< The next message of its connection.
  std::uint16_t last_entropy = 0;
  std::uint16_t next_entropy = 0;
  std::uint16_t paced_bytes = 0;   ///< On the wire, of the packet that `pace_at` follows.
  std::uint8_t doublings = 0;      ///< Of the timeout, since the last news.
  std::uint8_t idle_timeouts = 0;  ///< Timeouts with nothing out, since the last answer.
  FlowState state = FlowState::kNotStarted;
  bool probe_due = false;  ///< A packet is to leave whatever the window is.
  bool local = false;      ///< Stays on scale-up links, which have no congestion control.
  bool many = false;       ///< Sprays over several ports: `link` is that of the next packet.
  bool drawn = false;      ///< The next packet has its entropy.
  bool behind = false;     ///< The message before it has not been sent yet.
};

/// The receiving end of a flow.
template <class Transport>
struct Incoming {
  Transport::Receiver receiver{};
  Time notified_at = -1;
  std::uint32_t link = kNone;  ///< Answers leave by it.
  std::uint32_t unanswered_bytes = 0;
  std::uint32_t seen_to = 0;  ///< One past the last packet that has come.
  bool open = false;
  bool answered = false;     ///< Something that came in was.
  bool asked = false;        ///< For an answer, once nothing before the last packet is missing.
  bool owes_notice = false;  ///< Marked within the interval after the last notification.
  bool complete = false;
  bool closed = false;
};

}  // namespace netloom::packet
