// Each case states the times that theory gives, and why.
#include "netloom/flow.hpp"

#include <cstdlib>
#include <limits>
#include <vector>

#include "check.hpp"

namespace {

using netloom::FlowRecord;
using netloom::test::check;

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSecond = 1'000'000'000'000;

/// A set of one route a transfer, unless said otherwise; links of 1 bit/s each likewise.
struct Case {
  std::vector<double> capacity;
  std::vector<std::uint64_t> route_offsets;
  std::vector<std::uint32_t> links;
  std::vector<double> size_bits;
  std::vector<float> shares;
  std::vector<std::int64_t> wait_offsets;
  std::vector<std::int32_t> waits;
  std::vector<std::uint64_t> set_offsets;
  std::vector<std::uint32_t> connection;

  [[nodiscard]] FlowRecord run(std::uint32_t num_bins = 0) const {
    const std::size_t count = size_bits.size();
    const std::vector<double> weight(count, 1.0);
    const std::vector<std::int64_t> zero(count, 0);
    std::vector<std::uint32_t> set(count);
    std::vector<std::uint64_t> single(count + 1);
    for (std::size_t i = 0; i < count; ++i) {
      set[i] = static_cast<std::uint32_t>(i);
      single[i + 1] = i + 1;
    }
    const std::vector<std::int64_t> none(count + 1, 0);
    return netloom::run_flows(
        {
            .capacity_bps = capacity,
            .route_offsets = route_offsets,
            .links = links,
            .shares = shares,
            .set_offsets = set_offsets.empty() ? single : set_offsets,
            .weight = weight,
            .route_set = set,
            .size_bits = size_bits,
            .start_ps = zero,
            .delay_ps = zero,
            .latency_ps = zero,
            .wait_offsets = wait_offsets.empty() ? none : wait_offsets,
            .waits = waits,
            .connection = connection,
        },
        num_bins,
        kForever,
        {});
  }
};

// Two flows of 1 and 2 bits on one link: 1/2 each until 2 s, then the second alone for 1 s.
void the_longer_flow_speeds_up_when_the_shorter_has_ended() {
  const Case sharing{
      .capacity = {1.0},
      .route_offsets = {0, 1, 2},
      .links = {0, 0},
      .size_bits = {1.0, 2.0},
  };
  const FlowRecord record = sharing.run();
  check(record.finish_ps[0] == 2 * kSecond && record.finish_ps[1] == 3 * kSecond, "two flows");
  check(record.num_classes == 1, "flows on one link are one class");
}

// Links a (1) and b (4): the parking lot of max_min_test, with 1/2, 1/2 and 3.5 bits: all end at 1
// s.
void a_parking_lot_ends_at_once() {
  const Case lot{
      .capacity = {1.0, 4.0},
      .route_offsets = {0, 2, 3, 4},
      .links = {0, 1, 0, 1},
      .size_bits = {0.5, 0.5, 3.5},
  };
  const FlowRecord record = lot.run();
  check(record.finish_ps[0] == kSecond && record.finish_ps[2] == kSecond, "parking lot");
  check(record.bottleneck[0] == 0 && record.bottleneck[2] == 1, "bottlenecks");
}

// 3 of 4 parts of the flow cross link a (1), so 4/3 bit/s fit: 4 bits take 3 s.
void a_split_flow_is_held_by_its_fullest_link() {
  const Case split{
      .capacity = {1.0, 1.0},
      .route_offsets = {0, 2},
      .links = {0, 1},
      .size_bits = {4.0},
      .shares = {0.75F, 0.25F},
  };
  check(split.run().finish_ps[0] == 3 * kSecond, "split flow");
}

void a_transfer_starts_when_what_it_waits_for_has_arrived() {
  const Case chain{
      .capacity = {1.0, 1.0},
      .route_offsets = {0, 1, 2},
      .links = {0, 1},
      .size_bits = {2.0, 1.0},
      .wait_offsets = {0, 0, 1},
      .waits = {0},
  };
  const FlowRecord record = chain.run();
  check(record.start_ps[1] == 2 * kSecond && record.finish_ps[1] == 3 * kSecond, "chain");
}

// 3 bits in all, in 4 bins that end up wide enough for 3 s.
void bins_add_up_to_what_was_sent() {
  const Case sharing{
      .capacity = {1.0},
      .route_offsets = {0, 1, 2},
      .links = {0, 0},
      .size_bits = {1.0, 2.0},
  };
  const FlowRecord record = sharing.run(4);
  double total = 0;
  for (const float bits : record.used_bits) {
    total += static_cast<double>(bits);
  }
  check(total > 2.999999 && total < 3.000001, "bins");
}

// A transfer of 1 bit on each of three routes, two over link a and one over b, and one of 1 bit
// over a: three flows share a and are done after 3 s, the one on b after 1 s.
void routes_of_a_transfer_that_share_their_links_are_one_class() {
  const Case striped{
      .capacity = {1.0, 1.0},
      .route_offsets = {0, 1, 2, 3, 4},
      .links = {0, 0, 1, 0},
      .size_bits = {1.0, 1.0},
      .set_offsets = {0, 3, 4},
  };
  const FlowRecord record = striped.run();
  check(record.finish_ps[0] == 3 * kSecond && record.finish_ps[1] == 3 * kSecond, "striped");
  check(record.num_classes == 2, "routes that share their links are one class");
  check(record.bottleneck[0] == 0 && record.sharers[0] == 3, "the more shared link is told");
}

// Two transfers on one connection, of 1 and 2 bits over two routes each: the second waits.
void transfers_of_one_connection_go_one_after_another() {
  const Case queued{
      .capacity = {1.0, 2.0},
      .route_offsets = {0, 1, 2, 3, 4},
      .links = {0, 1, 0, 1},
      .size_bits = {1.0, 2.0},
      .set_offsets = {0, 2, 4},
      .connection = {0, 0},
  };
  const FlowRecord record = queued.run();
  check(record.finish_ps[0] == kSecond && record.finish_ps[1] == 3 * kSecond, "one connection");
}

}  // namespace

int main() {
  the_longer_flow_speeds_up_when_the_shorter_has_ended();
  a_parking_lot_ends_at_once();
  a_split_flow_is_held_by_its_fullest_link();
  a_transfer_starts_when_what_it_waits_for_has_arrived();
  bins_add_up_to_what_was_sent();
  routes_of_a_transfer_that_share_their_links_are_one_class();
  transfers_of_one_connection_go_one_after_another();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
