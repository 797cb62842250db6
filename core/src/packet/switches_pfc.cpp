#include "netloom/packet/link/pfc.hpp"
#include "netloom/packet/make_switches.hpp"

namespace netloom::packet {

SwitchesPtr make_pfc_switches(const std::string& balance, Network& network) {
  return make_switches<Pfc>(balance, network);
}

}  // namespace netloom::packet
