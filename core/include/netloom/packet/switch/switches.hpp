// Every switch of the network: admission, routing, queues, marks, telemetry.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "netloom/packet/balance/balancing.hpp"
#include "netloom/packet/cc/pint.hpp"
#include "netloom/packet/host/ready_flows.hpp"
#include "netloom/packet/link/credits.hpp"
#include "netloom/packet/link/pfc.hpp"
#include "netloom/packet/link/scheduled.hpp"
#include "netloom/packet/memory/archive.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/queue/ecn.hpp"
#include "netloom/packet/queue/scheduler.hpp"
#include "netloom/packet/sides.hpp"

namespace netloom::packet {

template <class LinkControl>
class Switches final : public SwitchSide {
 public:
  explicit Switches(Network& network)
      : net_(network),
        control_(network),
        balance_(network.config.balance, network),
        pint_(network.config.switches.pint ? network.ports.size() : 0),
        several_(!network.config.work.turn.empty()),
        shares_nics_(network.config.hosts.probe_rtts == 0 &&
                     std::ranges::any_of(network.ports, [](const Port& port) {
                       return port.uncontrolled && port.to_switch;
                     })) {}

  void arrive(std::uint32_t in, Index index) override {
    Packet& packet = net_.pool[index];
    const std::uint32_t vertex = net_.ports[in].target;
    const std::uint32_t out = route(vertex, packet);
    if (out == kNone) [[unlikely]] {
      ++net_.counters.unroutable;
      discard(in, index);
      return;
    }
    if (waits_for_tail(in, out, index)) {
      return;
    }
    packet.flags &= static_cast<std::uint8_t>(~kStored);
    if constexpr (requires { control_.keeps(in, out, index); }) {
      if (!control_.keeps(in, out, index)) {
        enqueue(out, index);
      }
      send_released();
    } else {
      admit(in, out, index);
    }
  }

  void wake(std::uint32_t link) override {
    const Port& out = net_.port(link);
    if (out.busy_until > net_.now) {
      net_.wake_later(link);
      return;
    }
    const auto able = static_cast<std::uint16_t>(out.waiting & ~out.paused);
    if (able == 0 || !out.up) {
      return;
    }
    const std::uint8_t lane = next_lane(net_, link, able);
    const Index index = net_.take_first(link, lane);
    if (const Index next = net_.queue(link, lane).head; next != kNone) {
      fetch_line(&net_.pool[next]);
    }
    depart(link, index);
    if ((out.waiting & ~out.paused) != 0) {
      net_.wake_later(link);
    }
  }

  void handle(const Event& event) override {
    control_.handle(event);
    send_released();
  }

  void expect(std::uint32_t in, Index index) override {
    Packet& packet = net_.pool[index];
    const std::uint32_t vertex = net_.ports[in].target;
    const Ways ways = net_.ways(vertex, packet.target);
    if (ways.empty() || (ways.size() > 1 && !balance_.is_fixed())) {
      return;
    }
    const std::uint32_t out =
        ways.size() == 1 ? static_cast<std::uint32_t>(ways[0]) : choose(vertex, packet, ways);
    packet.came_by = out;
    fetch_line(&net_.ports[out]);
    fetch_line(&net_.queue(out, packet.lane));
    fetch_line(&net_.config.switches.kmin_bytes[out]);
    control_.prefetch(in, packet);
  }

  void expect_soon(std::uint32_t /*in*/, Index index) override {
    const Packet& packet = net_.pool[index];
    if (packet.came_by != kNone) {
      net_.expect_flight(packet.came_by);
      net_.expect_queue(packet.came_by, packet.lane);
    }
  }

  void expect_wake(std::uint32_t link) override {
    for (std::uint32_t lanes = net_.ports[link].waiting; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint8_t>(std::countr_zero(lanes));
      fetch_line(&net_.pool[net_.queue(link, lane).head]);
    }
    net_.expect_flight(link);
    fetch_line(&net_.config.switches.kmin_bytes[link]);
  }

  void expect_wake_soon(std::uint32_t link) override {
    for (std::uint32_t lanes = net_.ports[link].waiting; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint8_t>(std::countr_zero(lanes));
      const Packet& packet = net_.pool[net_.queue(link, lane).head];
      fetch_line(&net_.ports[packet.came_by]);
      control_.prefetch(packet.came_by, packet);
    }
  }

  void flush(std::uint32_t link, std::uint8_t lane) override {
    while (net_.queue(link, lane).head != kNone) {
      const Index index = net_.take_first(link, lane);
      control_.depart(net_.pool[index].came_by, net_.pool[index], net_.now);
      net_.pool.give_back(index);
      ++net_.counters.drops;
    }
  }

  void save(Saver& saver) override { visit(saver); }

  void load(Loader& loader) override { visit(loader); }

