// A scheduled fabric (distributed disaggregated chassis): nothing enters it that cannot leave it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Virtual output queues at the switch where a packet comes in, credits from the port where it goes
/// out, cells over all links between, order restored at the end.
///
/// A packet of a data lane that comes from an endpoint waits in the queue for its switch, target
/// and lane. The target's port hands out credits of `credit_bytes`, to the first lane that asks and
/// there queue by queue in turn, at its own rate; one reaches its queue `wait_ps` after it was
/// asked for, if no other port asks. Inside, a packet is cut into cells with headers of their own,
/// each of which takes its own link; `cells_together` of them travel as one piece, to save events.
/// The last switch passes packets of a queue on when all their pieces are there, in the order in
/// which they left it; one that holds whole ones up for `reassembly_ps` is given up. Between
/// endpoint and switch, and inside, InfiniBand's credits keep buffers from overflowing; a queue's
/// memory is beside them, up to `queue_bytes` a switch, and so is that of what is being put
/// together. Control lanes pass by.
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
        lines_(ports_.size() * network.num_lanes),
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
    if (is_host_[net_.ports[out].target] == 0) {
      return false;
    }
    leave_fabric(in, index);
    return true;
  }

  void depart(std::uint32_t in, const Packet& packet, Time leaves) {
    if (in != kNone && !net_.ports[in].uncontrolled) {
      net_.leave_credit(in, packet.lane, packet.size_bytes, leaves);
    }
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

  void prefetch(std::uint32_t in, const Packet& packet) const {
    if (in == kNone) {
      return;  // a piece that has just been cut
    }
    net_.expect_credit(in, packet.lane);
    const std::uint32_t vertex = net_.ports[in].target;
    const bool is_piece = packet.lane != kControl && is_host_[vertex] == 0 &&
                          is_host_[net_.ports[in ^ 1U].target] == 0;
    if (is_piece && net_.is_beside(vertex, packet.target)) {
      net_.fetch(packet.number);
      fetch_line(&queues_[packet.bits >> 32U]);
    }
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(queue_of_);
    archive(queues_);
    archive(held_bytes_);
    archive(ports_);
    archive(lines_);
  }

 private:
  /// A virtual output queue, and the far end's book of what has left it. A packet inside the
  /// fabric stays in that book, with the number of its pieces under way in `came_by` and, when
  /// there is none left, the time of that as its gap; a piece has its queue and sequence in `bits`,
  /// and the packet that it is of in `number`.
  struct Voq {
    Index head = kNone;
    Index tail = kNone;
    std::uint32_t vertex = 0;
    std::uint32_t target = 0;
    std::uint32_t next = kNone;  ///< In line for credits.
    std::uint32_t asked = 0;     ///< Bytes that wait for credit.
    std::uint32_t credit = 0;    ///< Bytes that may go.
    std::uint32_t sent = 0;      ///< Packets that have gone.
    std::uint32_t expected = 0;  ///< Packets that have come out of the fabric, or were given up.
    Index first = kNone;         ///< Packets inside the fabric, in order.
    Index last = kNone;
    Time held_since = -1;  ///< Since when the first keeps whole ones waiting; -1 where it does not.
    std::uint8_t lane = 0;
    bool in_line = false;
  };

  /// The scheduler of an endpoint's ports.
  struct Grants {
    Time next_at = 0;
    double rate_bps = 0.0;
    std::uint16_t asking = 0;  ///< Lanes of which a queue stands in line.
    bool awake = false;
  };

  /// Queues of one lane that wait for credits of an endpoint's ports.
  struct Line {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };

  [[nodiscard]] std::uint32_t wire(const Packet& packet) const {
    return packet.size_bytes + net_.config.hosts.gap_bytes;
  }

  /// Whether the next link from `vertex` leads out to `endpoint`, past the fabric.
  [[nodiscard]] bool beside(std::uint32_t vertex, std::uint32_t endpoint) const {
    const auto ways = net_.ways(vertex, endpoint);
    return ways.empty() || is_host_[net_.ports[static_cast<std::size_t>(ways[0])].target] != 0;
  }

  Voq& voq_of(std::uint32_t vertex, const Packet& packet, std::uint32_t& number) {
    const Topology& t = net_.config.topology;
    const std::size_t place =
        (std::size_t{vertex - t.num_endpoints} * t.num_endpoints + packet.target) * net_.num_lanes +
        packet.lane;
    if (queue_of_[place] == kNone) {
      queue_of_[place] = static_cast<std::uint32_t>(queues_.size());
      queues_.push_back({.vertex = vertex, .target = packet.target, .lane = packet.lane});
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
    Line& line = line_of(voq.target, voq.lane);
    if (line.head == kNone) {
      line.head = number;
      port.asking |= static_cast<std::uint16_t>(1U << voq.lane);
    } else {
      queues_[line.tail].next = number;
    }
    line.tail = number;
    if (!port.awake) {
      port.awake = true;
      net_.events.push(std::max(port.next_at, net_.now), Kind::kRefresh, voq.target, 0);
    }
  }

  [[nodiscard]] Line& line_of(std::uint32_t endpoint, std::uint8_t lane) {
    return lines_[endpoint * std::size_t{net_.num_lanes} + lane];
  }

  /// Hands one credit to the queue whose turn it is, of the highest priority that asks.
  void grant(std::uint32_t endpoint) {
    Grants& port = ports_[endpoint];
    Line& line = line_of(endpoint, static_cast<std::uint8_t>(std::countr_zero(port.asking)));
    const std::uint32_t number = line.head;
    Voq& voq = queues_[number];
    line.head = voq.next;
    if (line.head == kNone) {
      port.asking &= static_cast<std::uint16_t>(port.asking - 1U);  // the lowest bit is its own
    }
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
    if (port.asking != 0 && !port.awake) {
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
      const Packet& packet = net_.pool[index];
      voq.head = packet.next;
      voq.credit -= wire(packet);
      held_bytes_[voq.vertex] -= packet.size_bytes;
      if (packet.came_by != kNone) {
        net_.leave_credit(packet.came_by, packet.lane, packet.size_bytes, net_.now);
      }
      if (beside(voq.vertex, voq.target)) {
        released_.push_back({.index = index, .vertex = voq.vertex});
      } else {
        enter_fabric(number, index);
      }
    }
  }

  /// Writes a packet into the book and sends its pieces.
  void enter_fabric(std::uint32_t number, Index index) {
    Voq& voq = queues_[number];
    const ScheduleSettings& set = net_.config.schedule;
    const Packet whole = net_.pool[index];
    const std::uint32_t held = set.cell_bytes - set.cell_header_bytes;
    const std::uint32_t num_cells = (whole.size_bytes + held - 1) / held;
    const std::uint32_t num_pieces = (num_cells + set.cells_together - 1) / set.cells_together;
    std::uint32_t left = whole.size_bytes + num_cells * set.cell_header_bytes;
    for (std::uint32_t piece = 0; piece < num_pieces; ++piece) {
      const std::uint32_t cells =
          num_cells * (piece + 1) / num_pieces - num_cells * piece / num_pieces;
      const std::uint32_t bytes =
          piece + 1 == num_pieces ? left : std::min(left, cells * set.cell_bytes);
      left -= bytes;
      send_piece(number, index, whole, bytes);
    }
    Packet& packet = net_.pool[index];
    packet.came_by = num_pieces;
    packet.next = kNone;
    if (voq.first == kNone) {
      voq.first = index;
    } else {
      net_.pool[voq.last].next = index;
    }
    voq.last = index;
    ++voq.sent;
  }

  /// Cells have no gap between them, and links add one.
  void send_piece(std::uint32_t number, Index of, const Packet& whole, std::uint32_t bytes) {
    const Voq& voq = queues_[number];
    const std::uint32_t gap = net_.config.hosts.gap_bytes;
    const Index index = net_.pool.take();
    Packet& piece = net_.pool[index];
    piece = whole;
    piece.bits = (std::uint64_t{number} << 32U) | voq.sent;
    piece.number = of;
    piece.size_bytes = static_cast<std::uint16_t>(bytes > gap ? bytes - gap : 1);
    piece.flags = 0;
    piece.num_hops = net_.config.switches.telemetry ? std::uint8_t{kMaxHops} : std::uint8_t{0};
    released_.push_back({.index = index, .vertex = voq.vertex});
  }

  /// Takes a piece in at the last switch, and lets go what is whole and next in order.
  void leave_fabric(std::uint32_t in, Index index) {
    const Packet piece = net_.pool[index];
    const std::uint32_t vertex = net_.ports[in].target;
    net_.leave_credit(in, piece.lane, piece.size_bytes, net_.now);
    net_.pool.give_back(index);
    Voq& voq = queues_[piece.bits >> 32U];
    if (static_cast<std::uint32_t>(piece.bits) >= voq.expected) {
      Packet& whole = net_.pool[piece.number];
      whole.flags |= static_cast<std::uint8_t>(piece.flags & kMarked);
      if (!net_.config.switches.telemetry) {
        whole.num_hops = std::max(whole.num_hops, piece.num_hops);  // PINT keeps the busiest
      }
      if (--whole.came_by == 0) {
        whole.set_gap(net_.now);
        voq.held_since = voq.held_since < 0 ? net_.now : voq.held_since;
      }
    }
    follow(voq, vertex);
    while (voq.held_since >= 0 && net_.now - voq.held_since > net_.config.schedule.reassembly_ps) {
      give_up(voq);
      follow(voq, vertex);
    }
  }

  /// Lets packets go that are whole and next in order.
  void follow(Voq& voq, std::uint32_t vertex) {
    if (voq.first == kNone || net_.pool[voq.first].came_by != 0) {
      return;
    }
    while (voq.first != kNone && net_.pool[voq.first].came_by == 0) {
      released_.push_back({.index = pop(voq), .vertex = vertex});
    }
    const Index whole = first_whole(voq);
    voq.held_since = whole == kNone ? -1 : net_.pool[whole].gap();
  }

  Index pop(Voq& voq) {
    const Index index = voq.first;
    voq.first = net_.pool[index].next;
    ++voq.expected;
    return index;
  }

  [[nodiscard]] Index first_whole(const Voq& voq) {
    Index index = voq.first;
    while (index != kNone && net_.pool[index].came_by != 0) {
      index = net_.pool[index].next;
    }
    return index;
  }

  /// Skips the packets that miss pieces before the first whole one.
  void give_up(Voq& voq) {
    const Index whole = first_whole(voq);
    while (voq.first != whole) {
      net_.pool.give_back(pop(voq));
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
  std::vector<Line> lines_;               ///< By endpoint and lane.
  std::vector<std::uint8_t> is_host_;     ///< Of each vertex: outside the fabric.
  std::vector<Released> released_;        ///< Empty between events.
  std::size_t next_released_ = 0;
};

}  // namespace netloom::packet
