// Which path a packet takes, where the sender says so: a number in its header (entropy value) that
// switches hash. Rules read in ultraethernet/uet-htsim (uec_mp.cpp, buffer_reps.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "netloom/packet/signals.hpp"

namespace netloom::packet::balance {

using Entropy = std::uint16_t;

/// Draws numbers: `below(bound)` is uniform in [0, bound).
template <class Random>
concept Draws = requires(Random& random, std::uint32_t bound) {
  { random.below(bound) } -> std::same_as<std::uint32_t>;
};

/// A sender's choice of paths: the state of one flow, and what it hears of each value it used.
template <class Source, class Random>
concept EntropySource =
    std::is_trivially_copyable_v<Source> && Draws<Random> &&
    requires(Source source, Random& random, std::uint16_t num_paths, Entropy entropy, Time now) {
      { Source::make(num_paths, random) } -> std::same_as<Source>;
      { source.next(random) } -> std::same_as<Entropy>;
      { source.on_ack(entropy, /*marked=*/true, now) } -> std::same_as<void>;
      { source.on_loss(entropy, now) } -> std::same_as<void>;  ///< NACK or trim
      { source.on_timeout(entropy, now) } -> std::same_as<void>;
    };

/// Every value once, in an order that a random mask shuffles again each round.
class Cycle {
 public:
  /// `num_paths` is a power of two.
  static Cycle make(std::uint16_t num_paths, Draws auto& random) {
    assert(std::has_single_bit(num_paths));
    Cycle cycle;
    cycle.mask_ = static_cast<Entropy>(num_paths - 1);
    cycle.upper_ = static_cast<Entropy>(random.below(0x10000) & ~std::uint32_t{cycle.mask_});
    cycle.shuffle_ = cycle.any(random);
    return cycle;
  }

  /// The value whose turn it is, without the flow's own upper bits.
  [[nodiscard]] Entropy path() const { return static_cast<Entropy>((index_ ^ shuffle_) & mask_); }

  [[nodiscard]] Entropy path(Entropy entropy) const { return entropy & mask_; }

  [[nodiscard]] Entropy entropy() const { return entropy(path()); }

  [[nodiscard]] Entropy entropy(Entropy path) const { return path | upper_; }

  [[nodiscard]] std::uint32_t num_paths() const { return mask_ + 1U; }

  void advance(Draws auto& random) {
    index_ = static_cast<Entropy>((index_ + 1U) & mask_);
    if (index_ == 0) {
      shuffle_ = any(random);
    }
  }

 private:
  Entropy any(Draws auto& random) const { return static_cast<Entropy>(random.below(num_paths())); }

  Entropy mask_ = 0;
  Entropy upper_ = 0;  ///< The flow's own, so that two flows' values hash apart.
  Entropy index_ = 0;
  Entropy shuffle_ = 0;
};

/// Oblivious spraying: round robin over all values, whatever happens to them.
class Oblivious {
 public:
  static constexpr std::string_view kName = "oblivious";

  static Oblivious make(std::uint16_t num_paths, Draws auto& random) {
    Oblivious source;
    source.cycle_ = Cycle::make(num_paths, random);
    return source;
  }

  Entropy next(Draws auto& random) {
    const Entropy entropy = cycle_.entropy();
    cycle_.advance(random);
    return entropy;
  }

  static void on_ack(Entropy /*entropy*/, bool /*marked*/, Time /*now*/) {}

  static void on_loss(Entropy /*entropy*/, Time /*now*/) {}

  static void on_timeout(Entropy /*entropy*/, Time /*now*/) {}

 private:
  Cycle cycle_;
};

/// Round robin that skips values which owe a penalty for congestion; being skipped pays one off.
class Bitmap {
 public:
  static constexpr std::string_view kName = "bitmap";

  static constexpr std::uint16_t kMaxPaths = 256;

  /// `num_paths` is a power of two, `kMaxPaths` at most.
  static Bitmap make(std::uint16_t num_paths, Draws auto& random) {
    assert(num_paths <= kMaxPaths);
    Bitmap source;
    source.cycle_ = Cycle::make(num_paths, random);
    return source;
  }