 private:
  void visit(auto& archive) {
    control_.visit(archive);
    balance_.visit(archive);
    archive(pint_);
  }

  void admit(std::uint32_t in, std::uint32_t out, Index index) {
    Packet& packet = net_.pool[index];
    const Verdict verdict = control_.admit(in, out, packet);
    packet.came_by = in;
    if (verdict == Verdict::kTake) [[likely]] {
      enqueue(out, index);
    } else if (verdict == Verdict::kTrim) {
      trim(in, out, index);
    } else {
      refuse(index);
    }
  }

  /// Drops a packet; or sends it back, if it is the header of one and the switch does that.
  void refuse(Index index) {
    const Packet& packet = net_.pool[index];
    if (net_.config.switches.return_headers && packet.form == Form::kData &&
        (packet.flags & kTrimmed) != 0 && return_header(index)) {
      return;
    }
    ++net_.counters.drops;
    net_.pool.give_back(index);
  }

  /// Turns a header round (NDP's return to sender, htsim CompositeQueue): it says that its packet
  /// is lost, and nothing of any other. Returns whether it fits.
  bool return_header(Index index) {
    Packet& packet = net_.pool[index];
    const std::uint32_t in = packet.came_by;
    std::swap(packet.source, packet.target);
    packet.form = Form::kNack;
    packet.flags = static_cast<std::uint8_t>(kReturned | (packet.flags & kAtLastHop));
    packet.offset = 0;
    packet.bits = 0;
    packet.came_by = kNone;
    const std::uint32_t back = route(net_.ports[in].target, packet);
    packet.came_by = in;
    if (back == kNone || control_.admit(in, back, packet) != Verdict::kTake) {
      return false;
    }
    enqueue(back, index);
    return true;
  }

  /// Sends on what a scheduled fabric kept and now lets go.
  void send_released() {
    if constexpr (requires { control_.take_released(); }) {
      for (auto freed = control_.take_released(); freed.index != kNone;
           freed = control_.take_released()) {
        Packet& packet = net_.pool[freed.index];
        packet.came_by = kNone;  // no buffer of a link holds it
        const std::uint32_t out = route(freed.vertex, packet);
        if (out == kNone) [[unlikely]] {
          ++net_.counters.unroutable;
          net_.pool.give_back(freed.index);
          continue;
        }
        enqueue(out, freed.index);
      }
    }
  }

  std::uint32_t route(std::uint32_t vertex, const Packet& packet) {
    if (packet.came_by != kNone && net_.ports[packet.came_by].up) {
      return packet.came_by;  // expect() has chosen
    }
    const Ways ways = net_.ways(vertex, packet.target);
    if (ways.empty()) [[unlikely]] {
      return kNone;
    }
    const std::uint32_t link =
        ways.size() == 1 ? static_cast<std::uint32_t>(ways[0]) : choose(vertex, packet, ways);
    return net_.ports[link].up ? link : route_around(vertex, packet, ways);
  }

  /// The switch leaves its own dead links out; those further on it does not know.
  std::uint32_t route_around(std::uint32_t vertex, const Packet& packet, Ways ways) {
    std::vector<std::int32_t> alive;
    std::ranges::copy_if(ways, std::back_inserter(alive), [this](std::int32_t link) {
      return net_.ports[static_cast<std::size_t>(link)].up;
    });
    return alive.empty() ? kNone : choose(vertex, packet, alive);
  }

  /// One of several links: to an endpoint, that of the port which the packet is addressed to. It
  /// is the like of the one that it left by, of which this switch may see a part alone.
  std::uint32_t choose(std::uint32_t vertex, const Packet& packet, Ways ways) {
    if (several_ && !net_.ports[static_cast<std::size_t>(ways[0])].to_switch) [[unlikely]] {
      const std::size_t num_ports = net_.ways(packet.target, packet.source).size();
      const std::size_t port = turn_of(net_, packet.flow, packet.entropy) % num_ports;
      return static_cast<std::uint32_t>(ways[port % ways.size()]);
    }
    return balance_.choose(net_, vertex, packet, ways);
  }

  /// Cutting through into a faster link would run dry: the packet is stored first.
  bool waits_for_tail(std::uint32_t in, std::uint32_t out, Index index) {
    Packet& packet = net_.pool[index];
    if (!net_.config.switches.cut_through || (packet.flags & kStored) != 0 ||
        net_.ports[out].rate_bps <= net_.ports[in].rate_bps) {
      return false;
    }
    packet.flags |= kStored;
    const Time tail = net_.ports[in].time_of(net_.wire_bytes(net_.ports[in], packet));
    net_.events.push(net_.now + tail, Kind::kStored, in, index);
    return true;
  }

