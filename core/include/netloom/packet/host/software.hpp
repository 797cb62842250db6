// Endpoints whose software moves the bytes: a port goes no faster than a processor copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// A copy through host memory each way: at most `host_rate_bps` of data leave a port, and what
/// arrives is processed in order at that rate before it is answered. Answers are not copied.
class HostSoftware {
 public:
  explicit HostSoftware(Network& network)
      : net_(network) {
    if (network.config.hosts.host_rate_bps > 0) {
      ps_per_byte_ = static_cast<double>(kBitPs) / network.config.hosts.host_rate_bps;
      done_at_.resize(network.ports.size() + network.config.topology.num_vertices);
      free_at_.resize(done_at_.size());
    }
  }

  /// A packet of `flow` has been launched: the port is free again when the next one is copied.
  void push(std::uint32_t link, std::uint32_t flow, std::uint32_t size_bytes) {
    Port& port = net_.port(link);
    if (done_at_.empty() || local(flow)) {
      return;
    }
    Time& free_at = free_at_[place(link, port.target)];
    free_at = std::max(free_at, net_.now) + time_of(size_bytes + net_.config.hosts.gap_bytes);
    port.busy_until = std::max(port.busy_until, free_at);
  }

  /// Whether a packet that has arrived must wait; it arrives again, marked kStored, when its turn
  /// is over.
  [[nodiscard]] bool delays(std::uint32_t link, Index index) {
    Packet& packet = net_.pool[index];
    if (done_at_.empty() || packet.form != Form::kData || (packet.flags & kStored) != 0 ||
        local(packet.flow)) {
      return false;
    }
    packet.flags |= kStored;
    // The wire brought it in while software worked on the packets before it.
    const Time wire = net_.ports[link].time_of(packet.size_bytes + net_.config.hosts.gap_bytes);
    Time& done_at =
        done_at_[place(link, static_cast<std::uint32_t>(net_.config.topology.source[link]))];
    const Time begin = std::max(done_at, net_.now - wire);
    done_at = std::max(net_.now, begin + time_of(packet.size_bytes + net_.config.hosts.gap_bytes));
    net_.events.push(done_at, Kind::kStored, link, index);
    return true;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(done_at_);
    archive(free_at_);
  }

 private:
  /// What stays on scale-up links passes no software; what takes one to a shared NIC does.
  [[nodiscard]] bool local(std::uint32_t flow) const {
    const auto& all = net_.config.work.local;
    return !all.empty() && all[flow] != 0;
  }

  /// A port of its own, or the NIC that it shares with others: one processor serves it.
  [[nodiscard]] std::size_t place(std::uint32_t link, std::uint32_t nic) const {
    return net_.ports[link].uncontrolled ? net_.ports.size() + nic : link;
  }

  [[nodiscard]] Time time_of(std::uint32_t bytes) const {
    const double exact = static_cast<double>(bytes) * ps_per_byte_;
    const auto whole = static_cast<Time>(exact);
    return static_cast<double>(whole) < exact ? whole + 1 : whole;  // rounded up, as on a wire
  }

  Network& net_;
  double ps_per_byte_ = 0;
  std::vector<Time> done_at_;  ///< Of each place as ingress; none without a limit.
  std::vector<Time> free_at_;  ///< The same as egress.
};

}  // namespace netloom::packet
