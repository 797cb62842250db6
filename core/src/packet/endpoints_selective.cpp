#include "netloom/packet/make_endpoints.hpp"
#include "netloom/packet/transport/selective.hpp"

namespace netloom::packet {

EndpointsPtr make_selective(const std::string& scheme, Parameters parameters, Network& network) {
  return make_endpoints<Selective>(scheme, std::move(parameters), network);
}

}  // namespace netloom::packet
