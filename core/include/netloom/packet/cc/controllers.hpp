// The congestion control of every connection of a run, whatever the scheme is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "netloom/packet/cc/policy.hpp"
#include "netloom/packet/memory/archive.hpp"
#include "netloom/packet/memory/huge_pages.hpp"
#include "netloom/packet/memory/prefetch.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet::cc {

/// What a scheme allows a connection until the next signal.
struct Allowance {
  double rate_bps = 0;
  std::uint64_t window_bytes = 0;
  Time next_timer = kNever;
};

/// Signals that a scheme reacts to.
struct Reactions {
  bool acks = false;
  bool notifications = false;
  bool losses = false;
  bool timeouts = false;
  bool departures = false;
  bool idleness = false;
  bool timers = false;
};

/// One scheme's state for each connection. Endpoints send it signals and keep the allowance that
/// each returns, so that they are compiled once a transport and not once a scheme as well.
class Controllers {
 public:
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;
  Controllers(Controllers&&) = delete;
  Controllers& operator=(Controllers&&) = delete;
  virtual ~Controllers() = default;

  /// A connection's allowance before it starts.
  [[nodiscard]] virtual Allowance unstarted() const = 0;

  virtual Allowance start(std::uint32_t flow, const Line& line, Time now) = 0;
  virtual Allowance on_ack(std::uint32_t flow, const Line& line, const Ack& ack) = 0;
  virtual Allowance on_notification(std::uint32_t flow, const Line& line, Time now) = 0;
  virtual Allowance on_loss(std::uint32_t flow,
                            const Line& line,
                            Time now,
                            std::uint32_t bytes) = 0;
  virtual Allowance on_timeout(std::uint32_t flow, const Line& line, Time now) = 0;
  virtual Allowance on_sent(std::uint32_t flow,
                            const Line& line,
                            Time now,
                            std::uint32_t bytes) = 0;
  virtual Allowance on_idle(std::uint32_t flow, const Line& line, const Idle& idle) = 0;
  virtual Allowance on_timer(std::uint32_t flow, const Line& line, Time now) = 0;

  virtual void save(Saver& saver) = 0;
  virtual void load(Loader& loader) = 0;

  /// Signals that need not be sent are those that the scheme ignores.
  [[nodiscard]] const Reactions& reactions() const { return reactions_; }

  /// Fetches the state that the next signal to a connection will change.
  void fetch(std::uint32_t flow) const { fetch_lines(states_ + flow * stride_, stride_); }

 protected:
  explicit Controllers(const Reactions& reactions)
      : reactions_(reactions) {}

  void locate(const void* states, std::size_t stride) {
    states_ = static_cast<const std::byte*>(states);
    stride_ = stride;
  }

 private:
  Reactions reactions_;
  const std::byte* states_ = nullptr;
  std::size_t stride_ = 0;
};

using ControllersPtr = std::unique_ptr<Controllers>;

/// What the code of a scheme reacts to.
template <Scheme Cc>
constexpr Reactions reactions_of(Cc cc = Cc(),
                                 const typename Cc::Settings& s = typename Cc::Settings(),
                                 const Line& line = Line(),
                                 const Ack& ack = Ack(),
                                 const Idle& idle = Idle()) {
  return {
      .acks = std::is_void_v<decltype(cc.on_ack(s, line, ack))>,
      .notifications = std::is_void_v<decltype(cc.on_notification(s, line, Time{}))>,
      .losses = std::is_void_v<decltype(cc.on_loss(s, line, Time{}, 0U))>,
      .timeouts = std::is_void_v<decltype(cc.on_timeout(s, line, Time{}))>,
      .departures = std::is_void_v<decltype(cc.on_sent(s, line, Time{}, 0U))>,
      .idleness = std::is_void_v<decltype(cc.on_idle(s, line, idle))>,
      .timers = std::is_void_v<decltype(cc.on_timer(s, line, Time{}))>,
  };
}

template <Scheme Cc>
class ControllersOf final : public Controllers {
 public:
  ControllersOf(Cc::Settings settings, std::size_t num_flows)
      : Controllers(reactions_of<Cc>()), settings_(std::move(settings)), states_(num_flows) {
    locate(states_.data(), sizeof(Cc));
  }

  [[nodiscard]] Allowance unstarted() const override { return allowed(Cc{}); }

  Allowance start(std::uint32_t flow, const Line& line, Time now) override {
    states_[flow] = Cc::make(settings_, line, now);
    return allowed(states_[flow]);
  }

  Allowance on_ack(std::uint32_t flow, const Line& line, const Ack& ack) override {
    states_[flow].on_ack(settings_, line, ack);
    return allowed(states_[flow]);
  }

  Allowance on_notification(std::uint32_t flow, const Line& line, Time now) override {
    states_[flow].on_notification(settings_, line, now);
    return allowed(states_[flow]);
  }

  Allowance on_loss(std::uint32_t flow, const Line& line, Time now, std::uint32_t bytes) override {
    states_[flow].on_loss(settings_, line, now, bytes);
    return allowed(states_[flow]);
  }

  Allowance on_timeout(std::uint32_t flow, const Line& line, Time now) override {
    states_[flow].on_timeout(settings_, line, now);
    return allowed(states_[flow]);
  }

  Allowance on_sent(std::uint32_t flow, const Line& line, Time now, std::uint32_t bytes) override {
    states_[flow].on_sent(settings_, line, now, bytes);
    return allowed(states_[flow]);
  }

  Allowance on_idle(std::uint32_t flow, const Line& line, const Idle& idle) override {
    states_[flow].on_idle(settings_, line, idle);
    return allowed(states_[flow]);
  }

  Allowance on_timer(std::uint32_t flow, const Line& line, Time now) override {
    states_[flow].on_timer(settings_, line, now);
    return allowed(states_[flow]);
  }

  void save(Saver& saver) override { saver(states_); }

  void load(Loader& loader) override {
    loader(states_);
    locate(states_.data(), sizeof(Cc));
  }

 private:
  static Allowance allowed(const Cc& cc) {
    return {
        .rate_bps = cc.rate_bps(),
        .window_bytes = cc.window_bytes(),
        .next_timer = cc.next_timer(),
    };
  }

  Cc::Settings settings_;
  Large<Cc> states_;
};

}  // namespace netloom::packet::cc
