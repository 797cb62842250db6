// The paths that senders give their packets, flow by flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "netloom/packet/balance/entropy.hpp"
#include "netloom/packet/random.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// One of the ways to choose entropy for all flows of a run; `fixed` keeps the flow's source port.
class Spray {
 public:
  static constexpr std::string_view kFixed = "fixed";

  /// @throws std::invalid_argument if there is none of that name.
  Spray(std::string_view name, std::uint32_t num_paths, std::size_t num_flows);

  /// The ways that senders know, `fixed` first.
  [[nodiscard]] static std::vector<std::string_view> all();

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
    std::apply([&](auto&... all) { (archive(all), ...); }, sources_);
  }

 private:
  /// The register: the sources of all flows, of one kind alone.
  using Sources = std::tuple<std::vector<balance::Oblivious>,
                             std::vector<balance::Bitmap>,
                             std::vector<balance::Retiring>,
                             std::vector<balance::Mixed>,
                             std::vector<balance::Reps>>;

  template <class Act>
  void each(std::uint32_t flow, Act act) {
    if (fixed_) {
      return;
    }
    const auto acts = [&](auto& all) {
      if (all.empty()) {
        return false;
      }
      act(all[flow]);
      return true;
    };
    std::apply([&](auto&... all) { static_cast<void>((acts(all) || ...)); }, sources_);
  }

  bool fixed_ = true;
  std::uint16_t num_paths_;
  Sources sources_;
};

}  // namespace netloom::packet
