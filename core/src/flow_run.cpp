#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>

#include "netloom/flow.hpp"
#include "netloom/flow_bins.hpp"
#include "netloom/flow_fold.hpp"
#include "netloom/flow_queue.hpp"
#include "netloom/flow_share.hpp"

namespace netloom {

namespace {

// Completions this close, as a share of the time that has passed, are one event: rounding must
// not tear apart what ends together.
constexpr double kTogether = 1e-10;
// Bits of a part that rounding may leave, as a share of its class's service so far.
constexpr double kDone = 1e-12;
constexpr double kPicosecondsPerSecond = 1e12;
constexpr std::uint64_t kReportEvery = 256;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

using Moment = std::pair<std::int64_t, std::uint32_t>;
template <typename T>
using Soonest = std::priority_queue<T, std::vector<T>, std::greater<>>;

/// The bundles of a class that move now: all have had the same service since the class began.
struct Serving {
  double served_bits = 0;  ///< To a flow that was there from the beginning, until `at_ps`.
  double rate_bps = 0;
  std::int64_t at_ps = 0;
  std::vector<std::pair<double, std::uint32_t>> ends;  ///< Heap of (service at its end, bundle).
};

/// Bundles that wait for their connection, in the order in which they started.
class Lines {
 public:
  /// @param width The most bundles that a transfer has.
  Lines(std::span<const std::uint32_t> connection, std::size_t width, std::size_t num_bundles)
      : connection_(connection),
        width_(width),
        last_(connection.empty() ? 0
                                 : (*std::ranges::max_element(connection) + std::size_t{1}) * width,
              kNobody),
        next_(connection.empty() ? 0 : num_bundles, kNobody) {}

  /// Whether the bundle, of that number in its transfer, may move at once; if not, it stands in
  /// line.
  bool enter(std::uint32_t transfer, std::uint32_t number, std::uint32_t bundle) {
    if (connection_.empty()) {
      return true;
    }
    const std::uint32_t before = std::exchange(last(transfer, number), bundle);
    if (before == kNobody) {
      return true;
    }
    next_[before] = bundle;
    return false;
  }

  /// The bundle is done; returns who moves next, or kNobody.
  std::uint32_t leave(std::uint32_t transfer, std::uint32_t number, std::uint32_t bundle) {
    if (connection_.empty()) {
      return kNobody;
    }
    if (last(transfer, number) == bundle) {
      last(transfer, number) = kNobody;
    }
    return next_[bundle];
  }

  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

 private:
  std::uint32_t& last(std::uint32_t transfer, std::uint32_t number) {
    return last_[connection_[transfer] * width_ + number];
  }

  std::span<const std::uint32_t> connection_;
  std::size_t width_;
  std::vector<std::uint32_t> last_;  ///< Of each connection's bundles.
  std::vector<std::uint32_t> next_;  ///< Behind each bundle.
};

/// The bundles of all transfers, numbered transfer by transfer.
class Bundles {
 public:
  Bundles(const FlowDemand& demand, const Folded& folded)
      : demand_(demand), folded_(folded), begin_(demand.route_set.size() + 1, 0) {
    std::uint64_t count = 0;
    for (std::size_t t = 0; t < demand.route_set.size(); ++t) {
      const std::uint32_t set = demand.route_set[t];
      const auto own =
          static_cast<std::size_t>(folded.bundle_offsets[set + 1] - folded.bundle_offsets[set]);
      widest_ = std::max(widest_, own);
      count += own;
      if (count >= Lines::kNobody) {
        throw std::invalid_argument("run_flows: more than 2^32 flows");
      }
      begin_[t + 1] = static_cast<std::uint32_t>(count);
    }
    transfer_.resize(count);
    for (std::uint32_t t = 0; t < demand.route_set.size(); ++t) {
      std::fill(transfer_.begin() + begin_[t], transfer_.begin() + begin_[t + 1], t);
    }
  }

  [[nodiscard]] std::size_t size() const { return transfer_.size(); }

  [[nodiscard]] std::size_t widest() const { return widest_; }

  [[nodiscard]] std::uint32_t begin(std::uint32_t transfer) const { return begin_[transfer]; }

  [[nodiscard]] std::uint32_t end(std::uint32_t transfer) const { return begin_[transfer + 1]; }

