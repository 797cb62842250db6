// Flows that are ready to send, and which of several ports their packets take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Which of an endpoint's ports a packet takes, at its own end or the far one: counted round. A
/// sprayed packet's entropy decides, else its connection's turn.
[[nodiscard]] inline std::uint32_t turn_of(const Network& net,
                                           std::uint32_t flow,
                                           std::uint16_t entropy) {
  const auto& turns = net.config.work.turn;
  if (net.config.hosts.entropy != "fixed") {
    return entropy;
  }
  return turns.empty() ? 0 : turns[flow];
}

/// Flows that are ready to send, by port and lane, in turn.
class ReadyFlows {
 public:
  ReadyFlows(std::size_t num_links, std::uint32_t num_lanes, std::size_t num_flows)
      : num_lanes_(num_lanes),
        rings_(num_links * num_lanes),
        lanes_(num_links),
        sending_(num_links),
        sizes_(num_links),
        next_(num_flows) {}

  void append(std::uint32_t link, std::uint8_t lane, std::uint32_t flow) {
    Ring& ring = rings_[link * num_lanes_ + lane];
    ++sizes_[link];
    next_[flow] = kNone;
    if (ring.head == kNone) {
      ring.head = flow;
      lanes_[link] |= static_cast<std::uint16_t>(1U << lane);
    } else {
      next_[ring.tail] = flow;
    }
    ring.tail = flow;
  }

  /// The flow whose packet is leaving goes to the end of the line when that has left (`advance`):
  /// those that become ready meanwhile stand before it.
  void append_after_sending(std::uint32_t link, std::uint8_t lane, std::uint32_t flow) {
    sending_[link] = {.flow = flow, .lane = lane};
    ++sizes_[link];
    lanes_[link] |= static_cast<std::uint16_t>(1U << lane);
  }

  /// The port is free again.
  void advance(std::uint32_t link) {
    if (const Sending sending = sending_[link]; sending.flow != kNone) {
      sending_[link].flow = kNone;
      --sizes_[link];
      append(link, static_cast<std::uint8_t>(sending.lane), sending.flow);
    }
  }

  /// Lanes of the port in which a flow is ready.
  [[nodiscard]] std::uint16_t lanes(std::uint32_t link) const { return lanes_[link]; }

  /// Flows of the port that are ready, the one whose packet is leaving included.
  [[nodiscard]] std::uint32_t size(std::uint32_t link) const { return sizes_[link]; }

  [[nodiscard]] std::uint32_t first(std::uint32_t link, std::uint8_t lane) const {
    const std::uint32_t head = rings_[link * num_lanes_ + lane].head;
    return head != kNone ? head : sending_[link].flow;
  }

  std::uint32_t take(std::uint32_t link, std::uint8_t lane) {
    Ring& ring = rings_[link * num_lanes_ + lane];
    const std::uint32_t flow = ring.head;
    --sizes_[link];
    ring.head = next_[flow];
    if (ring.head == kNone) {
      lanes_[link] &= static_cast<std::uint16_t>(~(1U << lane));
    }
    return flow;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(rings_);
    archive(lanes_);
    archive(sending_);
    archive(sizes_);
    archive(next_);
  }

 private:
  struct Ring {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };

  struct Sending {
    std::uint32_t flow = kNone;
    std::uint32_t lane = 0;
  };

  std::uint32_t num_lanes_;
  std::vector<Ring> rings_;
  std::vector<std::uint16_t> lanes_;
  std::vector<Sending> sending_;
  std::vector<std::uint32_t> sizes_;  ///< Ready flows of each link.
  std::vector<std::uint32_t> next_;
};

}  // namespace netloom::packet