  /// One value pays in each call; when all owe, the next in turn is used all the same.
  Entropy next(Draws auto& random) {
    if (owes(cycle_.path())) {
      penalize(cycle_.path(), -1);
      for (std::uint32_t tried = 0; tried < cycle_.num_paths(); ++tried) {
        cycle_.advance(random);
        if (!owes(cycle_.path())) {
          break;
        }
      }
    }
    const Entropy entropy = cycle_.entropy();
    cycle_.advance(random);
    return entropy;
  }

  void on_ack(Entropy entropy, bool marked, Time /*now*/) {
    if (marked) {
      penalize(cycle_.path(entropy), 1);
    }
  }

  void on_loss(Entropy entropy, Time /*now*/) { penalize(cycle_.path(entropy), 4); }

  void on_timeout(Entropy entropy, Time /*now*/) { penalize(cycle_.path(entropy), kMaxPenalty); }

  [[nodiscard]] Entropy path(Entropy entropy) const { return cycle_.path(entropy); }

  /// The value that stands for `path`.
  [[nodiscard]] Entropy entropy(Entropy path) const { return cycle_.entropy(path); }

 private:
  static constexpr int kMaxPenalty = 15;

  [[nodiscard]] int penalty(Entropy path) const {
    return static_cast<int>(pairs_.at(path / 2U) >> (path % 2U * 4U) & 0xFU);
  }

  [[nodiscard]] bool owes(Entropy path) const { return penalty(path) > 0; }

  void penalize(Entropy path, int change) {
    const auto owed = static_cast<unsigned>(std::min(penalty(path) + change, kMaxPenalty));
    const unsigned shift = path % 2U * 4U;
    const unsigned kept = pairs_.at(path / 2U) & ~(0xFU << shift);
    pairs_.at(path / 2U) = static_cast<std::uint8_t>(kept | owed << shift);
  }

  Cycle cycle_;
  std::array<std::uint8_t, kMaxPaths / 2> pairs_{};  ///< Penalties, four bits each.
};

/// `Bitmap`, and a value whose packet was lost is used no more (MRC, secondary: loss retires a
/// value; a trimmed packet is not lost). When all are retired they start over. MRC's probes, which
/// bring values back, are not sent.
class Retiring {
 public:
  static constexpr std::string_view kName = "retiring";

  static Retiring make(std::uint16_t num_paths, Draws auto& random) {
    Retiring source;
    source.bitmap_ = Bitmap::make(num_paths, random);
    source.num_left_ = num_paths;
    return source;
  }

  Entropy next(Draws auto& random) {
    Entropy entropy = bitmap_.next(random);
    while (retired_.test(bitmap_.path(entropy))) {
      entropy = bitmap_.next(random);
    }
    return entropy;
  }

  void on_ack(Entropy entropy, bool marked, Time now) { bitmap_.on_ack(entropy, marked, now); }

  void on_loss(Entropy entropy, Time now) { bitmap_.on_loss(entropy, now); }

  void on_timeout(Entropy entropy, Time /*now*/) {
    const Entropy path = bitmap_.path(entropy);
    if (retired_.test(path)) {
      return;
    }
    if (num_left_ == 1) {
      num_left_ += static_cast<std::uint16_t>(retired_.count());
      retired_.reset();
      return;
    }
    retired_.set(path);
    --num_left_;
  }

 private:
  Bitmap bitmap_;
  std::bitset<Bitmap::kMaxPaths> retired_;
  std::uint16_t num_left_ = 1;
};

/// The values that came back unmarked again, in the order in which they came; without one,
/// `Bitmap`.
class Mixed {
 public:
  static constexpr std::string_view kName = "mixed";

  static Mixed make(std::uint16_t num_paths, Draws auto& random) {
    Mixed source;
    source.bitmap_ = Bitmap::make(num_paths, random);
    return source;
  }

  Entropy next(Draws auto& random) {
    if (num_good_ == 0) {
      return bitmap_.next(random);
    }
    const std::uint8_t path = good_.at(first_);
    first_ = static_cast<std::uint8_t>((first_ + 1U) % kSlots);
    --num_good_;
    return bitmap_.entropy(path);
  }

  void on_ack(Entropy entropy, bool marked, Time now) {
    bitmap_.on_ack(entropy, marked, now);
    if (!marked && num_good_ < kSlots) {
      good_.at((first_ + num_good_) % kSlots) = static_cast<std::uint8_t>(bitmap_.path(entropy));
      ++num_good_;
    }
  }

