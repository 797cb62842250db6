#include "netloom/packet/cc/schemes.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "netloom/packet/cc/cubic.hpp"
#include "netloom/packet/cc/dcqcn.hpp"
#include "netloom/packet/cc/dcqcn_firmware.hpp"
#include "netloom/packet/cc/dctcp.hpp"
#include "netloom/packet/cc/dctcp_rate.hpp"
#include "netloom/packet/cc/hpcc.hpp"
#include "netloom/packet/cc/hpcc_pint.hpp"
#include "netloom/packet/cc/ib_cc.hpp"
#include "netloom/packet/cc/none.hpp"
#include "netloom/packet/cc/nscc.hpp"
#include "netloom/packet/cc/nscc_unscaled.hpp"
#include "netloom/packet/cc/reno.hpp"
#include "netloom/packet/cc/rttcc.hpp"
#include "netloom/packet/cc/swift.hpp"
#include "netloom/packet/cc/timely.hpp"

namespace netloom::packet::cc {

namespace {

/// Notes each parameter with the value that it has.
class Defaults {
 public:
  template <class T>
  Defaults& operator()(const char* name, const T& value) {
    found.emplace_back(name, static_cast<double>(value));
    return *this;
  }

  std::vector<std::pair<std::string, double>> found;
};

struct Entry {
  Traits traits;
  Reactions reactions;
  std::vector<std::pair<std::string, double>> (*defaults)();
  ControllersPtr (*make)(Parameters& parameters, std::size_t num_flows);
};

/// Traits that the code of the scheme contradicts are a mistake in one of the two.
consteval bool is_consistent(const Traits& traits, const Reactions& reactions) {
  const bool cnps = traits.cnp_interval_ps != 0;
  const bool telemetry = traits.telemetry != Telemetry::kNone;
  return (!traits.needs_marks || reactions.acks || (cnps && reactions.notifications)) &&
         (!cnps || reactions.notifications) && telemetry == (traits.telemetry_bytes != 0) &&
         (!telemetry || (reactions.acks && traits.needs_every_ack)) &&
         (traits.acks_per_rtt == 0 || !traits.needs_every_ack) &&
         (!traits.needs_every_ack || reactions.acks);
}

template <Scheme Cc>
consteval Entry entry() {
  static_assert(is_consistent(Cc::kTraits, reactions_of<Cc>()));
  return {
      .traits = Cc::kTraits,
      .reactions = reactions_of<Cc>(),
      .defaults =
          [] {
            typename Cc::Settings settings;  // NOLINT(misc-const-correctness): None has none
            Defaults defaults;
            settings.visit(defaults);
            return defaults.found;
          },
      .make = [](Parameters& parameters, std::size_t num_flows) -> ControllersPtr {
        typename Cc::Settings settings;
        settings.visit(parameters);
        parameters.finish(std::string(Cc::kTraits.name));
        return std::make_unique<ControllersOf<Cc>>(std::move(settings), num_flows);
      },
  };
}

template <Scheme... Ccs>
constexpr std::array<Entry, sizeof...(Ccs)> kEntriesOf{entry<Ccs>()...};

/// Every scheme; a new one needs its header above and its line here, and no other.
constexpr auto kEntries = kEntriesOf<  //
    None,
    Dcqcn,
    DcqcnFirmware,
    Hpcc,
    HpccPint,
    Timely,
    Swift,
    Dctcp,
    DctcpRate,
    IbCc,
    Reno,
    Cubic,
    Nscc,
    NsccUnscaled,
    Rttcc>;

const Entry& entry_of(std::string_view scheme) {
  for (const Entry& entry : kEntries) {
    if (entry.traits.name == scheme) {
      return entry;
    }
  }
  throw std::invalid_argument("no congestion control '" + std::string(scheme) + "'");
}

}  // namespace

std::vector<SchemeInfo> schemes() {
  std::vector<SchemeInfo> all;
  all.reserve(kEntries.size());
  for (const Entry& entry : kEntries) {
    all.push_back(
        {.traits = entry.traits, .reactions = entry.reactions, .parameters = entry.defaults()});
  }
  return all;
}

const Traits& traits_of(const std::string& scheme) {
  return entry_of(scheme).traits;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): what is read is taken out of it
ControllersPtr make_controllers(const std::string& scheme,
                                Parameters parameters,
                                std::size_t num_flows) {
  return entry_of(scheme).make(parameters, num_flows);
}

}  // namespace netloom::packet::cc
