// InfiniBand congestion control: IBTA specification, annex A10. Switches mark (FECN), receivers
// return the mark (BECN), each raises an index into a table of delays between packets; a timer
// lowers it. Semantics recalled, not looked up; see Settings for the numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class IbCc : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "ib-cc",
      .needs_marks = true,
      .cnp_interval_ps = 1,  // every mark is returned: annex A10, recalled
      .needs_every_ack = false,
  };

  static constexpr std::size_t kTableSize = 128;

  /// A congestion control table: delays between packets, in packet times.
  ///
  /// An entry is a 14-bit multiplier below a 2-bit right shift.
  using Table = std::array<std::uint16_t, kTableSize>;

  /// Entry i delays by i packet times, so that the rate is 1/(i+1) of the line. Assumed: managers
  /// compute theirs from the size of the subnet.
  static constexpr Table linear_table() {
    Table table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      table.at(i) = static_cast<std::uint16_t>(i);
    }
    return table;
  }

  struct Settings {
    std::uint16_t increase = 1;                // ccti_increase: Mellanox OFED 2.x manual
    std::uint16_t least = 0;                   // ccti_min: Mellanox OFED 2.x manual
    std::uint16_t limit = kTableSize - 1;      // CCTI_Limit: assumed, the whole table
    Time timer = 150 * (1'024 * kNanosecond);  // CCTI_Timer 150 (Gran et al., IPDPS 2010): recalled
    Table table = linear_table();

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("increase", increase)("least", least)("limit", limit)("timer_ps", timer);
    }
  };

  static IbCc make(const Settings& settings, const Line& line, Time /*now*/) {
    IbCc flow;
    flow.set_index(settings, line, settings.least);
    return flow;
  }

  void on_notification(const Settings& settings, const Line& line, Time now) {
    set_index(settings, line, index_ + settings.increase);
    if (timer_at_ == kNever && index_ > settings.least) {
      timer_at_ = now + settings.timer;
    }
  }

  void on_timer(const Settings& settings, const Line& line, Time now) {
    if (now < timer_at_) {
      return;
    }
    set_index(settings, line, index_ - 1);
    timer_at_ = index_ > settings.least ? timer_at_ + settings.timer : kNever;
  }

  [[nodiscard]] Time next_timer() const { return timer_at_; }

  [[nodiscard]] static std::uint64_t window_bytes() { return kNoWindow; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  void set_index(const Settings& settings, const Line& line, int index) {
    const int limit = std::min<int>(settings.limit, kTableSize - 1);
    index_ = static_cast<std::uint16_t>(
        std::clamp<int>(index, std::min<int>(settings.least, limit), limit));
    const std::uint16_t entry = settings.table.at(index_);
    const unsigned delay_packets = (entry & 0x3FFFU) >> (entry >> 14U);
    rate_bps_ = line.rate_bps / (1 + delay_packets);
  }

  double rate_bps_ = 0;
  Time timer_at_ = kNever;  ///< Never while the index is at its least.
  std::uint16_t index_ = 0;
};

static_assert(Scheme<IbCc>);
static_assert(sizeof(IbCc) <= 64);

}  // namespace netloom::packet::cc
