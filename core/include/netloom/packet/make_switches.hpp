// Switches of one link control with every balance; included by one source file a link control.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "netloom/packet/archive.hpp"
#include "netloom/packet/balance/switching.hpp"
#include "netloom/packet/make.hpp"
#include "netloom/packet/switches.hpp"

namespace netloom::packet {

template <class LinkControl, class Balance>
void Switches<LinkControl, Balance>::save(Saver& saver) {
  control_.visit(saver);
  balance_.visit(saver);
  saver(pint_);
}

template <class LinkControl, class Balance>
void Switches<LinkControl, Balance>::load(Loader& loader) {
  control_.visit(loader);
  balance_.visit(loader);
  loader(pint_);
}

template <class LinkControl>
SwitchesPtr make_switches(const std::string& balance, Network& network) {
  if (balance == "ecmp") {
    return std::make_unique<Switches<LinkControl, Ecmp>>(network);
  }
  if (balance == "adaptive") {
    return std::make_unique<Switches<LinkControl, Adaptive>>(network);
  }
  if (balance == "cells") {
    return std::make_unique<Switches<LinkControl, Cells>>(network);
  }
  if (balance == "flowlet") {
    return std::make_unique<Switches<LinkControl, Flowlet>>(network);
  }
  if (balance == "d-mod-k") {
    return std::make_unique<Switches<LinkControl, DModK>>(network);
  }
  if (balance == "source") {
    return std::make_unique<Switches<LinkControl, SourceRoute>>(network);
  }
  throw std::invalid_argument("no load balancing '" + balance + "'");
}

}  // namespace netloom::packet
