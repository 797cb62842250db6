// Each case states which value a rule of ultraethernet/uet-htsim gives, and why.
#include "netloom/packet/balance/entropy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "check.hpp"

namespace {

using netloom::packet::Time;
using netloom::packet::balance::Bitmap;
using netloom::packet::balance::Entropy;
using netloom::packet::balance::EntropySource;
using netloom::packet::balance::Mixed;
using netloom::packet::balance::Oblivious;
using netloom::packet::balance::Reps;
using netloom::packet::balance::Retiring;
using netloom::test::check;

constexpr std::uint16_t kNumPaths = 16;
constexpr std::uint16_t kPath = kNumPaths - 1;
constexpr Time kMillisecond = 1'000'000'000;

/// A linear congruential generator (Knuth's MMIX).
class Draw {
 public:
  std::uint32_t below(std::uint32_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>((state_ >> 32U) * bound >> 32U);
  }

 private:
  std::uint64_t state_ = 7;
};

/// Always the largest.
struct Largest {
  static std::uint32_t below(std::uint32_t bound) { return bound - 1; }
};

static_assert(EntropySource<Oblivious, Draw>);
static_assert(EntropySource<Bitmap, Draw>);
static_assert(EntropySource<Mixed, Draw>);
static_assert(EntropySource<Reps, Draw>);

template <class Source>
std::set<int> paths_of_a_cycle(Source& source, Draw& draw) {
  std::set<int> paths;
  for (std::uint16_t i = 0; i < kNumPaths; ++i) {
    paths.insert(source.next(draw) & kPath);
  }
  return paths;
}

void oblivious_spraying_uses_every_path_once_a_cycle() {
  Draw draw;
  auto source = Oblivious::make(kNumPaths, draw);
  for (int cycle = 0; cycle < 5; ++cycle) {
    check(paths_of_a_cycle(source, draw).size() == kNumPaths, "a path was left out");
  }
}

// Index 0, 1, 2 under the mask 1111 that the largest draw gives: 15, 14, 13; the flow's own upper
// bits are all set.
void the_order_is_the_index_under_a_mask() {
  Largest draw;
  auto source = Oblivious::make(kNumPaths, draw);
  for (const int path : {15, 14, 13}) {
    check(source.next(draw) == (0xFFF0 | path), "not the index under the mask");
  }
}

void a_clean_bitmap_uses_every_path_once_a_cycle() {
  Draw draw;
  auto source = Bitmap::make(kNumPaths, draw);
  for (int cycle = 0; cycle < 5; ++cycle) {
    check(paths_of_a_cycle(source, draw).size() == kNumPaths, "a path was left out");
  }
}

/// How many cycles pass before `path` is used again.
int cycles_without(Bitmap source, int path) {
  Largest draw;
  for (int sent = 0; sent < 40 * kNumPaths; ++sent) {
    if ((source.next(draw) & kPath) == path) {
      return sent / (kNumPaths - 1);
    }
  }
  return -1;
}

// Marks cost 1, losses 4, timeouts 15, and 15 is the most. A turn passed over pays 1: with one path
// in debt a cycle is 15 packets and pays 1 off.
void a_path_is_skipped_once_for_each_penalty() {
  Largest draw;
  auto source = Bitmap::make(kNumPaths, draw);
  const Entropy entropy = 5;
  check(cycles_without(source, entropy) == 0, "a clean path is used in its turn");
  source.on_ack(entropy, /*marked=*/false, 0);
  check(cycles_without(source, entropy) == 0, "an unmarked acknowledgement costs nothing");
  source.on_ack(entropy, /*marked=*/true, 0);
  check(cycles_without(source, entropy) == 1, "a mark costs one turn");
  source.on_loss(entropy, 0);
  check(cycles_without(source, entropy) == 5, "a loss costs four more");
  source.on_timeout(entropy, 0);
  source.on_timeout(entropy, 0);
  check(cycles_without(source, entropy) == 15, "no path owes more than 15");
}

// Sixteen paths that owe 1 each. The first call takes 1 off the first path, finds all others in
// debt and comes back to the first, now clean.
void a_sender_goes_on_when_every_path_owes() {
  Largest draw;
  auto source = Bitmap::make(kNumPaths, draw);
  for (Entropy path = 0; path < kNumPaths; ++path) {
    source.on_ack(path, /*marked=*/true, 0);
  }
  check((source.next(draw) & kPath) == 15, "the first in turn is used all the same");
}

// Fifteen are left of sixteen, for good. A trimmed packet costs four turns, as without.
void a_value_that_lost_a_packet_is_retired() {
  Draw draw;
  auto source = Retiring::make(kNumPaths, draw);
  source.on_timeout(5, 0);
  source.on_loss(6, 0);
  std::array<int, kNumPaths> used{};
  for (int sent = 0; sent < 40 * kNumPaths; ++sent) {
    ++used.at(source.next(draw) & kPath);
  }
  check(used[5] == 0, "retired");
  check(used[6] > 0 && used[7] - used[6] == 4, "avoided, and taken up again");
}

void when_all_values_are_retired_they_begin_anew() {
  Draw draw;
  auto source = Retiring::make(kNumPaths, draw);
  for (Entropy path = 0; path < kNumPaths; ++path) {
    source.on_timeout(path, 0);
    source.on_timeout(path, 0);
  }
  std::array<bool, kNumPaths> used{};
  for (std::uint16_t sent = 0; sent < kNumPaths; ++sent) {
    used.at(source.next(draw) & kPath) = true;
  }
  check(std::ranges::count(used, true) >= kNumPaths - 1, "all but the last to be lost");
}

// The largest draw sets the flow's upper bits and begins its cycle with path 15.
void a_mixed_sender_recycles_first_and_cycles_else() {
  Largest draw;
  auto source = Mixed::make(kNumPaths, draw);
  check(source.next(draw) == 0xFFFF, "nothing has come back: the first of the cycle");
  source.on_ack(0xFFF3, /*marked=*/false, 1);
  source.on_ack(0xFFF4, /*marked=*/true, 2);
  source.on_loss(0xFFFE, 3);
  source.on_ack(0xFFF5, /*marked=*/false, 4);
  check(source.next(draw) == 0xFFF3, "the oldest that came back unmarked, with its upper bits");
  check(source.next(draw) == 0xFFF5, "a marked value is not recycled");
  check(source.next(draw) == 0xFFFD, "then the cycle goes on, past 14 that was lost");
}

// Seventy values come back, sixty-four are kept: the oldest.
void a_mixed_sender_keeps_sixty_four_values() {
  Largest draw;
  auto source = Mixed::make(kNumPaths, draw);
  for (Entropy i = 0; i < 70; ++i) {
    source.on_ack(i % 3, /*marked=*/false, 1);
  }
  for (int i = 0; i < 64; ++i) {
    check((source.next(draw) & kPath) == i % 3, "in the order in which they came");
  }
  check((source.next(draw) & kPath) == 15, "then the cycle");
}

void reps_recycles_unmarked_values_oldest_first() {
  Largest draw;
  auto source = Reps::make(kNumPaths, draw);
  check(source.next(draw) == 15, "an empty cache draws");
  source.on_ack(3, /*marked=*/false, 1);
  source.on_ack(4, /*marked=*/true, 2);
  source.on_ack(5, /*marked=*/false, 3);
  check(source.next(draw) == 3, "the oldest first");
  check(source.next(draw) == 5, "a marked value is not recycled");
  check(source.next(draw) == 15, "each is recycled once");
}

// Nine values into eight slots: the ninth takes the place of the first.
void reps_forgets_the_oldest_of_nine() {
  Largest draw;
  auto source = Reps::make(kNumPaths, draw);
  for (Entropy entropy = 0; entropy < 9; ++entropy) {
    source.on_ack(entropy, /*marked=*/false, 1);
  }
  for (Entropy entropy = 1; entropy < 9; ++entropy) {
    check(source.next(draw) == entropy, "the eight that are left, oldest first");
  }
  check(source.next(draw) == 15, "then none");
}

void a_frozen_cache_is_used_over_and_over() {
  Largest draw;
  auto source = Reps::make(kNumPaths, draw);
  source.on_ack(3, /*marked=*/false, 1);
  source.on_ack(5, /*marked=*/false, 1);
  source.on_timeout(9, 2);
  for (const Entropy entropy : std::array<Entropy, 4>{3, 5, 3, 5}) {
    check(source.next(draw) == entropy, "a frozen cache draws nothing new");
  }
}

// Frozen at 2 for 10 ms. The first answer after that empties the cache; 16 packets explore.
void a_thawed_cache_explores_sixteen_times() {
  Largest draw;
  auto source = Reps::make(kNumPaths, draw);
  source.on_ack(3, /*marked=*/false, 1);
  source.on_timeout(9, 2);
  source.on_loss(9, 2 + 10 * kMillisecond);
  check(source.next(draw) == 3, "ten milliseconds are not over");
  source.on_ack(6, /*marked=*/false, 3 + 10 * kMillisecond);
  for (int explored = 0; explored < 16; ++explored) {
    check(source.next(draw) == 15, "explores although a value is cached");
  }
  check(source.next(draw) == 6, "then recycles");
}

}  // namespace

int main() {
  oblivious_spraying_uses_every_path_once_a_cycle();
  the_order_is_the_index_under_a_mask();
  a_clean_bitmap_uses_every_path_once_a_cycle();
  a_path_is_skipped_once_for_each_penalty();
  a_sender_goes_on_when_every_path_owes();
  a_value_that_lost_a_packet_is_retired();
  when_all_values_are_retired_they_begin_anew();
  a_mixed_sender_recycles_first_and_cycles_else();
  a_mixed_sender_keeps_sixty_four_values();
  reps_recycles_unmarked_values_oldest_first();
  reps_forgets_the_oldest_of_nine();
  a_frozen_cache_is_used_over_and_over();
  a_thawed_cache_explores_sixteen_times();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
