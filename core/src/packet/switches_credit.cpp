#include "netloom/packet/link/credits.hpp"
#include "netloom/packet/make_switches.hpp"

namespace netloom::packet {

SwitchesPtr make_credit_switches(const std::string& balance, Network& network) {
  return make_switches<Credits>(balance, network);
}

}  // namespace netloom::packet
