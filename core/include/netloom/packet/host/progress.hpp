// Transfers that wait for others, and when each started and arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Transfers that wait for others, and when each started, arrived and was known to have arrived.
class Progress {
 public:
  explicit Progress(Network& network);

  /// Schedules the transfers that wait for nothing.
  void begin();

  void started(std::uint32_t flow) { start_ps[flow] = net_.now - send_ps(flow); }

  /// Whether the transfer sends nothing: computation, which ends when its delay is over.
  [[nodiscard]] bool computes(std::uint32_t flow) const {
    return net_.config.work.size_bytes[flow] == 0;
  }

  /// Ends a computation.
  void computed(std::uint32_t flow) {
    started(flow);
    arrived(flow);
    finished(flow);
  }

  /// Whether the flow stays on scale-up links or computes, and so passes no NIC and no stack.
  [[nodiscard]] bool local(std::uint32_t flow) const {
    const auto& all = net_.config.work.local;
    return computes(flow) || (!all.empty() && all[flow] != 0);
  }

  /// The last byte is here: those that wait for this one may go on.
  void arrived(std::uint32_t flow);

  void finished(std::uint32_t flow);

  [[nodiscard]] std::size_t unfinished() const { return unfinished_; }

  template <class Archive>
  void visit(Archive& archive) {
    archive(start_ps);
    archive(arrive_ps);
    archive(finish_ps);
    archive(left_);
    archive(unfinished_);
  }

  std::vector<Time> start_ps;
  std::vector<Time> arrive_ps;
  std::vector<Time> finish_ps;

 private:
  [[nodiscard]] Time send_ps(std::uint32_t flow) const {
    return local(flow) ? 0 : net_.config.hosts.send_ps;
  }

  void schedule(std::uint32_t flow, Time after);

  Network& net_;
  std::vector<std::uint32_t> left_;  ///< Transfers that each still waits for.
  std::vector<std::uint32_t> follow_begin_;
  std::vector<std::uint32_t> followers_;
  std::size_t unfinished_ = 0;
};

}  // namespace netloom::packet
