// Credit on its way back to a sender.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "netloom/packet/event_queue.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// Grants of one lane of a link, in order of arrival; the nodes are the pool's.
struct GrantList {
  std::uint32_t head = 0xFFFFFFFFU;
  std::uint32_t tail = 0xFFFFFFFFU;
  std::uint64_t awaited = 0;  ///< Order of the event that a stalled lane waits for; 0: none.
};

/// When a grant reaches its sender; `order` is that of an event which was pushed with it.
struct GrantArrival {
  Time at;
  std::uint64_t order;
};

/// Senders look at their credit when they send. No event brings a grant unless a lane waits for it;
/// it counts from the very place among all events where such an event would have stood.
class GrantPool {
 public:
  void add(GrantList& list, GrantArrival arrival, std::uint32_t blocks) {
    const std::uint32_t node = take();
    nodes_[node] = {.arrival = arrival, .blocks = blocks, .next = kNoNode};
    if (list.head == kNoNode) {
      list.head = list.tail = node;
    } else if (!is_before(arrival, nodes_[list.tail].arrival)) {
      nodes_[list.tail].next = node;
      list.tail = node;
    } else {
      insert_early(list, node);
    }
  }

  /// Removes the grants that have arrived, and returns their blocks.
  std::int32_t take_due(GrantList& list, Time now, std::uint64_t order) {
    std::int32_t blocks = 0;
    while (list.head != kNoNode &&
           !is_before({.at = now, .order = order}, nodes_[list.head].arrival)) {
      const std::uint32_t node = list.head;
      blocks += static_cast<std::int32_t>(nodes_[node].blocks);
      list.head = nodes_[node].next;
      nodes_[node].next = free_;
      free_ = node;
    }
    return blocks;
  }

  /// When the grants amount to `blocks`; nothing if they do not.
  [[nodiscard]] std::optional<GrantArrival> arrival_of(const GrantList& list,
                                                       std::int64_t blocks) const {
    for (std::uint32_t at = list.head; at != kNoNode; at = nodes_[at].next) {
      blocks -= nodes_[at].blocks;
      if (blocks <= 0) {
        return nodes_[at].arrival;
      }
    }
    return std::nullopt;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(nodes_);
    archive(free_);
  }

 private:
  static constexpr std::uint32_t kNoNode = 0xFFFFFFFFU;

  struct Node {
    GrantArrival arrival;
    std::uint32_t blocks;
    std::uint32_t next;
  };

  static bool is_before(const GrantArrival& a, const GrantArrival& b) {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  }

  std::uint32_t take() {
    if (free_ == kNoNode) {
      nodes_.push_back({});
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    return node;
  }

  /// Room that is free at once is granted before room that a packet still leaves.
  void insert_early(GrantList& list, std::uint32_t node) {
    std::uint32_t* place = &list.head;
    while (!is_before(nodes_[node].arrival, nodes_[*place].arrival)) {
      place = &nodes_[*place].next;
    }
    nodes_[node].next = *place;
    *place = node;
  }

  std::vector<Node> nodes_;
  std::uint32_t free_ = kNoNode;
};

}  // namespace netloom::packet
