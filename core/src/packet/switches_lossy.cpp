#include "netloom/packet/link/lossy.hpp"
#include "netloom/packet/make_switches.hpp"

namespace netloom::packet {

SwitchesPtr make_lossy_switches(const std::string& balance, Network& network) {
  return make_switches<Lossy>(balance, network);
}

}  // namespace netloom::packet
