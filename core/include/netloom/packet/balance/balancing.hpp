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

  /// The link that a packet may take if it comes soon; none if that cannot be told.
  [[nodiscard]] std::uint32_t guess(const Network& net,
                                    std::uint32_t vertex,
                                    const Packet& packet,
                                    Ways ways) const {
    if (const auto* cells = std::get_if<Cells>(&kind_)) {
      return cells->first_looked_at(net, vertex, packet, ways);
    }
    const auto* adaptive = std::get_if<Adaptive>(&kind_);
    return adaptive != nullptr ? adaptive->first_looked_at(net, vertex, packet, ways) : kNone;
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
