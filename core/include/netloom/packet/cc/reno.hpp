// TCP Reno: RFC 5681, growth counted in bytes (RFC 3465), marks taken as losses (RFC 3168).
#pragma once

#include <cstdint>

#include "netloom/packet/cc/policy.hpp"
#include "netloom/packet/cc/tcp.hpp"

namespace netloom::packet::cc {

class Reno : public TcpFlow {
 public:
  static constexpr Traits kTraits{
      .name = "reno",
  };

  using Settings = TcpSettings;

  static Reno make(const Settings& settings, const Line& line, Time /*now*/) {
    Reno flow;
    flow.begin(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (ack.marked) {
      on_loss(settings, line, ack.now, 0);
    }
    add_a_packet_a_window(line, ack);
  }

  void on_loss(const Settings& /*settings*/, const Line& line, Time /*now*/, std::uint32_t bytes) {
    if (begins_cut(line, bytes)) {
      window().shrink(0.5, line);
    }
  }

  void on_timeout(const Settings& /*settings*/, const Line& line, Time /*now*/) {
    restart(0.5, line);
  }

 protected:
  void add_a_packet_a_window(const Line& line, const Ack& ack) {
    grow(line, ack, [&] {
      const double step = static_cast<double>(line.payload_bytes) * ack.acked_bytes;
      window().set(window().bytes() + step / window().bytes(), line);
    });
  }
};

static_assert(Scheme<Reno>);
static_assert(sizeof(Reno) <= 80);

}  // namespace netloom::packet::cc
