// HPCC with one byte of telemetry (pint.hpp) in place of eight for each hop. Rules read in HPCC-ns3
// (alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc mode 10), every packet sampled.
#pragma once

#include "netloom/packet/cc/hpcc.hpp"
#include "netloom/packet/cc/pint.hpp"

namespace netloom::packet::cc {

class HpccPint : public HpccFlow {
 public:
  static constexpr Traits kTraits{
      .name = "hpcc-pint",
      .telemetry = Telemetry::kPint,
      .telemetry_bytes = 1,  // the authors' project page
  };

  static HpccPint make(const Settings& settings, const Line& line, Time /*now*/) {
    HpccPint flow;
    flow.begin(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (!begins_round(ack)) {
      steer(settings, line, ack, PintCode::decode(ack.pint_code));
    }
  }
};

static_assert(Scheme<HpccPint>);
static_assert(sizeof(HpccPint) <= 64);

}  // namespace netloom::packet::cc
