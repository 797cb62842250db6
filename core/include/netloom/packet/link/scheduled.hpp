// A scheduled fabric (distributed disaggregated chassis): nothing enters it that cannot leave it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Virtual output queues at the switch where a packet comes in, credits from the port where it goes
/// out, cells over all links between, order restored at the end.
///
/// A packet of a data lane that comes from an endpoint waits in the queue for its switch, target
/// and lane. The target's port hands out credits of `credit_bytes`, queue by queue in turn, at its
/// own rate; one reaches its queue `wait_ps` after it was asked for, if nobody else asks. Inside,
/// the packet carries the headers of its cells, and takes one link as a whole. The last switch
/// passes packets of a queue on in the order in which they left it; one that is missing for
/// `reassembly_ps` is given up. Between endpoint and switch, and inside, InfiniBand's credits keep
/// buffers from overflowing; a queue's memory is beside them, up to `queue_bytes` a switch. Control
/// lanes pass by.
class Scheduled {
 public:
  /// A packet to be sent on from `vertex`.
  struct Released {
    Index index = kNone;
    std::uint32_t vertex = 0;
  };

  explicit Scheduled(Network& network)
      : net_(network),
        queue_of_((network.config.topology.num_vertices - network.config.topology.num_endpoints) *
                      std::size_t{network.config.topology.num_endpoints} * network.num_lanes,
                  kNone),
        held_bytes_(network.config.topology.num_vertices),
        ports_(network.config.topology.num_endpoints),
        is_host_(network.config.topology.num_vertices) {
    const Topology& t = network.config.topology;
    std::fill_n(is_host_.begin(), t.num_endpoints, std::uint8_t{1});
    for (std::size_t link = 0; link < t.source.size(); ++link) {
      if (t.uncontrolled[link] != 0) {  // a NIC that GPUs share is part of their host
        is_host_[static_cast<std::size_t>(t.target[link])] = 1;
      }
    }
    find_rates();
  }

  /// Takes a packet into the books, and says whether it must wait here.
  [[nodiscard]] bool keeps(std::uint32_t in, std::uint32_t out, Index index) {
    if (net_.ports[in].uncontrolled) {
      net_.pool[index].came_by = in;
      return false;
    }
    Packet& packet = net_.pool[index];
    net_.enter_credit(in, packet);
    packet.came_by = in;
    if (packet.lane == kControl || is_host_[net_.ports[in].target] != 0) {
      return false;
    }
    if (is_host_[net_.ports[in ^ 1U].target] != 0) {
      enter(in, index);
      return true;
    }
    return is_host_[net_.ports[out].target] != 0 && !leave_fabric(in, index);
  }

  void depart(std::uint32_t in, const Packet& packet, Time leaves) {
    if (in != kNone && !net_.ports[in].uncontrolled) {
      net_.leave_credit(in, packet.lane, packet.size_bytes, leaves);
    }
  }

  /// Gives a packet that enters the fabric the headers of its cells, in place of an Ethernet gap.
  void dress(std::uint32_t out, Packet& packet) const {
    if (is_host_[net_.ports[out].target] != 0) {
      packet.bits = 0;
      return;
    }
    packet.size_bytes = static_cast<std::uint16_t>(dressed(packet.size_bytes));
  }

  /// A credit of `extra` bytes reaches queue `subject`, or (0) endpoint `subject` may give another.
  void handle(const Event& event) {
    if (event.extra == 0) {
      grant(event.subject);
    } else {
      spend(event.subject, event.extra);
    }
  }

  Released take_released() {
    if (next_released_ == released_.size()) {
      released_.clear();
      next_released_ = 0;
      return {};
    }
    return released_[next_released_++];
  }

  void prefetch(std::uint32_t /*in*/, const Packet& /*packet*/) const {}

  template <class Archive>
  void visit(Archive& archive) {
    archive(queue_of_);
    archive(queues_);
    archive(held_bytes_);
    archive(ports_);
  }

