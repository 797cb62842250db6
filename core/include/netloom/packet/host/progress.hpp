// Transfers and what takes a known time: who waits for whom, and when each started and arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Rows of work that wait for others, and when each started, arrived and was known to have arrived.
class Progress {
 public:
  explicit Progress(Network& network);

  /// Schedules the rows that wait for nothing.
  void begin();

  void started(std::uint32_t flow) { start_ps[flow] = net_.now - send_ps(flow); }

  /// Whether the row takes a time that is known, and sends nothing.
  [[nodiscard]] bool is_known(std::uint32_t row) const {
    return row >= net_.config.work.num_transfers();
  }

  /// Ends a row of known time.
  void end_known(std::uint32_t row) {
    arrived(row);
    finished(row);
  }

  /// Whether the row stays on scale-up links or is not moved, and so passes no NIC and no stack.
  [[nodiscard]] bool local(std::uint32_t row) const {
    const auto& all = net_.config.work.local;
    return is_known(row) || (!all.empty() && all[row] != 0);
  }

  /// The last byte is here: those that wait for this one may go on.
  void arrived(std::uint32_t row);

  void finished(std::uint32_t row);

  [[nodiscard]] std::size_t unfinished() const { return unfinished_; }

  template <class Archive>
  void visit(Archive& archive) {
    archive(start_ps);
    archive(arrive_ps);
    archive(finish_ps);
    archive(slowed);
    archive(left_);
    archive(ready_);
    archive(unfinished_);
  }

  std::vector<Time> start_ps;
  std::vector<Time> arrive_ps;
  std::vector<Time> finish_ps;
  std::vector<std::uint8_t> slowed;  ///< Of each transfer: an answer found it below line rate.

 private:
  [[nodiscard]] Time send_ps(std::uint32_t row) const {
    return local(row) ? 0 : net_.config.hosts.send_ps;
  }

  /// Schedules a row that waits for no other since `after`, and with it those behind it on its
  /// connection that wait for it alone.
  void schedule(std::uint32_t row, Time after);

  /// Lets what a row is sent before go on at `when`: the next message, or all parts of the next
  /// transfer. Returns the former if it waits for nothing else, to be scheduled.
  std::uint32_t let_next_send(std::uint32_t row, Time when);

  /// Lets the message of known time go on that is behind a transfer of its connection.
  void let_known_follow(std::uint32_t transfer);

  [[nodiscard]] KnownTime known_time(std::uint32_t row) const;

  /// Notes that one of those that a row waits for is over at `when`; returns whether it was the
  /// last.
  bool release(std::uint32_t row, Time when);

  Network& net_;
  std::vector<std::uint32_t> left_;  ///< Rows that each still waits for.
  std::vector<Time> ready_;  ///< When the last of these was over; empty: none is sent first.
  std::vector<std::uint32_t> next_;  ///< Of each row, the first that it is sent before.
  std::vector<std::uint32_t> follow_begin_;
  std::vector<std::uint32_t> followers_;
  std::size_t unfinished_ = 0;
};

}  // namespace netloom::packet
