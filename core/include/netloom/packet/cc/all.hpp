// Every congestion control, and the names of its parameters.
#pragma once

#include "netloom/packet/cc/cubic.hpp"
#include "netloom/packet/cc/dcqcn.hpp"
#include "netloom/packet/cc/dcqcn_firmware.hpp"
#include "netloom/packet/cc/dctcp.hpp"
#include "netloom/packet/cc/dctcp_rate.hpp"
#include "netloom/packet/cc/hpcc.hpp"
#include "netloom/packet/cc/hpcc_pint.hpp"
#include "netloom/packet/cc/ib_cc.hpp"
#include "netloom/packet/cc/none.hpp"
#include "netloom/packet/cc/nscc.hpp"
#include "netloom/packet/cc/nscc_unscaled.hpp"
#include "netloom/packet/cc/reno.hpp"
#include "netloom/packet/cc/rttcc.hpp"
#include "netloom/packet/cc/swift.hpp"
#include "netloom/packet/cc/timely.hpp"
#include "netloom/packet/parameters.hpp"

namespace netloom::packet::cc {

inline void read(Parameters& /*p*/, None::Settings& /*s*/) {}

inline void read(Parameters& p, Dcqcn::Settings& s) {
  p("gain", s.gain)("first_alpha", s.first_alpha)("alpha_period_ps", s.alpha_period)(
      "increase_period_ps", s.increase_period)("counter_bytes", s.counter_bytes)(
      "recoveries", s.recoveries)("additive_of_line", s.additive_of_line)(
      "hyper_of_line", s.hyper_of_line)("min_rate_bps", s.min_rate_bps);
}

inline void read(Parameters& p, DcqcnFirmware::Settings& s) {
  p("gain", s.gain)("first_alpha", s.first_alpha)("alpha_period_ps", s.alpha_period)(
      "cut_period_ps", s.cut_period)("increase_period_ps", s.increase_period)(
      "recoveries", s.recoveries)("clamp_target", s.clamp_target)("marks_in_acks", s.marks_in_acks)(
      "window", s.window)("additive_bps", s.additive_bps)("hyper_bps", s.hyper_bps)(
      "steps_for_bps", s.steps_for_bps)("min_rate_bps", s.min_rate_bps)("rtt_ps", s.rtt);
}

inline void read(Parameters& p, HpccSettings& s) {
  p("target", s.target)("max_stage", s.max_stage)("increase_of_line", s.increase_of_line)(
      "min_rate_bps", s.min_rate_bps)("rtt_ps", s.rtt);
}

inline void read(Parameters& p, Timely::Settings& s) {
  p("smoothing", s.smoothing)("decrease", s.decrease)("low_ps", s.low)("high_ps", s.high)(
      "gradient_per_ps", s.gradient_per)("hyper_after", s.hyper_after)(
      "additive_of_line", s.additive_of_line)("hyper_of_line", s.hyper_of_line)(
      "min_rate_bps", s.min_rate_bps)("window", s.window)("rtt_ps", s.rtt);
}

inline void read(Parameters& p, DctcpRate::Settings& s) {
  p("gain", s.gain)("additive_bps", s.additive_bps)("min_rate_bps", s.min_rate_bps)(
      "window", s.window)("rtt_ps", s.rtt);
}

inline void read(Parameters& p, Dctcp::Settings& s) {
  p("gain", s.gain)("first_packets", s.first_packets);
}

inline void read(Parameters& p, Cubic::Settings& s) {
  p("aggressiveness", s.aggressiveness)("decrease", s.decrease)("first_packets", s.first_packets);
}

inline void read(Parameters& p, TcpSettings& s) {
  p("first_packets", s.first_packets);
}

inline void read(Parameters& p, Swift::Settings& s) {
  p("base_delay_ps", s.base_delay)("hop_of_base", s.hop_of_base)("range_of_base", s.range_of_base)(
      "scale_from_packets", s.scale_from_packets)("scale_to_packets", s.scale_to_packets)(
      "additive_packets", s.additive_packets)("decrease", s.decrease)(
      "max_decrease", s.max_decrease)("timeouts_to_min", s.timeouts_to_min)(
      "first_packets", s.first_packets)("min_packets", s.min_packets)("max_packets", s.max_packets);
}

inline void read(Parameters& p, IbCc::Settings& s) {
  p("increase", s.increase)("least", s.least)("limit", s.limit)("timer_ps", s.timer);
}

inline void read(Parameters& p, Nscc::Settings& s) {
  p("reference_bytes", s.reference_bytes)("reference_rtt_ps", s.reference_rtt)(
      "target_if_trimming", s.target_if_trimming)("target_if_dropping", s.target_if_dropping)(
      "proportional_packets", s.proportional_packets)("fair_packets", s.fair_packets)(
      "always_packets", s.always_packets)("fast", s.fast)("fast_below_ps", s.fast_below)(
      "decrease", s.decrease)("max_decrease", s.max_decrease)("delay_gain", s.delay_gain)(
      "max_window_of_bdp", s.max_window_of_bdp)("adjust_packets", s.adjust_packets)(
      "adapt_targets", s.adapt_targets)("adapt_below", s.adapt_below)("rtt_ps", s.rtt)(
      "first_packets", s.first_packets);
}

inline void read(Parameters& p, NsccUnscaled::Settings& s) {
  p("target_ps", s.target)("proportional_bytes2", s.proportional_bytes2)(
      "proportional_bytes", s.proportional_bytes)("fair_packets", s.fair_packets)(
      "always_bytes", s.always_bytes)("fast", s.fast)("fast_below_ps", s.fast_below)(
      "decrease", s.decrease)("max_decrease", s.max_decrease)("delay_gain", s.delay_gain)(
      "max_window_of_bdp", s.max_window_of_bdp)("adjust_bytes", s.adjust_bytes)(
      "adjust_period_ps", s.adjust_period)("adapt_targets", s.adapt_targets)(
      "adapt_below", s.adapt_below)("first_packets", s.first_packets);
}

inline void read(Parameters& p, Rttcc::Settings& s) {
  p("target_of_base", s.target_of_base)("decrease", s.decrease)("max_decrease", s.max_decrease)(
      "additive_of_line", s.additive_of_line)("min_rate_bps", s.min_rate_bps);
}

}  // namespace netloom::packet::cc
