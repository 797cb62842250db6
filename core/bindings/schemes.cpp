// What the packet simulator knows by name, as the core itself has it.
#include "netloom/packet/cc/schemes.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netloom/packet/balance/balancing.hpp"
#include "netloom/packet/host/spray.hpp"
#include "register.hpp"

namespace netloom::bindings {

namespace nb = nanobind;

namespace {

using namespace netloom::packet;
using Facts = nb::typed<nb::dict, nb::str, nb::object>;
using Register = std::vector<std::pair<std::string, Facts>>;

const char* name_of(cc::Telemetry telemetry) {
  switch (telemetry) {
    case cc::Telemetry::kEveryHop:
      return "every-hop";
    case cc::Telemetry::kPint:
      return "pint";
    default:
      return "none";
  }
}

Facts facts_of(const cc::SchemeInfo& scheme) {
  Facts facts;
  facts["needs_marks"] = scheme.traits.needs_marks;
  facts["telemetry"] = name_of(scheme.traits.telemetry);
  facts["telemetry_bytes"] = scheme.traits.telemetry_bytes;
  facts["cnp_interval_ps"] = scheme.traits.cnp_interval_ps;
  facts["needs_every_ack"] = scheme.traits.needs_every_ack;
  facts["acks_per_rtt"] = scheme.traits.acks_per_rtt;
  facts["goes_with_pulls"] = scheme.traits.goes_with_pulls;
  facts["reacts_to_acks"] = scheme.reactions.acks;
  facts["reacts_to_cnps"] = scheme.reactions.notifications;
  facts["reacts_to_losses"] = scheme.reactions.losses;
  facts["reacts_to_timeouts"] = scheme.reactions.timeouts;
  nb::dict parameters;
  for (const auto& [name, value] : scheme.parameters) {
    parameters[name.c_str()] = value;
  }
  facts["parameters"] = parameters;
  return facts;
}

Register schemes() {
  Register all;
  for (const cc::SchemeInfo& scheme : cc::schemes()) {
    all.emplace_back(scheme.traits.name, facts_of(scheme));
  }
  return all;
}

Facts balancing(const char* chosen_by, bool keeps_path) {
  Facts facts;
  facts["chosen_by"] = chosen_by;
  facts["keeps_path"] = keeps_path;
  return facts;
}

Register load_balancings() {
  Register all;
  for (const Balancing::Info& kind : Balancing::all()) {
    all.emplace_back(kind.name, balancing("switch", kind.fixed));
  }
  for (const std::string_view name : Spray::all()) {
    all.emplace_back(name, balancing("sender", name == Spray::kFixed));
  }
  return all;
}

}  // namespace

void register_schemes(nb::module_& m) {
  m.def("schemes", &schemes, "Every congestion control: its name, traits and parameters.");
  m.def("load_balancings",
        &load_balancings,
        "Every way that switches choose links and senders choose entropy: its name and traits.");
}

}  // namespace netloom::bindings
