// Endpoints of one transport with every congestion control; included by one file a transport.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "netloom/packet/cc/all.hpp"
#include "netloom/packet/endpoints.hpp"
#include "netloom/packet/endpoints_answer.hpp"
#include "netloom/packet/endpoints_ask.hpp"
#include "netloom/packet/endpoints_connection.hpp"
#include "netloom/packet/endpoints_ports.hpp"
#include "netloom/packet/endpoints_prefetch.hpp"
#include "netloom/packet/endpoints_receive.hpp"
#include "netloom/packet/endpoints_send.hpp"
#include "netloom/packet/endpoints_silence.hpp"
#include "netloom/packet/make.hpp"

namespace netloom::packet {

template <class Transport, class Cc>
EndpointsPtr make_one(const std::string& scheme, Parameters& parameters, Network& network) {
  typename Cc::Settings settings;
  cc::read(parameters, settings);
  parameters.finish(scheme);
  return std::make_unique<Endpoints<Transport, Cc>>(network, std::move(settings));
}

template <class Transport>
// NOLINTNEXTLINE(performance-unnecessary-value-param): what is read is taken out of it
EndpointsPtr make_endpoints(const std::string& scheme, Parameters parameters, Network& network) {
  using Make = EndpointsPtr (*)(const std::string&, Parameters&, Network&);
  static const std::map<std::string, Make> schemes{
      {"none", &make_one<Transport, cc::None>},
      {"dcqcn", &make_one<Transport, cc::Dcqcn>},
      {"dcqcn-firmware", &make_one<Transport, cc::DcqcnFirmware>},
      {"hpcc", &make_one<Transport, cc::Hpcc>},
      {"hpcc-pint", &make_one<Transport, cc::HpccPint>},
      {"timely", &make_one<Transport, cc::Timely>},
      {"swift", &make_one<Transport, cc::Swift>},
      {"dctcp", &make_one<Transport, cc::Dctcp>},
      {"dctcp-rate", &make_one<Transport, cc::DctcpRate>},
      {"ib-cc", &make_one<Transport, cc::IbCc>},
      {"reno", &make_one<Transport, cc::Reno>},
      {"cubic", &make_one<Transport, cc::Cubic>},
      {"nscc", &make_one<Transport, cc::Nscc>},
      {"nscc-unscaled", &make_one<Transport, cc::NsccUnscaled>},
      {"rttcc", &make_one<Transport, cc::Rttcc>},
  };
  const auto found = schemes.find(scheme);
  if (found == schemes.end()) {
    throw std::invalid_argument("no congestion control '" + scheme + "'");
  }
  return found->second(scheme, parameters, network);
}

}  // namespace netloom::packet