 private:
  /// A virtual output queue, and the far end's book of its order.
  struct Voq {
    Index head = kNone;
    Index tail = kNone;
    std::uint32_t vertex = 0;
    std::uint32_t target = 0;
    std::uint32_t next = kNone;  ///< In line for credits.
    std::uint32_t asked = 0;     ///< Bytes that wait for credit.
    std::uint32_t credit = 0;    ///< Bytes that may go.
    std::uint32_t sent = 0;      ///< Packets that have gone.
    std::uint32_t expected = 0;  ///< Packets that have come out of the fabric, in order.
    Index late = kNone;          ///< Those that came out before their turn, lowest first.
    bool in_line = false;
  };

  /// The scheduler of an endpoint's ports.
  struct Grants {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    Time next_at = 0;
    double rate_bps = 0.0;
    bool awake = false;
  };

  [[nodiscard]] std::uint32_t wire(const Packet& packet) const {
    return packet.size_bytes + net_.config.hosts.gap_bytes;
  }

  [[nodiscard]] std::uint32_t dressed(std::uint32_t size_bytes) const {
    const ScheduleSettings& set = net_.config.schedule;
    const std::uint32_t held = set.cell_bytes - set.cell_header_bytes;
    const std::uint32_t bytes = size_bytes + (size_bytes + held - 1) / held * set.cell_header_bytes;
    return bytes - std::min(bytes, net_.config.hosts.gap_bytes);
  }

  Voq& voq_of(std::uint32_t vertex, const Packet& packet, std::uint32_t& number) {
    const Topology& t = net_.config.topology;
    const std::size_t place =
        (std::size_t{vertex - t.num_endpoints} * t.num_endpoints + packet.target) * net_.num_lanes +
        packet.lane;
    if (queue_of_[place] == kNone) {
      queue_of_[place] = static_cast<std::uint32_t>(queues_.size());
      queues_.push_back({.vertex = vertex, .target = packet.target});
    }
    number = queue_of_[place];
    return queues_[number];
  }

  void enter(std::uint32_t in, Index index) {
    Packet& packet = net_.pool[index];
    const std::uint32_t vertex = net_.ports[in].target;
    std::uint32_t number = 0;
    Voq& voq = voq_of(vertex, packet, number);
    const std::int64_t room = net_.config.schedule.queue_bytes - held_bytes_[vertex];
    packet.came_by = in;
    if (room >= std::int64_t{packet.size_bytes}) {
      net_.leave_credit(in, packet.lane, packet.size_bytes, net_.now);
      packet.came_by = kNone;
    }
    held_bytes_[vertex] += packet.size_bytes;
    packet.next = kNone;
    if (voq.head == kNone) {
      voq.head = index;
    } else {
      net_.pool[voq.tail].next = index;
    }
    voq.tail = index;
    voq.asked += wire(packet);
    stand_in_line(number);
  }

  void stand_in_line(std::uint32_t number) {
    Voq& voq = queues_[number];
    if (voq.in_line) {
      return;
    }
    voq.in_line = true;
    voq.next = kNone;
    Grants& port = ports_[voq.target];
    if (port.head == kNone) {
      port.head = number;
    } else {
      queues_[port.tail].next = number;
    }
    port.tail = number;
    if (!port.awake) {
      port.awake = true;
      net_.events.push(std::max(port.next_at, net_.now), Kind::kRefresh, voq.target, 0);
    }
  }

  /// Hands one credit to the queue whose turn it is.
  void grant(std::uint32_t endpoint) {
    Grants& port = ports_[endpoint];
    const std::uint32_t number = port.head;
    Voq& voq = queues_[number];
    port.head = voq.next;
    voq.in_line = false;
    const std::uint32_t bytes = std::min(voq.asked, net_.config.schedule.credit_bytes);
    voq.asked -= bytes;
    const double time = static_cast<double>(bytes) * static_cast<double>(kBitPs) / port.rate_bps;
    port.next_at = std::max(port.next_at, net_.now) + static_cast<Time>(time);
    net_.events.push(net_.now + net_.config.schedule.wait_ps, Kind::kRefresh, number, bytes);
    port.awake = false;
    if (voq.asked != 0) {
      stand_in_line(number);
    }
    if (port.head != kNone && !port.awake) {
      port.awake = true;
      net_.events.push(port.next_at, Kind::kRefresh, endpoint, 0);
    }
  }

