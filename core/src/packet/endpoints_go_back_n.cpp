#include "netloom/packet/make_endpoints.hpp"
#include "netloom/packet/transport/go_back_n.hpp"

namespace netloom::packet {

EndpointsPtr make_go_back_n(const std::string& scheme, Parameters parameters, Network& network) {
  return make_endpoints<GoBackN>(scheme, std::move(parameters), network);
}

}  // namespace netloom::packet
