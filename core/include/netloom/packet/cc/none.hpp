// No congestion control: line rate, no window. Link-level flow control alone protects the buffers.
#pragma once

#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class None : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "none",
      .needs_every_ack = false,
      .goes_with_pulls = true,
  };

  struct Settings {
    static void visit(auto& /*parameters*/) {}
  };

  static None make(const Settings& /*settings*/, const Line& line, Time /*now*/) {
    None none;
    none.rate_bps_ = line.rate_bps;
    return none;
  }

  [[nodiscard]] static std::uint64_t window_bytes() { return kNoWindow; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  double rate_bps_ = 0;
};

static_assert(Scheme<None>);

}  // namespace netloom::packet::cc
