// One run of the packet simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "netloom/packet/config.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

class Side;
class SwitchSide;
class EndpointSide;
class Progress;
struct TimingRecord;

enum class Status : std::uint8_t {
  kRunning,   ///< There is more to do.
  kDone,      ///< Every transfer has arrived, and its sender knows.
  kStuck,     ///< Nothing can happen any more, and transfers are unfinished.
  kDeadlock,  ///< A circle of links waits for itself.
};

/// Owns the whole state of a run; two of them share nothing.
class Simulation {
 public:
  /// @throws std::invalid_argument for a policy or a parameter that does not exist.
  explicit Simulation(Config config);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  Simulation(Simulation&&) = delete;
  Simulation& operator=(Simulation&&) = delete;

  /// Goes on until `until`, or for about `max_events`; events at `until` still happen.
  Status run(Time until, std::uint64_t max_events);

  /// Goes on until `until` although every transfer may have ended: to where another run of the same
  /// network ends. Events at `until` still happen.
  Status settle(Time until);

  /// The state as plain bytes, for `restore` of a simulation with an equal config.
  [[nodiscard]] std::vector<std::byte> snapshot();
  void restore(std::span<const std::byte> state);

  [[nodiscard]] const Network& network() const { return net_; }

  [[nodiscard]] const Progress& progress() const;

  /// What deterministic networking wrote down; null where nothing is timed.
  [[nodiscard]] const TimingRecord* timing() const;

  /// What congestion control allows a flow now; 0 before its start and after its end.
  [[nodiscard]] double rate_bps(std::uint32_t flow) const;

 private:
  template <class IsOver>
  Status go_on(Time until, std::uint64_t max_events, IsOver is_over);
  void dispatch(const Event& event);
  void arrive(const Event& event);
  void pause(const Event& event);
  void expire(const Event& event);
  void watch_over(const Event& event);
  void fail(const Fault& fault);
  void cut(std::uint32_t link);
  void look_for_deadlock();
  void resume(std::uint32_t link);
  void prefetch_ahead();

  [[nodiscard]] Side& side_of(std::uint32_t link);

  void expect_far(const Event& event);
  void expect_route(const Event& event);
  void expect_near(const Event& event);
  void expect_soon(const Event& event);

  // Events between a prefetch and its use: of the packet, of its routes, of what it will meet, and
  // of what that points to. Each is there when the next one needs it.
  static constexpr std::size_t kFar = 12;
  static constexpr std::size_t kRoute = 8;
  static constexpr std::size_t kNear = 5;
  static constexpr std::size_t kSoon = 2;

  static constexpr std::size_t kLinkBytes = 256;  // a port with queues and accounts of two lanes

  Config config_;
  Network net_;
  std::unique_ptr<SwitchSide> switches_;
  std::unique_ptr<EndpointSide> endpoints_;
  std::vector<Time> paused_until_;   ///< Of each link and lane.
  std::vector<Time> ignored_until_;  ///< The watchdog lets a lane run meanwhile.
  bool prefetches_ = false;          ///< As of the last dawn.
  // How many of the next events have been through each stage of fetching.
  std::size_t far_ = 0;
  std::size_t route_ = 0;
  std::size_t near_ = 0;
  std::size_t soon_ = 0;
};

}  // namespace netloom::packet
