// What each link carried over time, in as many spans as asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace netloom {

constexpr double kSecondsPerPicosecond = 1e-12;

/// Adds up what links carry in bins of equal length, which double whenever time outgrows them.
class LinkBins {
 public:
  LinkBins(std::size_t num_links, std::uint32_t num_bins);

  /// Say what a link carries from now on.
  void set(std::uint32_t link, double rate_bps, std::int64_t now_ps);
  /// Close the books on all links.
  void finish(std::int64_t now_ps);

  [[nodiscard]] std::int64_t bin_ps() const { return bin_ps_; }
  [[nodiscard]] std::vector<float> take() { return std::move(used_bits_); }

 private:
  struct Since {
    double rate_bps = 0;
    std::int64_t at_ps = 0;
  };

  void widen(std::int64_t until_ps);
  void add(std::uint32_t link, std::int64_t now_ps);

  std::vector<float> used_bits_;
  std::vector<Since> since_;
  std::uint32_t num_bins_;
  std::int64_t bin_ps_ = 1;
};

}  // namespace netloom
