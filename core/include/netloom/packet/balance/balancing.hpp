// The load balancing of all switches of a run, whichever kind it is.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "netloom/packet/balance/switching.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// One of the kinds in switching.hpp, by name. `Kind` below is the register of them.
class Balancing {
 public:
  /// @throws std::invalid_argument if there is none of that name.
  Balancing(std::string_view name, Network& network);

  /// Whether a packet's way does not depend on when it comes.
  [[nodiscard]] bool is_fixed() const { return fixed_; }

  /// One of several links.
  std::uint32_t choose(Network& net, std::uint32_t vertex, const Packet& packet, Ways ways) {
    if (std::holds_alternative<Ecmp>(kind_)) {
      return Ecmp::choose(net, vertex, packet, ways);
    }
    return choose_other(net, vertex, packet, ways);
  }

  template <class Archive>
  void visit(Archive& archive) {
    std::visit([&](auto& kind) { kind.visit(archive); }, kind_);
  }

  struct Info {
    std::string_view name;
    bool fixed;
  };

  /// Every kind that switches know.
  [[nodiscard]] static std::vector<Info> all();

 private:
  using Kind = std::variant<Ecmp, Adaptive, Cells, Flowlet, DModK, SourceRoute>;

  std::uint32_t choose_other(Network& net, std::uint32_t vertex, const Packet& packet, Ways ways);

  Kind kind_;
  bool fixed_;
};

}  // namespace netloom::packet
