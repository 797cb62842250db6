// What the versions of NSCC share: their books, the smoothed delay, fast growth and cuts. Rules
// read in ultraethernet/uet-htsim (uec.cpp). The window counts bytes on the wire, as there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class NsccWindow : public NoReaction {
 public:
  void on_sent(const auto& /*settings*/, const Line& line, Time /*now*/, std::uint32_t bytes) {
    in_flight_bytes_ += static_cast<std::int32_t>(on_wire(bytes, line));
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 protected:
  void begin(const auto& settings, const Line& line, Time now) {
    base_rtt_ = line.base_rtt;
    adjusted_at_ = now;
    cut_at_ = now - line.base_rtt;
    rate_bps_ = line.rate_bps;
    wire_bytes_ = settings.first_packets > 0 ? settings.first_packets * line.packet_bytes
                                             : largest(settings, line);
  }

  // A full packet's share of headers for every byte: exact for full packets.
  static std::uint32_t on_wire(std::uint32_t payload_bytes, const Line& line) {
    const std::uint64_t bytes = std::uint64_t{payload_bytes} * line.packet_bytes;
    return static_cast<std::uint32_t>(bytes / line.payload_bytes);
  }

  // What is on its way to a shared NIC is out as well, though round trips do not count it.
  [[nodiscard]] double largest(const auto& settings, const Line& line) const {
    return settings.max_window_of_bdp * bdp_bytes(line.rate_bps, base_rtt_ + line.nic_ps);
  }

  void take_in(std::uint32_t acked, const Line& line, const Ack& ack) {
    achieved_bytes_ += acked;
    received_bytes_ += acked;
    pass_over(acked);
    in_flight_bytes_ =
        static_cast<std::int32_t>(ack.in_flight_bytes * line.packet_bytes / line.payload_bytes);
  }

  // The delay that an answer tells of, smoothed on the way. One to a packet that was not waited
  // for, or sent more than `most_times`, does not tell: the smoothed delay stands in for it.
  double hear(const auto& settings, const Ack& ack, double target, std::uint8_t most_times) {
    if (ack.times_sent == 0 || ack.times_sent > most_times) {
      return delay_ps_;
    }
    base_rtt_ = std::min(base_rtt_, ack.rtt);
    const auto delay = static_cast<double>(ack.rtt - base_rtt_);
    average(settings, delay, ack.marked, target);
    return delay;
  }

  void give_up(std::uint32_t lost) { in_flight_bytes_ -= static_cast<std::int32_t>(lost); }

  // What is still to come of what was in flight: signals about it are old news.
  void ignore_flight() {
    ignore_bytes_ = static_cast<std::uint32_t>(std::max(in_flight_bytes_, 0));
  }

  // What is left of the bytes to ignore after a quick adapt.
  void pass_over(std::uint32_t bytes) { ignore_bytes_ -= std::min(ignore_bytes_, bytes); }

  // A long delay without a mark is a queue that has gone: a quarter round trip stands in for it.
  void average(const auto& settings, double delay, bool marked, double target) {
    const double sample = !marked && delay > target ? 0.25 * static_cast<double>(base_rtt_) : delay;
    delay_ps_ += settings.delay_gain * (sample - delay_ps_);
  }

  // A path that has been empty for a window grows fast: `gain` of what arrives. Returns whether.
  bool grow_fast(const auto& settings, std::uint32_t acked, double delay, double gain) {
    const bool empty = delay < static_cast<double>(settings.fast_below);
    empty_bytes_ = empty ? empty_bytes_ + acked : 0;
    fast_ = empty && (fast_ || empty_bytes_ > wire_bytes_);
    if (fast_) {
      wire_bytes_ += gain * acked;
    }
    return fast_;
  }

  void stop_fast() {
    fast_ = false;
    empty_bytes_ = 0;
  }

  // Once a round trip, by how far the smoothed delay is over the target.
  void cut(const auto& settings, Time now, double target) {
    if (delay_ps_ > target && now - cut_at_ > base_rtt_) {
      const double factor = 1 - settings.decrease * (delay_ps_ - target) / delay_ps_;
      wire_bytes_ *= std::max(factor, 1 - settings.max_decrease);
      cut_at_ = now;
    }
  }

  void bound(const auto& settings, const Line& line) {
    const double packet = line.packet_bytes;
    wire_bytes_ = std::max(std::min(wire_bytes_, largest(settings, line)), packet);
  }

  double wire_bytes_ = 0;  ///< The window.
  double rate_bps_ = 0;    ///< Of the line: the window alone holds back.
  double increase_ = 0;    ///< Bytes squared, until the next adjustment.
  double delay_ps_ = 0;    ///< Smoothed.
  std::int32_t in_flight_bytes_ = 0;
  std::uint32_t achieved_bytes_ = 0;  ///< Since quick adapt last looked.
  std::uint32_t received_bytes_ = 0;  ///< Since the last adjustment.
  std::uint32_t empty_bytes_ = 0;     ///< Acknowledged in a row with hardly any delay.
  std::uint32_t ignore_bytes_ = 0;    ///< Still to come, after a quick adapt.
  std::uint32_t window_bytes_ = 0;    ///< Payload, in whole packets.
  Time base_rtt_ = 0;
  Time cut_at_ = 0;
  Time adjusted_at_ = 0;
  Time adapt_at_ = 0;  ///< Zero before the first answer.
  bool fast_ = false;
  bool adapt_due_ = false;
};

}  // namespace netloom::packet::cc
