#include <stdexcept>

#include "netloom/packet/make_endpoints.hpp"
#include "netloom/packet/transport/selective.hpp"

namespace netloom::packet {

EndpointsPtr make_pulled(const std::string& scheme, Parameters parameters, Network& network) {
  if (scheme == "none") {
    return make_one<Pulled, cc::None>(scheme, parameters, network);
  }
  if (scheme == "nscc") {
    return make_one<Pulled, cc::Nscc>(scheme, parameters, network);
  }
  throw std::invalid_argument("a receiver that pulls goes with 'none' or 'nscc', not '" + scheme +
                              "'");
}

}  // namespace netloom::packet
