// Memory of flows that events will look at, fetched ahead of them.
#pragma once

#include <bit>
#include <cstdint>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
void Endpoints<Transport>::expect(std::uint32_t /*link*/, Index index) {
  const Packet& packet = net_.pool[index];
  if (packet.form == Form::kData) {
    fetch_lines(&in_[packet.flow], sizeof(Incoming));
  } else {
    fetch_lines(&out_[packet.flow], sizeof(Outgoing));
    if (control_->reactions().acks) {
      control_->fetch(packet.flow);
    }
  }
}

template <class Transport>
void Endpoints<Transport>::expect_soon(std::uint32_t /*link*/, Index index) {
  const Packet& packet = net_.pool[index];
  if (packet.form != Form::kData) {
    return;
  }
  if (const std::uint32_t back = in_[packet.flow].link; back != kNone) {
    fetch_line(&net_.ports[back]);
  }
}

template <class Transport>
void Endpoints<Transport>::expect_wake_soon(std::uint32_t link) {
  net_.expect_flight(link);
}

template <class Transport>
void Endpoints<Transport>::expect_wake(std::uint32_t link) {
  for (std::uint32_t lanes = ready_.lanes(link); lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint8_t>(std::countr_zero(lanes));
    const std::uint32_t flow = ready_.first(link, lane);
    fetch_lines(&out_[flow], sizeof(Outgoing));
    if (control_->reactions().departures) {
      control_->fetch(flow);
    }
  }
}

}  // namespace netloom::packet
