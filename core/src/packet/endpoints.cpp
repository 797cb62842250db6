#include "netloom/packet/host/endpoints.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "netloom/packet/cc/schemes.hpp"
#include "netloom/packet/make.hpp"
#include "netloom/packet/transport/coded.hpp"
#include "netloom/packet/transport/go_back_n.hpp"
#include "netloom/packet/transport/selective.hpp"

namespace netloom::packet {

namespace {

template <class Transport>
EndpointsPtr make_one(Network& network, cc::ControllersPtr control) {
  return std::make_unique<Endpoints<Transport>>(network, std::move(control));
}

struct Entry {
  std::string_view name;
  bool pulls;
  EndpointsPtr (*make)(Network& network, cc::ControllersPtr control);
};

constexpr std::array kTransports{
    Entry{.name = "go-back-n", .pulls = GoBackN::kPulls, .make = &make_one<GoBackN>},
    Entry{.name = "selective", .pulls = Selective::kPulls, .make = &make_one<Selective>},
    Entry{.name = "coded", .pulls = Coded::kPulls, .make = &make_one<Coded>},
    Entry{.name = "pulled", .pulls = Pulled::kPulls, .make = &make_one<Pulled>},
};

const Entry& transport_of(const std::string& name) {
  for (const Entry& entry : kTransports) {
    if (entry.name == name) {
      return entry;
    }
  }
  throw std::invalid_argument("no transport '" + name + "'");
}

/// @throws std::invalid_argument unless the scheme goes with receivers that pull.
void check_pulls(const std::string& scheme) {
  if (cc::traits_of(scheme).goes_with_pulls) {
    return;
  }
  std::string able;
  for (const cc::SchemeInfo& one : cc::schemes()) {
    if (one.traits.goes_with_pulls) {
      able += (able.empty() ? "'" : " or '") + std::string(one.traits.name) + "'";
    }
  }
  throw std::invalid_argument("a receiver that pulls goes with " + able + ", not '" + scheme + "'");
}

}  // namespace

EndpointsPtr make_endpoints(Network& network) {
  const Config& config = network.config;
  const Entry& transport = transport_of(config.transport);
  if (transport.pulls) {
    check_pulls(config.congestion_control);
  }
  return transport.make(network,
                        cc::make_controllers(config.congestion_control,
                                             Parameters(config.cc_parameters),
                                             config.work.num_transfers()));
}

}  // namespace netloom::packet
