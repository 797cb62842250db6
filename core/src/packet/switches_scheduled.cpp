#include "netloom/packet/link/scheduled.hpp"
#include "netloom/packet/make_switches.hpp"

namespace netloom::packet {

SwitchesPtr make_scheduled_switches(const std::string& balance, Network& network) {
  return make_switches<Scheduled>(balance, network);
}

}  // namespace netloom::packet
