// PINT: Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry" (SIGCOMM 2020), as HPCC
// uses it: one byte carries the largest utilization of the path. Rules read in HPCC-ns3
// (alibaba-edu/High-Precision-Congestion-Control, switch-node.cc mode 10, pint.cc).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

/// A utilization in one byte: the power of 1.05 that is nearest to it on average.
class PintCode {
 public:
  /// `chance` is uniform in [0, 1): between two powers the nearer is the likelier.
  static std::uint8_t encode(double utilization, double chance) {
    const double value = std::clamp(std::ceil(utilization * kOne), 1.0, kPowers.back());
    const auto* const above = std::ranges::lower_bound(kPowers, value);
    const auto code = static_cast<std::uint8_t>(above - kPowers.begin());
    if (code == 0) {
      return 0;
    }
    const double below = kPowers.at(code - 1U);
    const bool up = chance < (value - below) / (*above - below);
    return static_cast<std::uint8_t>(up ? code : code - 1);
  }

  static double decode(std::uint8_t code) { return kPowers.at(code) / kOne; }

 private:
  static constexpr double kBase = 1.05;  // the authors' project page
  static constexpr double kOne = 512;    // pint.h max_concurrent: a code of 0 is 1/512

  // Multiplied out, for libraries differ in the last bit of pow and log.
  static constexpr std::array<double, 256> kPowers = [] {
    std::array<double, 256> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) {
      powers.at(i) = powers.at(i - 1) * kBase;
    }
    return powers;
  }();
};

/// A switch port's estimate of its own utilization, from packet to packet.
class PintPort {
 public:
  /// The estimate as a data packet leaves at `now` and `queue_bytes` stay.
  ///
  /// It averages over `rtt`, the network's longest, the rate since whatever left before (its bytes
  /// over the time since) and the queue. The authors' switch approximates the same sum by table
  /// logarithms; here it is exact.
  double estimate(Time now, std::uint64_t queue_bytes, double rate_bps, Time rtt) {
    const Time gap = std::min(now - last_, rtt);
    const double weight = static_cast<double>(gap) / static_cast<double>(rtt);
    const double capacity_bytes = bdp_bytes(rate_bps, rtt);
    utilization_ = (1 - weight) * utilization_ + last_bytes_ / capacity_bytes +
                   weight * static_cast<double>(queue_bytes) / capacity_bytes;
    return utilization_;
  }

  /// Any packet leaves, an acknowledgement as well: the next estimate counts from it.
  void sent(Time now, std::uint32_t bytes) {
    last_ = now;
    last_bytes_ = bytes;
  }

 private:
  double utilization_ = 0;
  Time last_ = 0;
  std::uint32_t last_bytes_ = 0;
};

}  // namespace netloom::packet::cc
