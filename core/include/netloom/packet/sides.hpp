// The two halves of the simulator as the event loop sees them.
#pragma once

#include <cstdint>
#include <vector>

#include "netloom/packet/event_queue.hpp"
#include "netloom/packet/memory/archive.hpp"
#include "netloom/packet/packet.hpp"
#include "netloom/packet/records.hpp"

namespace netloom::packet {

class Progress;

/// Either half of the simulator: what happens at the vertices of one kind.
class Side {
 public:
  Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  Side(Side&&) = delete;
  Side& operator=(Side&&) = delete;
  virtual ~Side() = default;

  virtual void arrive(std::uint32_t link, Index packet) = 0;
  virtual void wake(std::uint32_t link) = 0;  ///< The port may be free: send what waits.
  virtual void handle(const Event& event) = 0;
  virtual void expect(std::uint32_t link, Index packet) = 0;  ///< It will arrive soon: prefetch.
  virtual void expect_wake(std::uint32_t link) = 0;           ///< So for what will leave.
  virtual void expect_soon(std::uint32_t link, Index packet) = 0;  ///< After `expect`: the rest.
  virtual void expect_wake_soon(std::uint32_t link) = 0;           ///< After `expect_wake`.
};

/// What deterministic networking writes down.
struct TimingRecord {
  TimingCounters counters;
  std::vector<std::int64_t> peak_bytes;  ///< Of each link and lane: most on the wire and waiting.
};

/// What the rest of the simulator asks of switches beside events.
class SwitchSide : public Side {
 public:
  /// Null where nothing is timed.
  [[nodiscard]] virtual const TimingRecord* timing() const { return nullptr; }

  virtual void save(Saver& saver) = 0;
  virtual void load(Loader& loader) = 0;
  virtual void flush(std::uint32_t link, std::uint8_t lane) = 0;  ///< Drops what waits.
};

/// What the rest of the simulator asks of endpoints beside events.
class EndpointSide : public Side {
 public:
  virtual void begin() = 0;  ///< Schedules the first transfers.
  [[nodiscard]] virtual const Progress& progress() const = 0;
  [[nodiscard]] virtual double rate_bps(std::uint32_t flow) const = 0;
  virtual void leave(std::uint32_t link) = 0;  ///< The port is down: what waits takes another.
  virtual void save(Saver& saver) = 0;
  virtual void load(Loader& loader) = 0;
};

}  // namespace netloom::packet