  /// Lets go what the credit covers.
  void spend(std::uint32_t number, std::uint32_t bytes) {
    Voq& voq = queues_[number];
    voq.credit += bytes;
    while (voq.head != kNone && wire(net_.pool[voq.head]) <= voq.credit) {
      const Index index = voq.head;
      Packet& packet = net_.pool[index];
      voq.head = packet.next;
      voq.credit -= wire(packet);
      held_bytes_[voq.vertex] -= packet.size_bytes;
      packet.bits = (std::uint64_t{number} << 32U) | voq.sent++;
      if (packet.came_by != kNone) {
        net_.leave_credit(packet.came_by, packet.lane, packet.size_bytes, net_.now);
      }
      released_.push_back({.index = index, .vertex = voq.vertex});
    }
  }

  /// Undresses a packet at the last switch; whether it may go on at once.
  bool leave_fabric(std::uint32_t in, Index index) {
    Packet& packet = net_.pool[index];
    net_.leave_credit(in, packet.lane, packet.size_bytes, net_.now);
    const HostSettings& h = net_.config.hosts;
    packet.size_bytes =
        static_cast<std::uint16_t>(std::max(packet.payload_bytes + h.header_bytes, h.least_bytes));
    packet.came_by = kNone;
    Voq& voq = queues_[packet.bits >> 32U];
    give_up(voq);
    if (sequence_of(index) > voq.expected || next_released_ != released_.size()) {
      packet.set_gap(net_.now);  // since when it waits
      insert(voq, index, net_.ports[in].target);
      follow(voq);
      return false;
    }
    voq.expected = std::max(voq.expected, sequence_of(index) + 1);
    packet.bits = 0;
    follow(voq);
    return true;
  }

  [[nodiscard]] std::uint32_t sequence_of(Index index) const {
    return static_cast<std::uint32_t>(net_.pool[index].bits);
  }

  /// Puts a packet among those that wait, by its number; `came_by` is the switch where it waits.
  void insert(Voq& voq, Index index, std::uint32_t vertex) {
    net_.pool[index].came_by = vertex;
    Index* at = &voq.late;
    while (*at != kNone && sequence_of(*at) < sequence_of(index)) {
      at = &net_.pool[*at].next;
    }
    net_.pool[index].next = *at;
    *at = index;
  }

  /// Lets packets go that are next in order.
  void follow(Voq& voq) {
    while (voq.late != kNone && sequence_of(voq.late) <= voq.expected) {
      const Index index = voq.late;
      voq.late = net_.pool[index].next;
      voq.expected = std::max(voq.expected, sequence_of(index) + 1);
      released_.push_back({.index = index, .vertex = net_.pool[index].came_by});
    }
  }

  /// Skips packets that have been missing for too long.
  void give_up(Voq& voq) {
    if (voq.late != kNone &&
        net_.now - net_.pool[voq.late].gap() > net_.config.schedule.reassembly_ps) {
      voq.expected = sequence_of(voq.late);
      follow(voq);
    }
  }

  /// What each endpoint's credits are paced by: its own links, or those of a NIC that it shares.
  void find_rates() {
    double edge_bps = 0.0;
    for (const auto& port : net_.ports) {
      if (is_host_[port.target] == 0 || port.uncontrolled) {
        continue;
      }
      edge_bps = std::max(edge_bps, static_cast<double>(port.rate_bps));
      if (!port.to_switch) {
        ports_[port.target].rate_bps += static_cast<double>(port.rate_bps);
      }
    }
    for (Grants& port : ports_) {
      port.rate_bps = port.rate_bps > 0 ? port.rate_bps : edge_bps;
    }
  }

  Network& net_;
  std::vector<std::uint32_t> queue_of_;  ///< By switch, endpoint and lane.
  std::vector<Voq> queues_;
  std::vector<std::int64_t> held_bytes_;  ///< Of each vertex.
  std::vector<Grants> ports_;             ///< Of each endpoint.
  std::vector<std::uint8_t> is_host_;     ///< Of each vertex: outside the fabric.
  std::vector<Released> released_;        ///< Empty between events.
  std::size_t next_released_ = 0;
};

}  // namespace netloom::packet
