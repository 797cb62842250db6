// HPCC with one byte of telemetry (pint.hpp) in place of eight for each hop. Rules read in HPCC-ns3
// (alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc mode 10), every packet sampled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/hpcc.hpp"
#include "netloom/packet/cc/pint.hpp"
#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class HpccPint : public Deaf {
 public:
  static constexpr bool kMovesDeparture = true;  // rdma-hw.cc ChangeRate

  using Settings = HpccSettings;

  static HpccPint make(const Settings& settings, const Line& line, Time /*now*/) {
    HpccPint flow;
    flow.reference_bps_ = line.rate_bps;
    flow.set_rate(settings, line, line.rate_bps);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (updated_to_ == 0) {
      updated_to_ = ack.sent_to;
      return;
    }
    const double utilization = PintCode::decode(ack.pint_code);
    const auto step = HpccStep::from(reference_bps_, utilization, stage_, settings, line);
    set_rate(settings, line, step.rate_bps);
    if (ack.acked_to > updated_to_) {
      reference_bps_ = step.rate_bps;
      stage_ = step.stage;
      updated_to_ = std::max(updated_to_, ack.sent_to);
    }
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  void set_rate(const Settings& settings, const Line& line, double rate_bps) {
    rate_bps_ = rate_bps;
    window_bytes_ = packets_begun(bdp_bytes(rate_bps, rtt_of(settings.rtt, line)), line);
  }

  double reference_bps_ = 0;
  double rate_bps_ = 0;
  std::uint64_t updated_to_ = 0;  ///< Bytes sent when the reference last moved.
  std::uint32_t window_bytes_ = 0;
  std::uint8_t stage_ = 0;
};

static_assert(CongestionControl<HpccPint>);
static_assert(sizeof(HpccPint) <= 64);

}  // namespace netloom::packet::cc
