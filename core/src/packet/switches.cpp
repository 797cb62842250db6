#include "netloom/packet/switch/switches.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "netloom/packet/link/credits.hpp"
#include "netloom/packet/link/lossy.hpp"
#include "netloom/packet/link/pfc.hpp"
#include "netloom/packet/link/relayed_pfc.hpp"
#include "netloom/packet/link/scheduled.hpp"
#include "netloom/packet/make.hpp"

namespace netloom::packet {

namespace {

template <class LinkControl>
SwitchesPtr make_one(Network& network) {
  return std::make_unique<Switches<LinkControl>>(network);
}

struct Entry {
  std::string_view name;
  SwitchesPtr (*make)(Network& network);
};

constexpr std::array kLinkControls{
    Entry{.name = "pfc", .make = &make_one<Pfc>},
    Entry{.name = "credits", .make = &make_one<Credits>},
    Entry{.name = "lossy", .make = &make_one<Lossy>},
    Entry{.name = "trimming", .make = &make_one<Trimming>},
    Entry{.name = "scheduled", .make = &make_one<Scheduled>},
};

}  // namespace

SwitchesPtr make_switches(Network& network) {
  if (network.config.timing.enabled) {
    if (network.config.link_control != "lossy") {
      throw std::invalid_argument("gates and shapers go with flow control 'lossy', not '" +
                                  network.config.link_control + "'");
    }
    return std::make_unique<Switches<Lossy, true>>(network);
  }
  if (network.config.link_control == "pfc" && !network.config.switches.relay_ps.empty()) {
    return make_one<RelayedPfc>(network);
  }
  for (const Entry& entry : kLinkControls) {
    if (entry.name == network.config.link_control) {
      return entry.make(network);
    }
  }
  throw std::invalid_argument("no flow control '" + network.config.link_control + "'");
}

}  // namespace netloom::packet
