// DCTCP: RFC 8257 (Alizadeh et al., SIGCOMM 2010). The window form; the NIC form is dctcp_rate.hpp.
#pragma once

#include <cstdint>

#include "netloom/packet/cc/policy.hpp"
#include "netloom/packet/cc/reno.hpp"
#include "netloom/packet/cc/tcp.hpp"

namespace netloom::packet::cc {

/// Losses and growth are Reno's, whatever alpha is (RFC 8257, section 3.5).
class Dctcp : public Reno {
 public:
  static constexpr Traits kTraits{
      .name = "dctcp",
      .needs_marks = true,
  };

  struct Settings : TcpSettings {
    double gain = 1.0 / 16;  // RFC 8257, section 4.2

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) { parameters("gain", gain)("first_packets", first_packets); }
  };

  static Dctcp make(const Settings& settings, const Line& line, Time /*now*/) {
    Dctcp flow;
    flow.begin(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    acked_bytes_ += ack.acked_bytes;
    marked_bytes_ += ack.marked ? ack.acked_bytes : 0;
    if (ack.acked_to > round_to_) {
      end_round(settings, ack);
    }
    if (ack.marked && begins_cut(line, 0)) {
      window().shrink(1 - alpha_ / 2, line);
    }
    add_a_packet_a_window(line, ack);
  }

 private:
  void end_round(const Settings& settings, const Ack& ack) {
    if (acked_bytes_ > 0) {
      const double fraction =
          static_cast<double>(marked_bytes_) / static_cast<double>(acked_bytes_);
      alpha_ = (1 - settings.gain) * alpha_ + settings.gain * fraction;
    }
    acked_bytes_ = 0;
    marked_bytes_ = 0;
    round_to_ = ack.sent_to;
  }

  double alpha_ = 1;            // RFC 8257, section 4.2
  std::uint64_t round_to_ = 0;  ///< Bytes sent when the round began.
  std::uint32_t acked_bytes_ = 0;
  std::uint32_t marked_bytes_ = 0;
};

static_assert(Scheme<Dctcp>);
static_assert(sizeof(Dctcp) <= 104);

}  // namespace netloom::packet::cc
