// What the TCP schemes share: the window in bytes, slow start (RFC 5681), when it may grow, and one
// cut for each window of data, which is spread over it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "netloom/packet/cc/policy.hpp"
#include "netloom/packet/cc/prr.hpp"

namespace netloom::packet::cc {

/// Of every TCP scheme.
struct TcpSettings {
  std::uint32_t first_packets = 10;  // RFC 6928

  /// Every parameter, by the name that a scenario sets it by.
  void visit(auto& parameters) { parameters("first_packets", first_packets); }
};

/// A congestion window. Departures are paced by the line alone.
class TcpWindow {
 public:
  static TcpWindow make(const TcpSettings& settings, const Line& line) {
    TcpWindow window;
    window.rate_bps_ = line.rate_bps;
    window.set(static_cast<double>(settings.first_packets) * line.payload_bytes, line);
    return window;
  }

  [[nodiscard]] double bytes() const { return bytes_; }

  [[nodiscard]] double threshold_bytes() const { return threshold_bytes_; }

  [[nodiscard]] bool in_slow_start() const { return bytes_ < threshold_bytes_; }

  void set(double bytes, const Line& line) {
    bytes_ = std::max(bytes, static_cast<double>(line.payload_bytes));
    window_bytes_ = packets_within(bytes_, line);
  }

  /// Grows by what was acknowledged, up to the threshold.
  void slow_start(const Ack& ack, const Line& line) {
    set(std::min(bytes_ + ack.acked_bytes, threshold_bytes_), line);
  }

  /// Shrinks to `factor` of itself, two packets at least, and leaves slow start.
  void shrink(double factor, const Line& line) {
    threshold_bytes_ = std::max(bytes_ * factor, 2.0 * line.payload_bytes);
    set(threshold_bytes_, line);
  }

  /// One packet, then slow start to `factor` of what the window was (RFC 5681, section 3.1).
  void restart(double factor, const Line& line) {
    threshold_bytes_ = std::max(bytes_ * factor, 2.0 * line.payload_bytes);
    set(line.payload_bytes, line);
  }

  /// Whether at least half of the window was in use: one that is not does not grow (RFC 7661,
  /// section 4.2).
  [[nodiscard]] bool was_used(const Ack& ack) const {
    const std::uint64_t in_flight = ack.sent_to - ack.acked_to + ack.acked_bytes;
    return 2 * in_flight >= window_bytes_;
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  double bytes_ = 0;
  double threshold_bytes_ = std::numeric_limits<double>::max();
  double rate_bps_ = 0;
  std::uint32_t window_bytes_ = 0;
};

/// A TCP sender; schemes derive from it and say how they cut, and how they avoid congestion.
class TcpFlow : public NoReaction {
 public:
  [[nodiscard]] std::uint64_t window_bytes() const {
    return episode_.open() ? reduction_.window_bytes() : window_.window_bytes();
  }

  [[nodiscard]] double rate_bps() const { return window_.rate_bps(); }

  void on_sent(const TcpSettings& /*settings*/,
               const Line& /*line*/,
               Time /*now*/,
               std::uint32_t bytes) {
    reduction_.on_sent(bytes);
  }

  /// A connection that was silent for a timeout begins again with its first window, and keeps its
  /// threshold (RFC 5681, section 4.1; Linux halves the window a timeout, tcp_cwnd_restart).
  void on_idle(const TcpSettings& settings, const Line& line, const Idle& idle) {
    if (idle.timeout != 0 && idle.lasted > idle.timeout) {
      const double first_bytes = static_cast<double>(settings.first_packets) * line.payload_bytes;
      window_.set(std::min(window_.bytes(), first_bytes), line);
    }
  }

 protected:
  void begin(const TcpSettings& settings, const Line& line) {
    window_ = TcpWindow::make(settings, line);
  }

  /// Whether a cut is due, once for each window of data, of which `lost_bytes` are newly lost.
  bool begins_cut(const Line& line, std::uint32_t lost_bytes) {
    if (!episode_.begin()) {
      reduction_.on_loss(lost_bytes);
      return false;
    }
    reduction_.begin(window_.window_bytes(), lost_bytes, line);
    return true;
  }

  [[nodiscard]] const TcpWindow& window() const { return window_; }

  [[nodiscard]] TcpWindow& window() { return window_; }

  /// One packet, then slow start; the next loss cuts again.
  void restart(double factor, const Line& line) {
    window_.restart(factor, line);
    episode_ = {};
  }

  /// Takes an acknowledgement in: slow start, or `avoid` beyond it, unless a cut is being
  /// acknowledged or the window was not used.
  template <class Avoid>
  void grow(const Line& line, const Ack& ack, Avoid avoid) {
    if (episode_.open()) {
      reduction_.on_ack(ack, window_.window_bytes(), line);
      episode_.on_ack(ack);
      return;
    }
    if (!window_.was_used(ack)) {
      return;
    }
    if (window_.in_slow_start()) {
      window_.slow_start(ack, line);
    } else {
      avoid();
    }
  }

 private:
  TcpWindow window_;
  Episode episode_;
  Reduction reduction_;  ///< Of the last cut.
};

}  // namespace netloom::packet::cc