  [[nodiscard]] std::uint32_t transfer(std::uint32_t bundle) const { return transfer_[bundle]; }

  /// Which of its transfer's it is.
  [[nodiscard]] std::uint32_t number(std::uint32_t bundle) const {
    return bundle - begin_[transfer_[bundle]];
  }

  [[nodiscard]] const Bundle& operator[](std::uint32_t bundle) const {
    const std::uint32_t set = demand_.route_set[transfer_[bundle]];
    return folded_.bundles[folded_.bundle_offsets[set] + number(bundle)];
  }

 private:
  const FlowDemand& demand_;
  const Folded& folded_;
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> transfer_;
  std::size_t widest_ = 1;
};

class Run {
 public:
  Run(const FlowDemand& demand, Folded folded, std::uint32_t num_bins)
      : demand_(demand),
        folded_(std::move(folded)),
        share_(demand.capacity_bps, folded_.classes),
        queue_(folded_.classes.size()),
        serving_(folded_.classes.size()),
        bins_(demand.capacity_bps.size(), num_bins),
        bundles_(demand_, folded_),
        lines_(demand.connection, bundles_.widest(), bundles_.size()) {}

  FlowRecord go(std::int64_t until_ps, const FlowProgress& progress);

 private:
  [[nodiscard]] std::size_t num_transfers() const { return demand_.start_ps.size(); }

  void begin();
  void index_followers();
  [[nodiscard]] std::int64_t next_ps() const;
  void advance(Serving& serving) const;
  void complete();
  std::uint32_t complete_class(std::uint32_t c);
  void held(std::uint32_t bundle);
  void bundle_done(std::uint32_t bundle);
  void arrive(std::uint32_t transfer);
  void release(std::uint32_t transfer);
  void start();
  void start_transfer(std::uint32_t transfer);
  void start_bundle(std::uint32_t bundle);
  void reschedule();
  void schedule(std::uint32_t c);
  void observe();

