// Endpoints with several ports: which port a packet takes, and what a port leaves to others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
inline std::uint32_t Endpoints<Transport>::door(std::uint32_t from,
                                                std::uint32_t to,
                                                std::uint32_t flow,
                                                std::uint16_t entropy) const {
  const auto ways = net_.ways(from, to);
  if (ways.size() == 1) [[likely]] {
    return static_cast<std::uint32_t>(ways[0]);
  }
  const std::size_t turn = turn_of(net_, flow, entropy);
  for (std::size_t pick = turn; pick < turn + ways.size(); ++pick) {
    const auto link = static_cast<std::uint32_t>(ways[pick % ways.size()]);
    if (net_.ports[link].up) {
      return link;
    }
  }
  return static_cast<std::uint32_t>(ways[turn % ways.size()]);
}

template <class Transport>
inline bool Endpoints<Transport>::has_enough(std::uint32_t link, std::uint8_t lane) {
  constexpr std::uint32_t kAhead = 4;  // packets: those to one port come in no even order
  return net_.queue(link, lane).bytes >= kAhead * set_.payload_bytes;
}

template <class Transport>
void Endpoints<Transport>::send_over_ports(std::uint32_t flow) {
  const Work& work = net_.config.work;
  Outgoing& out = out_[flow];
  while (may_send(flow) && !awaits_pace(flow)) {
    draw(flow);
    if (has_enough(out.link, work.lane[flow])) {
      out.state = State::kReady;
      ready_.append(out.link, work.lane[flow], flow);
      return;
    }
    send(flow);
  }
  if (out.state == State::kIdle) {
    ask_later(flow);
  }
}

template <class Transport>
void Endpoints<Transport>::draw(std::uint32_t flow) {
  const Work& work = net_.config.work;
  Outgoing& out = out_[flow];
  const auto ways = net_.ways(static_cast<std::uint32_t>(work.source[flow]),
                              static_cast<std::uint32_t>(work.target[flow]));
  const std::uint8_t lane = work.lane[flow];
  const bool has_room = std::ranges::any_of(ways, [&](std::int32_t way) {
    const auto link = static_cast<std::uint32_t>(way);
    return net_.ports[link].up && !has_enough(link, lane);
  });
  for (std::uint32_t tried = 0; tried < set_.num_paths; ++tried) {
    if (!std::exchange(out.drawn, true)) {
      out.next_entropy = spray_.next(connections_.keeper(flow), work.entropy[flow], net_.random);
    }
    out.link =
        static_cast<std::uint32_t>(ways[turn_of(net_, flow, out.next_entropy) % ways.size()]);
    const bool full = has_room && tried < 8 * ways.size() && has_enough(out.link, lane);
    if (net_.ports[out.link].up && !full) {
      return;
    }
    out.drawn = false;
  }
  out.drawn = true;  // no value has a port that is up: the last one waits for its own
}

template <class Transport>
void Endpoints<Transport>::refill(std::uint32_t link) {
  for (std::uint32_t number = 0; number < net_.num_lanes; ++number) {
    const auto lane = static_cast<std::uint8_t>(number);
    while (((ready_.lanes(link) >> lane) & 1U) != 0 && !has_enough(link, lane)) {
      const std::uint32_t flow = ready_.first(link, lane);
      if (!out_[flow].many) {
        break;
      }
      ready_.take(link, lane);
      if (out_[flow].state != State::kDone) {
        out_[flow].state = State::kIdle;
        send_over_ports(flow);
      }
    }
  }
}

template <class Transport>
void Endpoints<Transport>::move_away(std::uint32_t link) {
  ready_.advance(link);
  std::vector<std::uint32_t> flows;
  std::vector<Index> packets;
  for (std::uint32_t number = 0; number < net_.num_lanes; ++number) {
    const auto lane = static_cast<std::uint8_t>(number);
    while (((ready_.lanes(link) >> lane) & 1U) != 0) {
      flows.push_back(ready_.take(link, lane));
    }
    while (net_.queue(link, lane).head != kNone) {
      packets.push_back(net_.take_first(link, lane));
    }
  }
  for (const Index index : packets) {
    const Packet& packet = net_.pool[index];
    dispatch(door(packet.source, packet.target, packet.flow, packet.entropy), index);
  }
  for (const std::uint32_t flow : flows) {
    if (out_[flow].state != State::kDone) {
      out_[flow].state = State::kIdle;
      offer(flow);
    }
  }
}

}  // namespace netloom::packet
