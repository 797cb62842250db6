// Input-queued switches: a port serves the links that packets came by in turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/packet.hpp"

namespace netloom::packet {

/// What waits for each port and lane, apart for each link it came by (virtual output queues), one
/// packet of each in turn.
class InputTurns {
 public:
  /// `targets` is the vertex that each link leads to.
  void set_up(const std::vector<std::int32_t>& targets, std::size_t num_queues) {
    std::vector<std::uint32_t> links_into;
    place_.reserve(targets.size());
    for (const std::int32_t target : targets) {
      const auto vertex = static_cast<std::size_t>(target);
      links_into.resize(std::max(links_into.size(), vertex + 1));
      place_.push_back(links_into[vertex]++);
      num_places_ = std::max<std::size_t>(num_places_, links_into[vertex]);
    }
    lines_.resize(num_queues * num_places_);
  }

  [[nodiscard]] bool empty() const { return num_places_ == 0; }

  void append(PacketPool& pool, std::size_t queue, Index index) {
    Line& line = line_of(queue, place(pool[index]));
    if (line.head == kNone) {
      line.head = index;
    } else {
      pool[line.tail].next = index;
    }
    line.tail = index;
  }

  /// Takes the packet at the head of its line away; returns whose turn is next, kNone: no turn.
  Index take(const PacketPool& pool, std::size_t queue, Index index) {
    const std::size_t turn = place(pool[index]);
    Line& line = line_of(queue, turn);
    line.head = pool[index].next;
    for (std::size_t step = 1; step <= num_places_; ++step) {
      const Line& next = line_of(queue, (turn + step) % num_places_);
      if (next.head != kNone) {
        return next.head;
      }
    }
    return kNone;
  }

  /// The first of each line of a queue; kNone where it is empty.
  template <class Visit>
  void each_line(std::size_t queue, Visit visit) const {
    for (std::size_t at = 0; at < num_places_; ++at) {
      visit(lines_[queue * num_places_ + at].head);
    }
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(lines_);
  }

 private:
  struct Line {
    Index head = kNone;
    Index tail = kNone;
  };

  [[nodiscard]] std::size_t place(const Packet& packet) const {
    return packet.came_by == kNone ? 0 : place_[packet.came_by];  // kNone: an endpoint's own
  }

  [[nodiscard]] Line& line_of(std::size_t queue, std::size_t at) {
    return lines_[queue * num_places_ + at];
  }

  std::vector<std::uint32_t> place_;  ///< Of each link, among those into the same vertex.
  std::size_t num_places_ = 0;        ///< Of a queue; 0 where ports do not take turns.
  std::vector<Line> lines_;           ///< Of each queue and place.
};

}  // namespace netloom::packet
