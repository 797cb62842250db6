// Receivers that ask for less where the network has fewer uplinks than its hosts could fill: UET's
// RCCC in tapered networks. Rules read in ultraethernet/uet-htsim (oversubscribed_cc.cpp, uec.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "netloom/packet/config.hpp"
#include "netloom/packet/packet.hpp"
#include "netloom/packet/random.hpp"

namespace netloom::packet {

/// For each endpoint the share of its port that it asks for, by what came marked or trimmed.
///
/// Once in a while it looks at what has come since: packets trimmed before its own switch come off
/// the share, and so does a part of it while too many of the whole ones are marked; else it grows
/// by a step, which may double while nothing is marked. Looks are made up for when they are needed.
class PullPaces {
 public:
  explicit PullPaces(const Config& config)
      : set_(config.hosts.restraint),
        seed_(config.seed),
        hosts_(set_.least_share > 0 ? config.topology.num_endpoints : 0) {
    for (std::uint32_t endpoint = 0; endpoint < hosts_.size(); ++endpoint) {
      hosts_[endpoint].look_at = interval(endpoint);
    }
  }

  /// A data packet has come, or what is left of it.
  void note(const Packet& packet, Time now) {
    if (hosts_.empty()) {
      return;
    }
    Host& host = up_to(packet.target, now);
    ++host.received;
    if ((packet.flags & kTrimmed) != 0) {
      ++host.trimmed;
      host.on_the_way += (packet.flags & kAtLastHop) == 0 ? 1U : 0U;
    } else {
      host.marked += (packet.flags & kMarked) != 0 ? 1U : 0U;
    }
  }

  [[nodiscard]] double share(std::uint32_t endpoint, Time now) {
    return hosts_.empty() ? 1.0 : up_to(endpoint, now).share;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(hosts_);
  }

 private:
  struct Host {
    double share = 1.0;
    double marks = 0.0;  ///< Of whole packets, smoothed.
    Time look_at = 0;
    std::uint32_t num_looks = 0;
    std::int32_t num_steps = 0;  ///< Since the last decrease.
    std::uint32_t received = 0;  ///< Since the last look, as all that follows.
    std::uint32_t marked = 0;
    std::uint32_t trimmed = 0;
    std::uint32_t on_the_way = 0;  ///< Of these, not by its own switch.
  };

  Host& up_to(std::uint32_t endpoint, Time now) {
    Host& host = hosts_[endpoint];
    while (host.look_at <= now) {
      const bool idle = host.received == 0 && host.share >= 1.0 && host.marks < kForgotten;
      look(host);
      host.look_at = (idle ? now : host.look_at) + interval(endpoint);
    }
    return host;
  }

  void look(Host& host) {
    const std::uint32_t whole = host.received - host.trimmed;
    const double marked = whole != 0 ? static_cast<double>(host.marked) / whole : 0.0;
    host.marks += set_.smoothing * (marked - host.marks);
    bool less = false;
    if (set_.reacts_to_trims && host.on_the_way != 0) {
      host.share -= static_cast<double>(host.on_the_way) / host.received;
      less = true;
    }
    if (host.marks > set_.marked_share) {
      host.share *= 1 - (host.marks - set_.marked_share) * set_.decrease;
      less = true;
    }
    if (!less) {
      const bool doubles = set_.doubles && host.marked == 0;
      host.share += std::ldexp(set_.step, doubles ? host.num_steps : 0);
    }
    host.num_steps = less ? 0 : std::min(host.num_steps + 1, kMost);
    host.share = std::clamp(host.share, set_.least_share, 1.0);
    host.received = host.marked = host.trimmed = host.on_the_way = 0;
  }

  /// 0.75 to 1.25 of the period, lest receivers act as one; drawn apart from everything else.
  Time interval(std::uint32_t endpoint) {
    const std::uint64_t which = std::uint64_t{endpoint} << 32U | hosts_[endpoint].num_looks++;
    Random random(seed_ ^ which);
    return static_cast<Time>((0.75 + random.uniform() / 2) * static_cast<double>(set_.period_ps));
  }

  static constexpr double kForgotten = 1e-9;
  static constexpr std::int32_t kMost = 30;  ///< Doublings: far beyond the whole port.

  const RestraintSettings& set_;
  std::uint64_t seed_;
  std::vector<Host> hosts_;  ///< None where receivers do not slow down.
};

}  // namespace netloom::packet
