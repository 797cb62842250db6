// Ports that send by the clock, by credit or by stream: gates, shapers, cycles, cut packets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "netloom/packet/network.hpp"
#include "netloom/packet/queue/gates.hpp"
#include "netloom/packet/queue/preemption.hpp"
#include "netloom/packet/queue/scheduler.hpp"
#include "netloom/packet/queue/shapers.hpp"
#include "netloom/packet/sides.hpp"
#include "netloom/packet/switch/replication.hpp"

namespace netloom::packet {

/// What `Switches` asks before it sends, where `TimingSettings` are given. Ports of endpoints are
/// not timed: what they send, and when, is the transfers' own.
class TimedPorts {
 public:
  explicit TimedPorts(Network& network)
      : net_(network),
        set_(network.config.timing),
        wake_at_(network.ports.size(), kNever),
        held_(network.ports.size()),
        cut_(network.ports.size()),
        on_wire_(network.ports.size()),
        depth_bytes_(network.queues.size(), 0),
        buckets_(set_.shapers.empty() ? 0 : network.queues.size()),
        credits_(buckets_.size()),
        group_at_(buckets_.size(), 0),
        meters_(set_.metered.empty() ? 0 : set_.streams.size()),
        replication_(network.config) {
    for (const GateList& list : set_.gates) {
      gates_.emplace_back(list);
    }
    if (!set_.shapers.empty()) {
      regulators_.resize(set_.streams.size() * network.config.topology.num_vertices);
    }
    record_.peak_bytes.assign(network.queues.size(), 0);
  }

  [[nodiscard]] const TimingRecord& record() const { return record_; }

  /// Whether a packet that has come by link `in` is dropped: it exceeds its stream's rate, or came
  /// before.
  [[nodiscard]] bool refuses(std::uint32_t in, Index index) {
    const Packet& packet = net_.pool[index];
    if (index >= tags_.size()) {
      tags_.resize(net_.pool.capacity());
    }
    if (!net_.ports[in].from_switch) {
      tags_[index] = {};
    }
    if (packet.form != Form::kData) {
      return false;
    }
    const std::uint32_t stream = stream_of(packet);
    if (!meters_.empty() && set_.metered[in] != 0 &&
        !meters_[stream].meter(wire_bytes(in, packet), set_.streams[stream], net_.now)) {
      ++record_.counters.metered;
      return true;
    }
    return replication_.drops(net_.ports[in].target, stream, tags_[index].number, record_.counters);
  }

  /// Sends copies of a packet by the other links that lead to its target, where the vertex does so.
  template <class Send>
  void replicate(std::uint32_t vertex, std::uint32_t out, Index index, Send send) {
    if (!replication_.replicates_at(vertex) || net_.pool[index].form != Form::kData) {
      return;
    }
    if (tags_[index].number == 0) {
      tags_[index].number = replication_.number(stream_of(net_.pool[index]));
    }
    for (const std::int32_t way : net_.ways(vertex, net_.pool[index].target)) {
      const auto link = static_cast<std::uint32_t>(way);
      if (link != out && net_.ports[link].up) {
        send(link, copy(index));
      }
    }
  }

  /// Sends what is next, if it may be sent now, and sees to it that the port is woken again.
  template <class Depart>
  void wake(std::uint32_t link, Depart depart) {
    if (wake_at_[link] <= net_.now) {
      wake_at_[link] = kNever;
    }
    settle(link);
    const Port& out = net_.port(link);
    if (out.busy_until > net_.now) {
      wake_after(link);
      return;
    }
    if (!out.up) {
      return;
    }
    if (const std::uint16_t able = ready(link); able != 0) {
      depart(link, net_.take_first(link, next_lane(net_, link, able)));
    } else if (!send_rest(link)) {
      return;
    }
    wake_after(link);
  }

  /// Sends a packet now, or lets it wait.
  template <class Depart>
  void enqueue(std::uint32_t link, Index index, Depart depart) {
    settle(link);
    if (holds(link, index)) {
      return;
    }
    enter(link, index);
    const Port& out = net_.port(link);
    const Packet& packet = net_.pool[index];
    const bool free = out.busy_until <= net_.now && out.waiting == 0 && !rest_waits(link);
    if (free && ((out.paused >> packet.lane) & 1U) == 0 && ready_at(link, packet) <= net_.now) {
      depart(link, index);
      wake_after(link);
      return;
    }
    net_.append(link, index);
    if ((out.waiting & ~out.paused) != 0) {
      cut_for(link, packet.lane);
      wake_at(link, std::max(out.busy_until, net_.now));
    }
  }

