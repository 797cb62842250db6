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

/// The parts of a class that move now: all have had the same service since the class began.
struct Serving {
  double served_bits = 0;  ///< To a part that was there from the beginning, until `at_ps`.
  double rate_bps = 0;
  std::int64_t at_ps = 0;
  std::vector<std::pair<double, std::uint32_t>> ends;  ///< Heap of (service at its end, part).
};

/// Parts that wait for their connection, in the order in which they started.
class Lines {
 public:
  explicit Lines(std::span<const std::uint32_t> connection)
      : connection_(connection),
        last_(connection.empty() ? 0 : *std::ranges::max_element(connection) + std::size_t{1},
              kNobody),
        next_(connection.size(), kNobody) {}

  /// Whether the part may move at once; if not, it stands in line.
  bool enter(std::uint32_t part) {
    if (connection_.empty()) {
      return true;
    }
    const std::uint32_t before = std::exchange(last_[connection_[part]], part);
    if (before == kNobody) {
      return true;
    }
    next_[before] = part;
    return false;
  }

  /// The part is done; returns who moves next, or kNobody.
  std::uint32_t leave(std::uint32_t part) {
    if (connection_.empty()) {
      return kNobody;
    }
    if (last_[connection_[part]] == part) {
      last_[connection_[part]] = kNobody;
    }
    return next_[part];
  }

  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

 private:
  std::span<const std::uint32_t> connection_;
  std::vector<std::uint32_t> last_;  ///< Of each connection.
  std::vector<std::uint32_t> next_;  ///< Behind each part.
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
        lines_(demand.connection) {}

  FlowRecord go(std::int64_t until_ps, const FlowProgress& progress);

 private:
  [[nodiscard]] std::size_t num_transfers() const { return demand_.start_ps.size(); }

  void begin();
  void index_followers();
  [[nodiscard]] std::int64_t next_ps() const;
  void advance(Serving& serving) const;
  void complete();
  std::uint32_t complete_class(std::uint32_t c);
  void part_done(std::uint32_t part);
  void arrive(std::uint32_t transfer);
  void release(std::uint32_t transfer);
  void start();
  void start_transfer(std::uint32_t transfer);
  void start_part(std::uint32_t part);
  void reschedule();
  void schedule(std::uint32_t c);
  void observe();

  const FlowDemand& demand_;
  Folded folded_;
  FairShare share_;
  MomentQueue queue_;
  std::vector<Serving> serving_;
  LinkBins bins_;
  Lines lines_;
  std::vector<std::uint32_t> released_;  ///< Parts whose connection has become free.
  Soonest<Moment> pending_;
  std::vector<std::uint64_t> follower_begin_;
  std::vector<std::uint32_t> followers_;
  std::vector<std::int64_t> waits_left_;
  std::vector<std::int64_t> parts_left_;
  std::vector<std::int64_t> ready_ps_;
  std::vector<std::uint32_t> transfer_of_;
  std::vector<std::uint32_t> due_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ended_;  ///< Class and how many of it.
  FlowRecord record_;
  std::int64_t now_ps_ = 0;
  std::uint64_t num_done_ = 0;
};

void Run::begin() {
  const std::size_t count = num_transfers();
  record_.start_ps.assign(count, -1);
  record_.finish_ps.assign(count, -1);
  record_.bottleneck.assign(demand_.size_bits.size(), FairShare::kNone);
  record_.sharers.assign(demand_.size_bits.size(), 0);
  record_.num_classes = static_cast<std::uint32_t>(folded_.classes.size());
  ready_ps_.resize(count);
  waits_left_.resize(count);
  parts_left_.resize(count);
  transfer_of_.resize(demand_.size_bits.size());
  index_followers();
  for (std::uint32_t t = 0; t < count; ++t) {
    ready_ps_[t] = std::max(demand_.start_ps[t], demand_.delay_ps[t]);
    parts_left_[t] = demand_.part_offsets[t + 1] - demand_.part_offsets[t];
    waits_left_[t] = demand_.wait_offsets[t + 1] - demand_.wait_offsets[t];
    for (std::int64_t p = demand_.part_offsets[t]; p < demand_.part_offsets[t + 1]; ++p) {
      transfer_of_[static_cast<std::size_t>(p)] = t;
    }
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

/// Let the parts of a class end that are due; returns how many.
std::uint32_t Run::complete_class(std::uint32_t c) {
  Serving& serving = serving_[c];
  advance(serving);
  const double end_bits = std::max(serving.served_bits * (1 + kDone), serving.ends.front().first);
  std::uint32_t count = 0;
  for (; !serving.ends.empty() && serving.ends.front().first <= end_bits; ++count) {
    const std::uint32_t part = serving.ends.front().second;
    std::ranges::pop_heap(serving.ends, std::greater<>{});
    serving.ends.pop_back();
    record_.bottleneck[part] = share_.bottleneck(c);
    if (record_.bottleneck[part] != FairShare::kNone) {
      record_.sharers[part] = share_.flows_on(record_.bottleneck[part]);
    }
    part_done(part);
  }
  if (serving.ends.empty()) {
    serving = {.ends = std::move(serving.ends)};
  } else {
    schedule(c);
  }
  return count;
}

void Run::part_done(std::uint32_t part) {
  ++num_done_;
  if (const std::uint32_t next = lines_.leave(part); next != Lines::kNobody) {
    released_.push_back(next);
  }
  const std::uint32_t t = transfer_of_[part];
  if (--parts_left_[t] == 0) {
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
  for (const std::uint32_t part : std::exchange(released_, {})) {
    start_part(part);
  }
  while (!pending_.empty() && pending_.top().first <= now_ps_) {
    const std::uint32_t transfer = pending_.top().second;
    pending_.pop();
    start_transfer(transfer);
  }
}

void Run::start_transfer(std::uint32_t transfer) {
  record_.start_ps[transfer] = now_ps_;
  for (std::int64_t p = demand_.part_offsets[transfer]; p < demand_.part_offsets[transfer + 1];
       ++p) {
    if (const auto part = static_cast<std::uint32_t>(p); lines_.enter(part)) {
      start_part(part);
    }
  }
}

void Run::start_part(std::uint32_t part) {
  const std::uint32_t c = folded_.class_of[part];
  Serving& serving = serving_[c];
  advance(serving);
  serving.ends.emplace_back(serving.served_bits + demand_.size_bits[part], part);
  std::ranges::push_heap(serving.ends, std::greater<>{});
  share_.add(c, 1);
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

void check(const FlowDemand& demand) {
  const std::size_t parts = demand.size_bits.size();
  const std::size_t transfers = demand.start_ps.size();
  const bool fits = demand.route_offsets.size() == parts + 1 && demand.cap_bps.size() == parts &&
                    demand.weight.size() == parts &&
                    (demand.shares.empty() || demand.shares.size() == demand.links.size()) &&
                    demand.part_offsets.size() == transfers + 1 &&
                    demand.delay_ps.size() == transfers && demand.latency_ps.size() == transfers &&
                    demand.wait_offsets.size() == transfers + 1 &&
                    (demand.connection.empty() || demand.connection.size() == parts);
  if (!fits) {
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
