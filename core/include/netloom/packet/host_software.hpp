// Endpoints whose software moves the bytes: a port goes no faster than a processor copies.
#pragma once

#include <algorithm>
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
      done_at_.resize(network.ports.size());
    }
  }

  /// A packet has been launched: the port is free again when the next one is copied.
  void push(std::uint32_t link, std::uint32_t size_bytes) {
    Port& port = net_.port(link);
    if (done_at_.empty() || port.uncontrolled) {
      return;
    }
    const Time copied = net_.now + time_of(size_bytes + net_.config.hosts.gap_bytes);
    port.busy_until = std::max(port.busy_until, copied);
  }

  /// Whether a packet that has arrived must wait; it arrives again, marked kStored, when its turn
  /// is over.
  [[nodiscard]] bool delays(std::uint32_t link, Index index) {
    Packet& packet = net_.pool[index];
    if (done_at_.empty() || packet.form != Form::kData || (packet.flags & kStored) != 0 ||
        net_.ports[link].uncontrolled) {
      return false;
    }
    packet.flags |= kStored;
    // The wire brought it in while software worked on the packets before it.
    const Time wire = net_.ports[link].time_of(packet.size_bytes + net_.config.hosts.gap_bytes);
    const Time begin = std::max(done_at_[link], net_.now - wire);
    done_at_[link] =
        std::max(net_.now, begin + time_of(packet.size_bytes + net_.config.hosts.gap_bytes));
    net_.events.push(done_at_[link], Kind::kStored, link, index);
    return true;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(done_at_);
  }

 private:
  [[nodiscard]] Time time_of(std::uint32_t bytes) const {
    const double exact = static_cast<double>(bytes) * ps_per_byte_;
    const auto whole = static_cast<Time>(exact);
    return static_cast<double>(whole) < exact ? whole + 1 : whole;  // rounded up, as on a wire
  }

  Network& net_;
  double ps_per_byte_ = 0;
  std::vector<Time> done_at_;  ///< Of each link as ingress; none without a limit.
};

}  // namespace netloom::packet