  /// Chooses the queue of the cycle in which a packet that came by link `in` is sent on.
  void assign_cycle(std::uint32_t in, Index index) {
    const CycleSettings& set = set_.cycle;
    Packet& packet = net_.pool[index];
    if (set.period_ps == 0 || packet.lane < set.first_lane ||
        packet.lane >= set.first_lane + set.num_queues) {
      return;
    }
    const Time current = quotient(net_.now, set.period_ps);
    const std::uint32_t shift = net_.ports[in].from_switch ? set.shift[in] : 0;
    const Time cycle = shift == 0 ? current + 1 : tags_[index].cycle + shift;
    record_.counters.late_cycles += cycle <= current ? 1U : 0U;
    tags_[index].cycle = cycle;
    packet.lane = static_cast<std::uint8_t>(set.first_lane + remainder(cycle, set.num_queues));
  }

  /// Puts a packet on the wire now; the port must be free.
  void launch(std::uint32_t link, Index index) {
    const Packet& packet = net_.pool[index];
    const std::size_t at = link * net_.num_lanes + packet.lane;
    const std::int64_t bytes = wire_bytes(link, packet);
    depth_bytes_[at] -= bytes;
    if (may_be_cut(link, packet)) {
      cut_[link] = {.packet = index, .began = net_.now, .left = packet.size_bytes, .sending = true};
      net_.occupy(link, bytes);
    } else {
      net_.launch(link, index);
      on_wire_[link] = {.bytes = bytes, .until = net_.ports[link].busy_until, .lane = packet.lane};
    }
    const Port& port = net_.ports[link];
    switch (shaper_kind(link, packet.lane)) {
      case LaneShaper::Kind::kTokenBucket:
        buckets_[at].take(bytes, bucket_of(at), net_.now);
        break;
      case LaneShaper::Kind::kCredit:
        credits_[at].send(set_.shapers[at].rate_bps, port.rate_bps, net_.now, port.busy_until);
        break;
      default:
        break;
    }
  }

  /// Takes what is held for a lane of a port out, and the rest of a cut packet.
  template <class Drop>
  void flush(std::uint32_t link, std::uint8_t lane, Drop drop) {
    std::erase_if(held_[link], [&](const Held& one) {
      if (net_.pool[one.packet].lane != lane) {
        return false;
      }
      drop(one.packet);
      return true;
    });
    std::ranges::make_heap(held_[link], Later());
    depth_bytes_[link * net_.num_lanes + lane] = 0;
    if (rest_waits(link) && net_.pool[cut_[link].packet].lane == lane) {
      net_.pool.give_back(std::exchange(cut_[link].packet, kNone));
      ++net_.counters.lost;
    }
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(wake_at_);
    for (auto& held : held_) {  // NOLINT(misc-const-correctness): a loader writes it
      archive(held);
    }
    archive(cut_);
    archive(on_wire_);
    archive(depth_bytes_);
    archive(buckets_);
    archive(credits_);
    archive(group_at_);
    archive(meters_);
    archive(regulators_);
    archive(tags_);
    archive(order_);
    replication_.visit(archive);
    archive(record_.counters);
    archive(record_.peak_bytes);
  }

 private:
  /// What a packet carries beside itself: its number in its stream, and the cycle it is sent in.
  struct Tag {
    std::uint64_t number = 0;
    Time cycle = 0;
  };

  struct Held {
    Time at;
    std::uint64_t order;
    Index packet;
  };

