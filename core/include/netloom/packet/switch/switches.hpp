// Every switch of the network: admission, routing, queues, marks, telemetry.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <type_traits>
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
#include "netloom/packet/switch/timed_ports.hpp"

namespace netloom::packet {

/// In place of `TimedPorts` where nothing is timed.
struct UntimedPorts {
  explicit UntimedPorts(Network& /*network*/) {}
};

template <class LinkControl, bool kTimed = false>
class Switches final : public SwitchSide {
 public:
  explicit Switches(Network& network)
      : net_(network),
        timed_(network),
        control_(network),
        balance_(network.config.balance, network),
        pint_(network.config.switches.pint ? network.ports.size() : 0),
        noticed_at_(
            network.config.switches.notice_ps.empty() ? 0 : network.config.work.num_transfers(),
            kNever),
        several_(!network.config.work.turn.empty()),
        shares_nics_(network.config.hosts.probe_rtts == 0 &&
                     std::ranges::any_of(network.ports, [](const Port& port) {
                       return port.uncontrolled && port.to_switch;
                     })) {}

  void arrive(std::uint32_t in, Index index) override {
    Packet& packet = net_.pool[index];
    const std::uint32_t vertex = net_.ports[in].target;
    if constexpr (kTimed) {
      if (timed_.refuses(in, index)) {
        discard(in, index);
        return;
      }
      timed_.assign_cycle(in, index);
    }
    const std::uint32_t out = route(vertex, packet);
    if (out == kNone) [[unlikely]] {
      ++net_.counters.unroutable;
      discard(in, index);
      return;
    }
    if constexpr (kTimed) {
      timed_.replicate(vertex, out, index, [this, in](std::uint32_t other, Index copy) {
        admit(in, other, copy);
      });
      admit(in, out, index);
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
    if constexpr (kTimed) {
      timed_.wake(link, [this](std::uint32_t out, Index index) { depart(out, index); });
      return;
    }
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
    control_.prefetch(in, packet);
    if (ways.empty()) {
      return;
    }
    if (ways.size() > 1 && !balance_.is_fixed()) {
      if (const std::uint32_t out = balance_.guess(net_, vertex, packet, ways); out != kNone) {
        expect_departure(out, packet.lane);
      }
      return;
    }
    packet.came_by =
        ways.size() == 1 ? static_cast<std::uint32_t>(ways[0]) : choose(vertex, packet, ways);
    expect_departure(packet.came_by, packet.lane);
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
      net_.expect_credit(link, lane);
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
    if constexpr (kTimed) {
      timed_.flush(link, lane, [this](Index index) {
        control_.depart(net_.pool[index].came_by, net_.pool[index], net_.now);
        net_.pool.give_back(index);
        ++net_.counters.drops;
      });
    }
  }

  [[nodiscard]] const TimingRecord* timing() const override {
    if constexpr (kTimed) {
      return &timed_.record();
    } else {
      return nullptr;
    }
  }

  void save(Saver& saver) override { visit(saver); }

  void load(Loader& loader) override { visit(loader); }

 private:
  void visit(auto& archive) {
    control_.visit(archive);
    balance_.visit(archive);
    archive(pint_);
    archive(noticed_at_);
    if constexpr (kTimed) {
      timed_.visit(archive);
    }
  }

  /// Fetches what a packet of this lane will meet where it leaves.
  void expect_departure(std::uint32_t out, std::uint8_t lane) {
    fetch_line(&net_.ports[out]);
    fetch_line(&net_.queue(out, lane));
    fetch_line(&net_.config.switches.kmin_bytes[out]);
    net_.expect_credit(out, lane);
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
    if constexpr (kTimed) {
      timed_.enqueue(link, index, [this](std::uint32_t port, Index one) { depart(port, one); });
      return;
    }
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
    if constexpr (kTimed) {
      timed_.launch(link, index);
    } else {
      net_.launch(link, index);
    }
    control_.depart(came_by, packet, out.busy_until);
    if (!noticed_at_.empty()) [[unlikely]] {
      notify_source(link, came_by, index);
    }
  }

  /// Tells the source of a packet that a queue is beyond Kmin, without the way to its receiver and
  /// back (near-source feedback: Annulus, SIGCOMM 2020; Themis). Sources whose receivers are near
  /// hear of marks soon enough, and are not told.
  void notify_source(std::uint32_t link, std::uint32_t came_by, Index cause) {
    const SwitchSettings& set = net_.config.switches;
    Packet notice = net_.pool[cause];
    const bool waits = notice.lane != kControl && came_by != kNone &&
                       std::cmp_greater(net_.queue(link, notice.lane).bytes, set.kmin_bytes[link]);
    if (set.notice_ps[link] == 0 || notice.form != Form::kData || !waits) {
      return;
    }
    Time& last = noticed_at_[notice.flow];
    if (last == kNever) {
      const Time loop = net_.base_rtt(notice.source, notice.target);
      last = loop > kNoticeLoops * set.notice_ps[link] ? kFar : kNear;
    }
    if (last == kNear || (last != kFar && net_.now - last < set.notice_ps[link])) {
      return;
    }
    last = net_.now;
    std::swap(notice.source, notice.target);
    notice.form = Form::kCnp;
    notice.size_bytes = static_cast<std::uint16_t>(net_.config.hosts.cnp_bytes);
    notice.lane = kControl;
    notice.bits = 0;
    notice.flags = 0;
    notice.num_hops = 0;
    notice.came_by = kNone;
    const auto vertex = static_cast<std::uint32_t>(net_.config.topology.source[link]);
    const std::uint32_t back = route(vertex, notice);
    if (back == kNone || !accepts(came_by, back, notice)) {
      return;
    }
    ++net_.counters.notices;
    notice.came_by = came_by;
    const Index made = net_.pool.take();
    net_.pool[made] = notice;
    enqueue(back, made);
  }

  /// Whether a packet that a switch makes itself has room; none of a fabric with credits does.
  bool accepts(std::uint32_t in, std::uint32_t out, const Packet& packet) {
    if constexpr (std::same_as<LinkControl, Credits> || std::same_as<LinkControl, Scheduled>) {
      return false;
    } else {
      return control_.admit(in, out, packet) == Verdict::kTake;
    }
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
      const auto code = cc::PintCode::encode(utilization, net_.random_at(link).uniform());
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
      if (last != kNone && (net_.random_at(out)() & 1U) != 0) {
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

  // Of `noticed_at_`, beside times: the flow's round trip is long, or not.
  static constexpr Time kFar = -1;
  static constexpr Time kNear = -2;
  static constexpr Time kNoticeLoops = 10;  // assumed: of a round trip, in intervals of notices

  Network& net_;
  [[no_unique_address]] std::conditional_t<kTimed, TimedPorts, UntimedPorts> timed_;
  LinkControl control_;
  Balancing balance_;
  std::vector<cc::PintPort> pint_;  ///< Of each link; empty where switches do not digest.
  std::vector<Time> noticed_at_;    ///< Of each flow; empty where no port tells sources.
  bool several_;                    ///< Some endpoint has several ports.
  bool shares_nics_;                ///< Perhaps, and round trips are the NICs' to measure.
};

}  // namespace netloom::packet