  void on_loss(Entropy entropy, Time now) { bitmap_.on_loss(entropy, now); }

  void on_timeout(Entropy entropy, Time now) { bitmap_.on_timeout(entropy, now); }

 private:
  // uet-htsim's list has no end. Incasts fill this one, where one path is as good as another.
  static constexpr std::size_t kSlots = 64;

  Bitmap bitmap_;
  std::array<std::uint8_t, kSlots> good_{};  ///< Paths; a ring.
  std::uint8_t first_ = 0;
  std::uint8_t num_good_ = 0;
};

static_assert(Bitmap::kMaxPaths <= 256);  // a path is a byte above

/// REPS: Bonato et al., "REPS: Recycled Entropy Packet Spraying" (arXiv 2407.21625).
///
/// Values that came back unmarked are used again, oldest first; without one, a random value. After
/// a timeout the cache is frozen: only values in it are used, over and over, until paths that died
/// have been routed around.
class Reps {
 public:
  static constexpr std::string_view kName = "reps";

  static Reps make(std::uint16_t num_paths, Draws auto& /*random*/) {
    Reps source;
    source.num_paths_ = num_paths;
    return source;
  }

  Entropy next(Draws auto& random) {
    if (num_explore_ > 0) {
      --num_explore_;
    } else if (frozen() && num_cached_ > 0) {
      const std::size_t slot = frozen_slot_;
      frozen_slot_ = static_cast<std::uint8_t>((frozen_slot_ + 1U) % num_cached_);
      return take(slot);
    } else if (!frozen() && fresh_mask_ != 0) {
      return take((head_ + kSlots - num_fresh()) % kSlots);
    }
    return static_cast<Entropy>(random.below(num_paths_));
  }

  void on_ack(Entropy entropy, bool marked, Time now) {
    thaw(now);
    if (!marked) {
      cache(entropy);
    }
  }

  void on_loss(Entropy /*entropy*/, Time now) { thaw(now); }

  void on_timeout(Entropy /*entropy*/, Time now) {
    if (!frozen() && num_explore_ == 0) {
      frozen_until_ = now + kFreeze;
    }
    thaw(now);
  }

 private:
  static constexpr std::size_t kSlots = 8;               // repsBufferSize
  static constexpr Time kFreeze = 10'000'000'000;        // 10 ms: exit_freeze_after
  static constexpr std::uint8_t kExploreAfterThaw = 16;  // explore_counter

  [[nodiscard]] bool frozen() const { return frozen_until_ != 0; }

  [[nodiscard]] std::size_t num_fresh() const {
    return static_cast<std::size_t>(std::popcount(fresh_mask_));
  }

  void thaw(Time now) {
    if (frozen() && now > frozen_until_) {
      const std::uint16_t num_paths = num_paths_;
      *this = {};
      num_paths_ = num_paths;
      num_explore_ = kExploreAfterThaw;
    }
  }

  void cache(Entropy entropy) {
    values_.at(head_) = entropy;
    fresh_mask_ = static_cast<std::uint8_t>(fresh_mask_ | 1U << head_);
    head_ = static_cast<std::uint8_t>((head_ + 1U) % kSlots);
    num_cached_ = static_cast<std::uint8_t>(std::min<std::size_t>(num_cached_ + 1U, kSlots));
  }

  Entropy take(std::size_t slot) {
    fresh_mask_ = static_cast<std::uint8_t>(fresh_mask_ & ~(1U << slot));
    return values_.at(slot);
  }

  Time frozen_until_ = 0;  ///< Zero while not frozen.
  std::array<Entropy, kSlots> values_{};
  std::uint16_t num_paths_ = 1;
  std::uint8_t fresh_mask_ = 0;  ///< Slots not used since they were written.
  std::uint8_t num_cached_ = 0;
  std::uint8_t head_ = 0;         ///< Next to write.
  std::uint8_t frozen_slot_ = 0;  ///< Next to reuse while frozen.
  std::uint8_t num_explore_ = 0;
};

static_assert(sizeof(Reps) <= 40);

}  // namespace netloom::packet::balance
