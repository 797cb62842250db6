// Lossless Ethernet: shared buffer, dynamic thresholds on ingress, pauses and headroom.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "netloom/packet/memory/huge_pages.hpp"
#include "netloom/packet/memory/prefetch.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

enum class Verdict : std::uint8_t { kTake, kDrop, kTrim };

/// The rules of HPCC-ns3's switch-mmu (alibaba-edu/High-Precision-Congestion-Control @9f4be2a).
///
/// Each ingress link and lane first fills its reserve, then the shared buffer up to alpha times
/// what is free of it, then its headroom. It pauses its peer when it reaches the threshold or uses
/// headroom, and lets it go on when the headroom is empty and `resume_bytes` fit under the
/// threshold. A packet leaves the account when its transmission begins. With `ingress_bytes`
/// nothing is shared: the threshold is that less the headroom. Links of a vertex with a pool take
/// their headroom from it, all together no more than it holds (Bai et al., NSDI 2023).
class Pfc {
 public:
  explicit Pfc(Network& network)
      : net_(network),
        by_input_(network.config.switches.ingress_bytes != 0),
        ingress_(network.queues.size()),
        free_(network.config.switches.buffer_bytes),
        pool_(free_.size(), kNoPool) {
    const SwitchSettings& set = net_.config.switches;
    for (std::size_t vertex = 0; vertex < set.pool_bytes.size(); ++vertex) {
      if (set.pool_bytes[vertex] != 0) {
        pool_[vertex] = set.pool_bytes[vertex];
        free_[vertex] -= pool_[vertex];
      }
    }
    for (std::size_t link = 0; link < net_.ports.size(); ++link) {
      const std::uint32_t vertex = net_.ports[link].target;
      const std::int64_t own = pool_[vertex] == kNoPool ? set.headroom_bytes[link] : 0;
      free_[vertex] -= (own + set.reserve_bytes) * (net_.num_lanes - 1);
      for (std::size_t lane = 0; lane < net_.num_lanes; ++lane) {
        ingress_[link * net_.num_lanes + lane].alpha =
            by_input_ ? static_cast<double>(set.ingress_bytes - set.headroom_bytes[link])
                      : set.alpha[link];
      }
    }
  }

  [[nodiscard]] Verdict admit(std::uint32_t in, std::uint32_t /*out*/, const Packet& packet) {
    if (packet.lane == kControl || net_.ports[in].uncontrolled) {
      return Verdict::kTake;
    }
    const SwitchSettings& set = net_.config.switches;
    Ingress& account = at(in, packet.lane);
    const std::int64_t size = packet.size_bytes;
    std::int64_t& free = free_[net_.ports[in].target];
    const std::int64_t over = account.bytes + size - set.reserve_bytes;
    if (over > threshold(account, free)) {
      std::int64_t& pool = pool_[net_.ports[in].target];
      if (account.headroom + size > set.headroom_bytes[in] || size > pool) {
        return Verdict::kDrop;
      }
      account.headroom += size;
      pool -= size;
    } else {
      account.bytes += size;
      free -= std::clamp(over, std::int64_t{0}, size);
    }
    if (!account.paused() && (account.headroom > 0 || used(account) >= threshold(account, free))) {
      pause(in, packet.lane);
    }
    return Verdict::kTake;
  }

  void depart(std::uint32_t in, const Packet& packet, Time /*leaves*/) {
    if (packet.lane == kControl || net_.ports[in].uncontrolled) {
      return;
    }
    Ingress& account = at(in, packet.lane);
    const std::int64_t size = packet.size_bytes;
    const std::int64_t from_headroom = std::min(account.headroom, size);
    const std::int64_t from_shared = std::min(size - from_headroom, used(account));
    account.headroom -= from_headroom;
    if (from_headroom != 0) [[unlikely]] {
      pool_[net_.ports[in].target] += from_headroom;
    }
    account.bytes -= size - from_headroom;
    std::int64_t& free = free_[net_.ports[in].target];
    free += from_shared;
    if (account.paused() && account.headroom == 0 &&
        (used(account) == 0 ||
         used(account) + net_.config.switches.resume_bytes <= threshold(account, free))) {
      resume(in, packet.lane);
    }
  }

  void handle(const Event& event) {
    const auto lane = static_cast<std::uint8_t>(event.extra);
    const Ingress& account = at(event.subject, lane);
    if (account.refresh_at == event.when) {
      pause(event.subject, lane);
    }
  }

  void prefetch(std::uint32_t in, const Packet& packet) const {
    fetch_line(&ingress_[in * net_.num_lanes + packet.lane]);
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(ingress_);
    archive(free_);
    archive(pool_);
  }

 private:
  struct Ingress {
    std::int64_t bytes = 0;
    std::int64_t headroom = 0;
    Time refresh_at = kNever;  ///< When the pause is asked for again; never: it is not paused.
    double alpha = 0.0;        ///< Share of the free buffer that it may take, or bytes of its own.

    [[nodiscard]] bool paused() const { return refresh_at != kNever; }
  };

  Ingress& at(std::uint32_t link, std::uint8_t lane) {
    return ingress_[link * net_.num_lanes + lane];
  }

  [[nodiscard]] std::int64_t used(const Ingress& account) const {
    return std::max(account.bytes - net_.config.switches.reserve_bytes, std::int64_t{0});
  }

  [[nodiscard]] std::int64_t threshold(const Ingress& account, std::int64_t free) const {
    return static_cast<std::int64_t>(account.alpha * (by_input_ ? 1 : static_cast<double>(free)));
  }

  /// Asks the peer to stop, and will ask again before the pause runs out.
  void pause(std::uint32_t in, std::uint8_t lane) {
    const PauseSettings& set = net_.config.pause;
    Ingress& account = at(in, lane);
    send(in, lane, true);
    account.refresh_at = net_.now + net_.ports[in].time_of(std::int64_t{set.quanta} * 64) / 2;
    net_.events.push(account.refresh_at, Kind::kRefresh, in, lane);
  }

  void resume(std::uint32_t in, std::uint8_t lane) {
    at(in, lane).refresh_at = kNever;
    send(in, lane, false);
  }

  void send(std::uint32_t in, std::uint8_t lane, bool stop) {
    const PauseSettings& set = net_.config.pause;
    const Time there = net_.send_frame(in ^ 1U, set.frame_bytes) + set.response_ps;
    net_.events.push(there, Kind::kPause, in, lane | (stop ? 256U : 0U));
    ++net_.counters.pause_frames;
  }

  static constexpr std::int64_t kNoPool = std::int64_t{1} << 62U;

  Network& net_;
  bool by_input_;
  Large<Ingress> ingress_;
  std::vector<std::int64_t> free_;  ///< Of each vertex: shared buffer, less headroom and reserve.
  std::vector<std::int64_t> pool_;  ///< Of each vertex: headroom that its links still share.
};

}  // namespace netloom::packet
