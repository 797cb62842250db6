// The paths that senders give their packets, flow by flow.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "netloom/packet/balance/entropy.hpp"
#include "netloom/packet/random.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// One of the ways to choose entropy for all flows of a run; `fixed` keeps the flow's source port.
class Spray {
 public:
  Spray(std::string_view kind, std::uint32_t num_paths, std::size_t num_flows)
      : num_paths_(static_cast<std::uint16_t>(num_paths)) {
    if (kind == "oblivious") {
      oblivious_.resize(num_flows);
    } else if (kind == "bitmap") {
      bitmap_.resize(num_flows);
    } else if (kind == "retiring") {
      retiring_.resize(num_flows);
    } else if (kind == "mixed") {
      mixed_.resize(num_flows);
    } else if (kind == "reps") {
      reps_.resize(num_flows);
    }
    fixed_ = oblivious_.empty() && bitmap_.empty() && retiring_.empty() && mixed_.empty() &&
             reps_.empty();
  }

  /// Whether packets of a flow differ.
  [[nodiscard]] bool sprays() const { return !fixed_; }

  void begin(std::uint32_t flow, Random& random) {
    each(flow, [&](auto& source) {
      source = std::remove_reference_t<decltype(source)>::make(num_paths_, random);
    });
  }

  std::uint16_t next(std::uint32_t flow, std::uint16_t otherwise, Random& random) {
    if (fixed_) {
      return otherwise;
    }
    std::uint16_t entropy = 0;
    each(flow, [&](auto& source) { entropy = source.next(random); });
    return entropy;
  }

  void on_ack(std::uint32_t flow, std::uint16_t entropy, bool marked, Time now) {
    each(flow, [&](auto& source) { source.on_ack(entropy, marked, now); });
  }

  void on_loss(std::uint32_t flow, std::uint16_t entropy, Time now) {
    each(flow, [&](auto& source) { source.on_loss(entropy, now); });
  }

  void on_timeout(std::uint32_t flow, std::uint16_t entropy, Time now) {
    each(flow, [&](auto& source) { source.on_timeout(entropy, now); });
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(oblivious_);
    archive(bitmap_);
    archive(retiring_);
    archive(mixed_);
    archive(reps_);
  }

 private:
  template <class Act>
  void each(std::uint32_t flow, Act act) {
    if (fixed_) {
      return;
    }
    if (!oblivious_.empty()) {
      act(oblivious_[flow]);
    } else if (!bitmap_.empty()) {
      act(bitmap_[flow]);
    } else if (!retiring_.empty()) {
      act(retiring_[flow]);
    } else if (!mixed_.empty()) {
      act(mixed_[flow]);
    } else {
      act(reps_[flow]);
    }
  }

  bool fixed_ = true;
  std::uint16_t num_paths_;
  std::vector<balance::Oblivious> oblivious_;
  std::vector<balance::Bitmap> bitmap_;
  std::vector<balance::Retiring> retiring_;
  std::vector<balance::Mixed> mixed_;
  std::vector<balance::Reps> reps_;
};

}  // namespace netloom::packet
