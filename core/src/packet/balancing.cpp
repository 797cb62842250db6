#include "netloom/packet/balance/balancing.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "netloom/packet/host/spray.hpp"

namespace netloom::packet {

namespace {

template <class Kind, std::size_t at = 0>
Kind make_kind(std::string_view name, Network& network) {
  if constexpr (at == std::variant_size_v<Kind>) {
    throw std::invalid_argument("no load balancing '" + std::string(name) + "'");
  } else if (std::variant_alternative_t<at, Kind>::kName == name) {
    return Kind(std::in_place_index<at>, network);
  } else {
    return make_kind<Kind, at + 1>(name, network);
  }
}

}  // namespace

Balancing::Balancing(std::string_view name, Network& network)
    : kind_(make_kind<Kind>(name, network)),
      fixed_(std::visit([](const auto& kind) { return kind.kFixed; }, kind_)) {}

std::uint32_t Balancing::choose_other(Network& net,
                                      std::uint32_t vertex,
                                      const Packet& packet,
                                      Ways ways) {
  return std::visit([&](auto& kind) { return kind.choose(net, vertex, packet, ways); }, kind_);
}

std::vector<Balancing::Info> Balancing::all() {
  return []<class... Kinds>(const std::variant<Kinds...>* /*of*/) {
    return std::vector<Info>{{.name = Kinds::kName, .fixed = Kinds::kFixed}...};
  }(static_cast<const Kind*>(nullptr));
}

Spray::Spray(std::string_view name, std::uint32_t num_paths, std::size_t num_flows)
    : fixed_(name == kFixed), num_paths_(static_cast<std::uint16_t>(num_paths)) {
  const auto fill = [&]<class Source>(std::vector<Source>& sources) {
    sources.resize(Source::kName == name ? num_flows : 0);
    return Source::kName == name;
  };
  const bool found = std::apply([&](auto&... all) { return (fill(all) || ...); }, sources_);
  if (!fixed_ && !found) {
    throw std::invalid_argument("no way to spray '" + std::string(name) + "'");
  }
}

std::vector<std::string_view> Spray::all() {
  return []<class... Kinds>(const std::tuple<std::vector<Kinds>...>* /*of*/) {
    return std::vector<std::string_view>{kFixed, Kinds::kName...};
  }(static_cast<const Sources*>(nullptr));
}

}  // namespace netloom::packet
