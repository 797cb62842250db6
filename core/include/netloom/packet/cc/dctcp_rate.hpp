// DCTCP in NIC hardware, as a rate: the form that the HPCC authors compare with. Rules read in
// HPCC-ns3 (alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc, mode 8).
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class DctcpRate : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "dctcp-rate",
      .needs_marks = true,
  };

  struct Settings {
    double gain = 1.0 / 16;           // RFC 8257; HPCC-ns3 run.py
    double additive_bps = 0;          // a round trip; 0: one packet's payload in each
    double min_rate_bps = 1e9;        // HPCC-ns3 run.py
    Window window = Window::kScaled;  // HPCC-ns3 run.py
    Time rtt = 0;                     // for window and increase; 0: the flow's own

    /// HPCC-ns3 run.py: 1 KB in 13 us.
    static constexpr Settings artifact() {
      Settings settings;
      settings.additive_bps = 615e6;
      return settings;
    }

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("gain", gain)("additive_bps", additive_bps)("min_rate_bps", min_rate_bps)(
          "window", window)("rtt_ps", rtt);
    }
  };

  static DctcpRate make(const Settings& settings, const Line& line, Time /*now*/) {
    DctcpRate flow;
    flow.set_rate(settings, line, line.rate_bps);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    num_marked_ += ack.marked ? 1U : 0U;
    round_to_ = std::min(round_to_, ack.sent_to);  // a sender that went back starts over
    cut_to_ = std::min(cut_to_, ack.sent_to);
    const bool round_ended = ack.acked_to > round_to_;
    if (round_ended) {
      end_round(settings, line, ack);
    }
    if (ack.acked_to > cut_to_) {
      cut_to_ = 0;
    }
    if (ack.marked && cut_to_ == 0) {
      set_rate(settings, line, rate_bps_ * (1 - alpha_ / 2));
      cut_to_ = ack.sent_to;
    }
    if (round_ended && cut_to_ == 0) {
      set_rate(settings, line, rate_bps_ + step_bps(settings, line));
    }
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_or_none(window_bytes_); }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  // The first round only opens the count, and keeps its marks for the second.
  void end_round(const Settings& settings, const Line& line, const Ack& ack) {
    if (round_to_ == 0) {
      num_in_round_ = packets(ack.sent_to, line);
    } else {
      const double fraction =
          std::min(1.0, static_cast<double>(num_marked_) / static_cast<double>(num_in_round_));
      alpha_ = (1 - settings.gain) * alpha_ + settings.gain * fraction;
      num_marked_ = 0;
      num_in_round_ = packets(ack.sent_to - ack.acked_to, line);
    }
    round_to_ = ack.sent_to;
  }

  static std::uint32_t packets(std::uint64_t bytes, const Line& line) {
    return static_cast<std::uint32_t>(bytes / line.payload_bytes) + 1;
  }

  static double step_bps(const Settings& settings, const Line& line) {
    if (settings.additive_bps > 0) {
      return settings.additive_bps;
    }
    const auto rtt = static_cast<double>(rtt_of(settings.rtt, line));
    return line.payload_bytes * 8 * kPicosecondsPerSecond / rtt;
  }

  void set_rate(const Settings& settings, const Line& line, double rate_bps) {
    rate_bps_ = bounded(rate_bps, settings.min_rate_bps, line);
    window_bytes_ = window_beside(settings.window, rate_bps_, rtt_of(settings.rtt, line), line);
  }

  double rate_bps_ = 0;
  double alpha_ = 1;
  std::uint64_t round_to_ = 0;  ///< Bytes sent when the round began.
  std::uint64_t cut_to_ = 0;    ///< Bytes sent at the last cut, while they are in flight.
  std::uint32_t num_marked_ = 0;
  std::uint32_t num_in_round_ = 0;
  std::uint32_t window_bytes_ = 0;
};

static_assert(Scheme<DctcpRate>);
static_assert(sizeof(DctcpRate) <= 64);

}  // namespace netloom::packet::cc
