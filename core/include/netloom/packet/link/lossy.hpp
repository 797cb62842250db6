// Best-effort Ethernet: a port's queue takes its share of the buffer, and drops or trims the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "netloom/packet/link/pfc.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Dynamic thresholds on egress (Choudhury and Hahne, ToN 1998; recalled), a fixed queue, or a
/// fixed buffer of each ingress link (input-queued switches), whichever port a packet waits for.
///
/// With `kTrims`, what does not fit loses its payload instead (NDP, SIGCOMM 2017): headers wait in
/// the control lane, which holds twice a data queue, as in htsim's CompositeQueue.
template <bool kTrims>
class Bounded {
 public:
  explicit Bounded(Network& network)
      : net_(network),
        by_input_(network.config.switches.ingress_bytes != 0),
        used_(by_input_ ? network.ports.size() : network.config.topology.num_vertices) {}

  [[nodiscard]] Verdict admit(std::uint32_t in, std::uint32_t out, const Packet& packet) {
    // What came from a GPU by a link of its node waits in the NIC, which loses nothing of its own.
    if (net_.ports[out].uncontrolled || net_.ports[in].uncontrolled || fits(in, out, packet)) {
      used(in) += packet.size_bytes;
      return Verdict::kTake;
    }
    return kTrims && packet.form == Form::kData && (packet.flags & kTrimmed) == 0 ? Verdict::kTrim
                                                                                  : Verdict::kDrop;
  }

  void depart(std::uint32_t in, const Packet& packet, Time /*leaves*/) {
    used(in) -= packet.size_bytes;
  }

  /// A packet that was taken loses `bytes` in its queue.
  void shrink(std::uint32_t in, std::uint32_t bytes) { used(in) -= bytes; }

  void grow(std::uint32_t in, std::uint32_t bytes) { used(in) += bytes; }

  void handle(const Event& /*event*/) {}

  void prefetch(std::uint32_t /*in*/, const Packet& /*packet*/) const {}

  template <class Archive>
  void visit(Archive& archive) {
    archive(used_);
  }

 private:
  [[nodiscard]] std::int64_t& used(std::uint32_t in) {
    return used_[by_input_ ? in : net_.ports[in].target];
  }

  [[nodiscard]] bool fits(std::uint32_t in, std::uint32_t out, const Packet& packet) {
    const SwitchSettings& set = net_.config.switches;
    if (by_input_) {
      return used(in) + packet.size_bytes <= set.ingress_bytes;
    }
    const std::uint32_t vertex = net_.ports[in].target;
    const std::int64_t waiting = net_.queue(out, packet.lane).bytes + packet.size_bytes;
    const std::int64_t free = set.buffer_bytes[vertex] - used_[vertex];
    if (std::int64_t{packet.size_bytes} > free) {
      return false;
    }
    if (const std::int64_t most = set.queue_bytes[out]; most != 0) {
      const std::int64_t times = kTrims && packet.lane == kControl ? 2 : 1;
      return waiting <= most * times;
    }
    return waiting <= static_cast<std::int64_t>(set.alpha[out] * static_cast<double>(free));
  }

  Network& net_;
  bool by_input_;
  std::vector<std::int64_t> used_;  ///< Of each switch, or of each link as its ingress.
};

using Lossy = Bounded<false>;
using Trimming = Bounded<true>;

}  // namespace netloom::packet
