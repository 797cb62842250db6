#include "netloom/flow_bins.hpp"

#include <algorithm>
#include <cstddef>


namespace netloom {

LinkBins::LinkBins(std::size_t num_links, std::uint32_t num_bins)
    : used_bits_(num_links * num_bins, 0.0F),
      since_(num_bins == 0 ? 0 : num_links),
      num_bins_(num_bins) {}

void LinkBins::set(std::uint32_t link, double rate_bps, std::int64_t now_ps) {
  if (num_bins_ == 0 || since_[link].rate_bps == rate_bps) {
    return;
  }
  widen(now_ps);
  add(link, now_ps);
  since_[link] = {.rate_bps = rate_bps, .at_ps = now_ps};
}

void LinkBins::finish(std::int64_t now_ps) {
  widen(now_ps);
  for (std::uint32_t link = 0; link < since_.size(); ++link) {
    add(link, now_ps);
  }
}

/// Double the bins until they hold a moment; what two held, one holds.
void LinkBins::widen(std::int64_t until_ps) {
  if (num_bins_ == 0) {
    return;
  }
  int doublings = 0;
  while (bin_ps_ * num_bins_ < until_ps) {
    bin_ps_ *= 2;
    ++doublings;
  }
  const std::size_t merged = std::size_t{1} << static_cast<unsigned>(std::min(doublings, 32));
  for (std::size_t begin = 0; doublings > 0 && begin < used_bits_.size(); begin += num_bins_) {
    for (std::size_t bin = 0; bin < num_bins_; ++bin) {
      const float held = used_bits_[begin + bin];
      used_bits_[begin + bin] = 0.0F;
      used_bits_[begin + bin / merged] += held;
    }
  }
}

void LinkBins::add(std::uint32_t link, std::int64_t now_ps) {
  const Since since = since_[link];
  if (since.rate_bps == 0) {
    return;
  }
  for (std::int64_t at = since.at_ps; at < now_ps;) {
    const std::int64_t bin = at / bin_ps_;
    const std::int64_t end = std::min(now_ps, (bin + 1) * bin_ps_);
    const double bits = since.rate_bps * static_cast<double>(end - at) * kSecondsPerPicosecond;
    used_bits_[static_cast<std::size_t>(link) * num_bins_ + static_cast<std::size_t>(bin)] +=
        static_cast<float>(bits);
    at = end;
  }
}

}  // namespace netloom