  const FlowDemand& demand_;
  Folded folded_;
  FairShare share_;
  MomentQueue queue_;
  std::vector<Serving> serving_;
  LinkBins bins_;
  Bundles bundles_;
  Lines lines_;
  std::vector<std::uint32_t> released_;  ///< Bundles whose connection has become free.
  Soonest<Moment> pending_;
  std::vector<std::uint64_t> follower_begin_;
  std::vector<std::uint32_t> followers_;
  std::vector<std::uint32_t> waits_left_;
  std::vector<std::uint32_t> bundles_left_;
  std::vector<std::int64_t> ready_ps_;
  std::vector<std::uint32_t> holder_;  ///< Of each transfer, the route whose bottleneck is told.
  std::vector<std::uint32_t> due_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ended_;  ///< Class and how many flows of it.
  FlowRecord record_;
  std::int64_t now_ps_ = 0;
  std::uint64_t num_done_ = 0;
};

void Run::begin() {
  const std::size_t count = num_transfers();
  record_.start_ps.assign(count, -1);
  record_.finish_ps.assign(count, -1);
  record_.bottleneck.assign(count, FairShare::kNone);
  record_.sharers.assign(count, 0);
  record_.num_classes = static_cast<std::uint32_t>(folded_.classes.size());
  ready_ps_.resize(count);
  waits_left_.resize(count);
  bundles_left_.resize(count);
  holder_.assign(bundles_.widest() > 1 ? count : 0, Lines::kNobody);
  index_followers();
  for (std::uint32_t t = 0; t < count; ++t) {
    ready_ps_[t] = std::max(demand_.start_ps[t], demand_.delay_ps[t]);
    bundles_left_[t] = bundles_.end(t) - bundles_.begin(t);
    waits_left_[t] =
        static_cast<std::uint32_t>(demand_.wait_offsets[t + 1] - demand_.wait_offsets[t]);
    if (waits_left_[t] == 0) {
      release(t);
    }
  }
}

void Run::index_followers() {
  follower_begin_.assign(num_transfers() + 1, 0);
  followers_.resize(demand_.waits.size());
  for (const std::int32_t before : demand_.waits) {
    ++follower_begin_[static_cast<std::size_t>(before) + 1];
  }
  for (std::size_t t = 0; t < num_transfers(); ++t) {
    follower_begin_[t + 1] += follower_begin_[t];
  }
  std::vector<std::uint64_t> next(follower_begin_.begin(), follower_begin_.end() - 1);
  for (std::uint32_t t = 0; t < num_transfers(); ++t) {
    for (std::int64_t w = demand_.wait_offsets[t]; w < demand_.wait_offsets[t + 1]; ++w) {
      followers_[next[static_cast<std::size_t>(demand_.waits[static_cast<std::size_t>(w)])]++] = t;
    }
  }
}

std::int64_t Run::next_ps() const {
  return std::min(queue_.next_ps(), pending_.empty() ? kNever : pending_.top().first);
}

void Run::advance(Serving& serving) const {
  const double passed_s = static_cast<double>(now_ps_ - serving.at_ps) * kSecondsPerPicosecond;
  serving.served_bits += serving.rate_bps * passed_s;
  serving.at_ps = now_ps_;
}

void Run::complete() {
  const auto slack = static_cast<std::int64_t>(static_cast<double>(now_ps_) * kTogether);
  ended_.clear();
  while (queue_.next_ps() <= now_ps_ + slack) {
    due_.clear();
    queue_.take_until(now_ps_ + slack, due_);
    for (const std::uint32_t c : due_) {
      ended_.emplace_back(c, complete_class(c));
    }
  }
  for (const auto& [c, count] : ended_) {  // only now: what ends together shared to the end
    share_.remove(c, count);
  }
}

/// Let the bundles of a class end that are due; returns how many flows they are.
std::uint32_t Run::complete_class(std::uint32_t c) {
  Serving& serving = serving_[c];
  advance(serving);
  const double end_bits = std::max(serving.served_bits * (1 + kDone), serving.ends.front().first);
  std::uint32_t count = 0;
  while (!serving.ends.empty() && serving.ends.front().first <= end_bits) {
    const std::uint32_t bundle = serving.ends.front().second;
    std::ranges::pop_heap(serving.ends, std::greater<>{});
    serving.ends.pop_back();
    count += bundles_[bundle].count;
    held(bundle);
    bundle_done(bundle);
  }
  if (serving.ends.empty()) {
    serving = {.ends = std::move(serving.ends)};
  } else {
    schedule(c);
  }
  return count;
}

/// Tell which link held a bundle's transfer, if none of its others met more flows on theirs.
void Run::held(std::uint32_t bundle) {
  const Bundle& own = bundles_[bundle];
  const std::uint32_t link = share_.bottleneck(own.flow_class);
  const std::uint32_t sharers = link == FairShare::kNone ? 0 : share_.flows_on(link);
  const std::uint32_t t = bundles_.transfer(bundle);
  if (!holder_.empty()) {
    const bool earlier = sharers == record_.sharers[t] && own.first < holder_[t];
    if (sharers <= record_.sharers[t] && !earlier) {
      return;
    }
    holder_[t] = own.first;
  }
  record_.bottleneck[t] = link;
  record_.sharers[t] = sharers;
}

void Run::bundle_done(std::uint32_t bundle) {
  num_done_ += bundles_[bundle].count;
  const std::uint32_t t = bundles_.transfer(bundle);
  if (const std::uint32_t next = lines_.leave(t, bundles_.number(bundle), bundle);
      next != Lines::kNobody) {
    released_.push_back(next);
  }
  if (--bundles_left_[t] == 0) {
    arrive(t);
  }
}

void Run::arrive(std::uint32_t transfer) {
  const std::int64_t arrival_ps = now_ps_ + demand_.latency_ps[transfer];
  record_.finish_ps[transfer] = arrival_ps;
  record_.simulated_ps = std::max(record_.simulated_ps, arrival_ps);
  for (std::uint64_t f = follower_begin_[transfer]; f < follower_begin_[transfer + 1]; ++f) {
    const std::uint32_t next = followers_[f];
    ready_ps_[next] = std::max(ready_ps_[next], arrival_ps + demand_.delay_ps[next]);
    if (--waits_left_[next] == 0) {
      release(next);
    }
  }
}

void Run::release(std::uint32_t transfer) {
  pending_.emplace(ready_ps_[transfer], transfer);
}

void Run::start() {
  for (const std::uint32_t bundle : std::exchange(released_, {})) {
    start_bundle(bundle);
  }
  while (!pending_.empty() && pending_.top().first <= now_ps_) {
    const std::uint32_t transfer = pending_.top().second;
    pending_.pop();
    start_transfer(transfer);
  }
}

void Run::start_transfer(std::uint32_t transfer) {
  record_.start_ps[transfer] = now_ps_;
  for (std::uint32_t b = bundles_.begin(transfer); b < bundles_.end(transfer); ++b) {
    if (lines_.enter(transfer, bundles_.number(b), b)) {
      start_bundle(b);
    }
  }
}

void Run::start_bundle(std::uint32_t bundle) {
  const Bundle& own = bundles_[bundle];
  Serving& serving = serving_[own.flow_class];
  advance(serving);
  const double size_bits = demand_.size_bits[bundles_.transfer(bundle)];
  serving.ends.emplace_back(serving.served_bits + size_bits, bundle);
  std::ranges::push_heap(serving.ends, std::greater<>{});
  share_.add(own.flow_class, own.count);
}

/// Give the visited classes their new rates.
void Run::reschedule() {
  share_.solve();
  for (const std::uint32_t c : share_.visited()) {
    Serving& serving = serving_[c];
    advance(serving);
    serving.rate_bps = share_.rate(c);
    schedule(c);
  }
  observe();
}

void Run::schedule(std::uint32_t c) {
  const Serving& serving = serving_[c];
  const double left_bits = std::max(0.0, serving.ends.front().first - serving.served_bits);
  const double left_ps = std::round(left_bits / serving.rate_bps * kPicosecondsPerSecond);
  if (!(left_ps < static_cast<double>(kNever) / 2)) {
    throw std::invalid_argument("run_flows: a flow would take more than 53 days");
  }
  queue_.set(c, serving.at_ps + static_cast<std::int64_t>(left_ps));
}

void Run::observe() {
  for (const std::uint32_t link : share_.moved()) {
    bins_.set(link, share_.used(link), now_ps_);
  }
  share_.forget_moved();
}

FlowRecord Run::go(std::int64_t until_ps, const FlowProgress& progress) {
  begin();
  for (std::int64_t at = next_ps(); at != kNever; at = next_ps()) {
    if (at > until_ps) {
      record_.stopped = true;
      record_.simulated_ps = until_ps;
      break;
    }
    now_ps_ = at;
    complete();
    start();
    reschedule();
    if (++record_.num_events % kReportEvery == 0 && progress && progress(now_ps_, num_done_)) {
      record_.stopped = true;
      record_.simulated_ps = now_ps_;
      break;
    }
  }
  bins_.finish(std::min(until_ps, record_.simulated_ps));
  record_.bin_ps = bins_.bin_ps();
  record_.used_bits = bins_.take();
  record_.num_visits = share_.num_visits();
  return std::move(record_);
}

bool fits(const FlowDemand& demand) {
  const std::size_t transfers = demand.route_set.size();
  return demand.route_offsets.size() == demand.set_offsets.back() + 1 &&
         demand.weight.size() + 1 == demand.set_offsets.size() &&
         (demand.shares.empty() || demand.shares.size() == demand.links.size()) &&
         demand.size_bits.size() == transfers && demand.start_ps.size() == transfers &&
         demand.delay_ps.size() == transfers && demand.latency_ps.size() == transfers &&
         demand.wait_offsets.size() == transfers + 1 &&
         (demand.connection.empty() || demand.connection.size() == transfers) &&
         std::ranges::all_of(demand.route_set,
                             [&demand](std::uint32_t set) { return set < demand.weight.size(); });
}

void check(const FlowDemand& demand) {
  if (demand.set_offsets.empty() || !fits(demand)) {
    throw std::invalid_argument("run_flows: arrays of different lengths");
  }
}

}  // namespace

FlowRecord run_flows(const FlowDemand& demand,
                     std::uint32_t num_bins,
                     std::int64_t until_ps,
                     const FlowProgress& progress) {
  check(demand);
  return Run(demand, fold(demand), num_bins).go(until_ps, progress);
}

}  // namespace netloom