  struct Later {
    constexpr bool operator()(const Held& a, const Held& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  struct OnWire {
    std::int64_t bytes = 0;
    Time until = 0;
    std::uint8_t lane = 0;
  };

  /// A copy of a packet, for another link.
  [[nodiscard]] Index copy(Index index) {
    const Index made = net_.pool.take();
    net_.pool[made] = net_.pool[index];
    tags_.resize(std::max(tags_.size(), net_.pool.capacity()));
    tags_[made] = tags_[index];
    ++record_.counters.replicated;
    return made;
  }

  /// Whether a packet has to wait before it may stand in its queue (asynchronous shaping).
  [[nodiscard]] bool holds(std::uint32_t link, Index index) {
    const Packet& packet = net_.pool[index];
    if (shaper_kind(link, packet.lane) != LaneShaper::Kind::kEligibility ||
        packet.came_by == kNone) {
      return false;
    }
    const std::uint32_t in = packet.came_by;
    const std::uint32_t stream = stream_of(packet);
    TokenBucket& regulator = regulators_[net_.ports[in].target * set_.streams.size() + stream];
    Time& group = group_at_[in * net_.num_lanes + packet.lane];
    const std::int64_t bytes = wire_bytes(link, packet);
    const Time at = std::max(regulator.ready_at(bytes, set_.streams[stream], net_.now), group);
    regulator.take(bytes, set_.streams[stream], at);
    group = at;
    if (at <= net_.now) {
      return false;
    }
    enter(link, index);
    held_[link].push_back({.at = at, .order = order_++, .packet = index});
    std::ranges::push_heap(held_[link], Later());
    wake_at(link, at);
    return true;
  }

  /// A packet comes to its queue, or to the regulator before it.
  void enter(std::uint32_t link, Index index) {
    const Packet& packet = net_.pool[index];
    const std::size_t at = link * net_.num_lanes + packet.lane;
    if (shaper_kind(link, packet.lane) == LaneShaper::Kind::kCredit &&
        net_.queue(link, packet.lane).head == kNone) {
      credits_[at].begin_waiting(set_.shapers[at].rate_bps, net_.now);
    }
    depth_bytes_[at] += wire_bytes(link, packet);
    std::int64_t all = depth_bytes_[at];
    if (on_wire_[link].lane == packet.lane && on_wire_[link].until > net_.now) {
      all += on_wire_[link].bytes;
    }
    if (const Index cut = cut_[link].packet; cut != kNone && net_.pool[cut].lane == packet.lane) {
      all += wire_bytes(link, net_.pool[cut]);
    }
    record_.peak_bytes[at] = std::max(record_.peak_bytes[at], all);
  }

  /// Lets a packet go that was sent in pieces, and those into their queues that were held.
  void settle(std::uint32_t link) {
    CutPacket& cut = cut_[link];
    if (cut.packet != kNone && cut.sending && net_.ports[link].busy_until <= net_.now) {
      net_.set_out(link, std::exchange(cut.packet, kNone));
    }
    auto& held = held_[link];
    while (!held.empty() && held.front().at <= net_.now) {
      std::ranges::pop_heap(held, Later());
      net_.append(link, held.back().packet);
      held.pop_back();
    }
    if (!held.empty()) {
      wake_at(link, held.front().at);
    }
  }

  /// Lanes that may send now; sets a wake-up if none may.
  [[nodiscard]] std::uint16_t ready(std::uint32_t link) {
    const Port& port = net_.ports[link];
    std::uint32_t able = port.waiting & ~port.paused;
    if (rest_waits(link)) {
      able &= set_.express[link];
    }
    std::uint16_t found = 0;
    Time next = kNever;
    for (; able != 0; able &= able - 1) {
      const auto lane = static_cast<std::uint8_t>(std::countr_zero(able));
      const Time at = ready_at(link, net_.pool[net_.queue(link, lane).head]);
      if (at <= net_.now) {
        found |= static_cast<std::uint16_t>(1U << lane);
      }
      next = std::min(next, at);
    }
    if (found == 0) {
      wake_at(link, next);
    }
    return found;
  }

  /// When a packet that is the first of its queue may be sent, from now on.
  [[nodiscard]] Time ready_at(std::uint32_t link, const Packet& packet) const {
    const Port& port = net_.ports[link];
    const std::size_t at = link * net_.num_lanes + packet.lane;
    const std::int64_t bytes = wire_bytes(link, packet);
    Time time = net_.now;
    switch (shaper_kind(link, packet.lane)) {
      case LaneShaper::Kind::kTokenBucket:
        time = buckets_[at].ready_at(bytes, bucket_of(at), time);
        break;
      case LaneShaper::Kind::kCredit:
        time = credits_[at].ready_at(set_.shapers[at].rate_bps, time);
        break;
      default:
        break;
    }
    return gates_.empty() ? time : gates_[link].next_start(packet.lane, port.time_of(bytes), time);
  }

  /// Whether a cut packet's rest waits for the port.
  [[nodiscard]] bool rest_waits(std::uint32_t link) const {
    return cut_[link].packet != kNone && !cut_[link].sending;
  }

  /// Sends the rest of a cut packet if one waits.
  bool send_rest(std::uint32_t link) {
    if (!rest_waits(link)) {
      return false;
    }
    cut_[link].sending = true;
    cut_[link].began = net_.now;
    net_.occupy(link, kPreambleBytes + cut_[link].left + kPieceGapBytes);
    return true;
  }

  /// Cuts the packet on the wire for one of lane `lane` that waits, if it can be cut.
  void cut_for(std::uint32_t link, std::uint8_t lane) {
    CutPacket& cut = cut_[link];
    if (cut.packet == kNone || !cut.sending || !is_express(link, lane)) {
      return;
    }
    Port& port = net_.ports[link];
    const Time byte_ps = port.time_of(1);
    const std::int64_t sent = (net_.now - cut.began + byte_ps - 1) / byte_ps;
    const std::int64_t after = cut.cut_after(sent);
    if (after == 0) {
      return;
    }
    const std::int64_t whole = kPreambleBytes + cut.left + kPieceGapBytes;
    const std::int64_t piece = after + kPieceCheckBytes + kPieceGapBytes;
    port.sent_bytes -= static_cast<std::uint64_t>(whole - piece);
    port.busy_until = cut.began + port.time_of(piece);
    cut.left -= after - kPreambleBytes;
    cut.sending = false;
    ++record_.counters.preemptions;
    wake_at(link, port.busy_until);
  }

  /// A wake-up at `when` at the latest.
  void wake_at(std::uint32_t link, Time when) {
    if (when < wake_at_[link]) {
      wake_at_[link] = when;
      net_.events.push(when, Kind::kWake, link);
    }
  }

  /// A wake-up for when what is being sent is out, if anything needs one.
  void wake_after(std::uint32_t link) {
    const Port& port = net_.ports[link];
    if ((port.waiting & ~port.paused) != 0 || cut_[link].packet != kNone) {
      wake_at(link, port.busy_until);
    }
  }

  [[nodiscard]] std::int64_t wire_bytes(std::uint32_t link, const Packet& packet) const {
    return net_.wire_bytes(net_.ports[link], packet);
  }

  [[nodiscard]] std::uint32_t stream_of(const Packet& packet) const {
    return set_.stream.empty() ? packet.flow : set_.stream[packet.flow];
  }

  [[nodiscard]] LaneShaper::Kind shaper_kind(std::uint32_t link, std::uint8_t lane) const {
    return set_.shapers.empty() ? LaneShaper::Kind::kUnshaped
                                : set_.shapers[link * net_.num_lanes + lane].kind;
  }

  [[nodiscard]] StreamSettings bucket_of(std::size_t at) const {
    return {.rate_bps = set_.shapers[at].rate_bps, .burst_bytes = set_.shapers[at].burst_bytes};
  }

  [[nodiscard]] bool is_express(std::uint32_t link, std::uint8_t lane) const {
    return !set_.express.empty() && ((set_.express[link] >> lane) & 1U) != 0;
  }

  /// On ports where some lanes cut others, packets of the others set out when all of them is sent.
  [[nodiscard]] bool may_be_cut(std::uint32_t link, const Packet& packet) const {
    return !set_.express.empty() && set_.express[link] != 0 && !is_express(link, packet.lane);
  }

  Network& net_;
  const TimingSettings& set_;
  std::vector<Gates> gates_;
  std::vector<Time> wake_at_;
  std::vector<std::vector<Held>> held_;  ///< Heaps, of each link.
  std::vector<CutPacket> cut_;
  std::vector<OnWire> on_wire_;
  std::vector<std::int64_t> depth_bytes_;  ///< Of each link and lane: waiting and held.
  std::vector<TokenBucket> buckets_;
  std::vector<CreditShaper> credits_;
  std::vector<Time> group_at_;  ///< Of each link in and lane: when its last packet may go.
  std::vector<TokenBucket> meters_;
  std::vector<TokenBucket> regulators_;  ///< Of each vertex and stream.
  std::vector<Tag> tags_;                ///< Of each packet.
  std::uint64_t order_ = 0;
  Replication replication_;
  TimingRecord record_;
};

}  // namespace netloom::packet