  void enqueue(std::uint32_t link, Index index) {
    const Port& out = net_.port(link);
    const Packet& packet = net_.pool[index];
    const bool free = out.busy_until <= net_.now && out.waiting == 0;
    if (free && ((out.paused >> packet.lane) & 1U) == 0) {
      depart(link, index);
      return;
    }
    net_.append(link, index);
    if ((out.waiting & ~out.paused) != 0) {
      net_.wake_later(link);
    }
  }

  void depart(std::uint32_t link, Index index) {
    Packet& packet = net_.pool[index];
    const std::uint32_t came_by = packet.came_by;
    const Port& out = net_.port(link);
    if (packet.form == Form::kData && packet.lane != kControl && !out.uncontrolled &&
        marks(net_, link, packet.lane)) {
      packet.flags |= kMarked;
      ++net_.counters.marks;
    }
    if (shares_nics_ && came_by != kNone && !out.uncontrolled && net_.ports[came_by].uncontrolled &&
        packet.form == Form::kData) [[unlikely]] {
      packet.sent = net_.now;  // a NIC's clock stands at the wire: what waits in it is not out yet
    }
    if (net_.config.switches.telemetry && packet.form == Form::kData) {
      stamp(link, index);
    }
    if (!pint_.empty()) {
      digest(link, packet);
    }
    net_.launch(link, index);
    control_.depart(came_by, packet, out.busy_until);
  }

  /// One byte for the whole path: the utilization of its busiest port.
  void digest(std::uint32_t link, Packet& packet) {
    const Port& out = net_.port(link);
    cc::PintPort& port = pint_[link];
    if (packet.form == Form::kData) {
      const double utilization = port.estimate(net_.now,
                                               out.waiting_bytes,
                                               static_cast<double>(out.rate_bps),
                                               net_.config.hosts.base_rtt_ps);
      const auto code = cc::PintCode::encode(utilization, net_.random.uniform());
      packet.num_hops = std::max(packet.num_hops, code);
    }
    port.sent(net_.now, packet.size_bytes);
  }

  void stamp(std::uint32_t link, Index index) {
    Packet& packet = net_.pool[index];
    const Port& out = net_.port(link);
    if (packet.num_hops < kMaxHops) {
      net_.hops(index)[packet.num_hops++] = {
          .when = net_.now,
          .sent_bytes = out.sent_bytes,
          .queue_bytes = out.waiting_bytes,
          .rate_bps = static_cast<double>(out.rate_bps),
      };
    }
  }

  /// Cuts the payload off this packet or, every other time, off the last one that waits.
  void trim(std::uint32_t in, std::uint32_t out, Index index) {
    if constexpr (requires { control_.shrink(in, 0U); }) {
      const Index last = net_.queue(out, net_.pool[index].lane).tail;
      if (last != kNone && (net_.random() & 1U) != 0) {
        exchange(in, out, index, last);
      }
      Packet& packet = net_.pool[index];
      packet.size_bytes = static_cast<std::uint16_t>(net_.config.hosts.trimmed_bytes);
      packet.flags |= kTrimmed;
      if (!net_.ports[out].to_switch) {
        packet.flags |= kAtLastHop;
      }
      packet.lane = kControl;
      ++net_.counters.trims;
      if (control_.admit(packet.came_by, out, packet) == Verdict::kTake) {
        enqueue(out, index);
      } else {
        refuse(index);
      }
    }
  }

  /// Lets the packet `index` wait in the place of `last`, and `last` be the one to trim.
  void exchange(std::uint32_t in, std::uint32_t out, Index index, Index last) {
    Packet& arriving = net_.pool[index];
    Packet& waiting = net_.pool[last];
    control_.shrink(waiting.came_by, waiting.size_bytes);
    control_.grow(in, arriving.size_bytes);
    Queue& queue = net_.queue(out, waiting.lane);
    queue.bytes += arriving.size_bytes;
    queue.bytes -= waiting.size_bytes;
    net_.port(out).waiting_bytes += arriving.size_bytes;
    net_.port(out).waiting_bytes -= waiting.size_bytes;
    std::swap(arriving, waiting);
    waiting.next = kNone;
  }

  void discard(std::uint32_t in, Index index) {
    if constexpr (std::same_as<LinkControl, Credits> || std::same_as<LinkControl, Scheduled>) {
      const Packet& packet = net_.pool[index];
      net_.enter_credit(in, packet);
      net_.leave_credit(in, packet.lane, packet.size_bytes, net_.now);
    }
    net_.pool.give_back(index);
  }

  Network& net_;
  LinkControl control_;
  Balancing balance_;
  std::vector<cc::PintPort> pint_;  ///< Of each link; empty where switches do not digest.
  bool several_;                    ///< Some endpoint has several ports.
  bool shares_nics_;                ///< Perhaps, and round trips are the NICs' to measure.
};

}  // namespace netloom::packet
