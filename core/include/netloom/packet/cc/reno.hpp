// TCP Reno: RFC 5681, growth counted in bytes (RFC 3465), marks taken as losses (RFC 3168).
#pragma once

#include <cstdint>

#include "netloom/packet/cc/policy.hpp"
#include "netloom/packet/cc/tcp.hpp"

namespace netloom::packet::cc {

class Reno : public Deaf {
 public:
  using Settings = TcpSettings;

  static Reno make(const Settings& settings, const Line& line, Time /*now*/) {
    Reno flow;
    flow.window_ = TcpWindow::make(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (ack.marked) {
      on_loss(settings, line, ack.now, 0);
    }
    const bool cutting = episode_.open();
    episode_.on_ack(ack);
    if (cutting || !window_.was_used(ack)) {
      return;
    }
    if (window_.in_slow_start()) {
      window_.slow_start(ack, line);
    } else {
      const double step = static_cast<double>(line.payload_bytes) * ack.acked_bytes;
      window_.set(window_.bytes() + step / window_.bytes(), line);
    }
  }

  void on_loss(const Settings& /*settings*/,
               const Line& line,
               Time /*now*/,
               std::uint32_t /*bytes*/) {
    if (episode_.begin()) {
      window_.shrink(0.5, line);
    }
  }

  void on_timeout(const Settings& /*settings*/, const Line& line, Time /*now*/) {
    window_.restart(0.5, line);
    episode_ = {};
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_.window_bytes(); }

  [[nodiscard]] double rate_bps() const { return window_.rate_bps(); }

 private:
  TcpWindow window_;
  Episode episode_;
};

static_assert(CongestionControl<Reno>);
static_assert(sizeof(Reno) <= 64);

}  // namespace netloom::packet::cc
