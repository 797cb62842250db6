#include "netloom/packet/link/lossy.hpp"
#include "netloom/packet/make_switches.hpp"

namespace netloom::packet {

SwitchesPtr make_trimming_switches(const std::string& balance, Network& network) {
  return make_switches<Trimming>(balance, network);
}

}  // namespace netloom::packet
