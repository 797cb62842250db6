// Policies by name.
#pragma once

#include <memory>
#include <string>

#include "netloom/packet/endpoints.hpp"
#include "netloom/packet/parameters.hpp"
#include "netloom/packet/switches.hpp"

namespace netloom::packet {

using SwitchesPtr = std::unique_ptr<SwitchSide>;
using EndpointsPtr = std::unique_ptr<EndpointSide>;

SwitchesPtr make_pfc_switches(const std::string& balance, Network& network);
SwitchesPtr make_credit_switches(const std::string& balance, Network& network);
SwitchesPtr make_lossy_switches(const std::string& balance, Network& network);
SwitchesPtr make_scheduled_switches(const std::string& balance, Network& network);
SwitchesPtr make_trimming_switches(const std::string& balance, Network& network);

EndpointsPtr make_go_back_n(const std::string& scheme, Parameters parameters, Network& network);
EndpointsPtr make_selective(const std::string& scheme, Parameters parameters, Network& network);
EndpointsPtr make_pulled(const std::string& scheme, Parameters parameters, Network& network);

}  // namespace netloom::packet
