// What switches and endpoints share: ports, queues, packets in flight, events and counts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "netloom/packet/config.hpp"
#include "netloom/packet/event_queue.hpp"
#include "netloom/packet/link/grants.hpp"
#include "netloom/packet/memory/huge_pages.hpp"
#include "netloom/packet/memory/prefetch.hpp"
#include "netloom/packet/packet.hpp"
#include "netloom/packet/queue/turns.hpp"
#include "netloom/packet/random.hpp"
#include "netloom/packet/records.hpp"
#include "netloom/packet/signals.hpp"
#include "netloom/packet/wire_time.hpp"

namespace netloom::packet {

constexpr std::uint8_t kControl = 0;  ///< Lane of acknowledgements: first, never paused or marked.
constexpr std::size_t kMaxHops = 8;   ///< Telemetry that a packet can carry.

/// The sending side of a link, and the packets on their way over it.
///
/// Those form a list in order; the first one's arrival is the link's only event.
struct alignas(64) Port {
  Time busy_until = 0;
  Time flight_ps = 0;  ///< Propagation, and forwarding in the switch that it leads to.
  std::int64_t rate_bps = 0;
  std::uint32_t ps_per_byte = 0;  ///< 0 unless a whole number.
  std::uint32_t target = 0;
  std::uint64_t sent_bytes = 0;
  std::uint32_t waiting_bytes = 0;
  std::uint16_t waiting = 0;  ///< Lanes that hold packets.
  std::uint16_t paused = 0;   ///< Lanes that may not send.
  Time last_at = 0;           ///< When the last packet under way arrives.
  Index last = kNone;         ///< That packet.
  bool awake : 1 = false;     ///< A wake-up is scheduled.
  bool up : 1 = true;
  bool to_switch : 1 = false;
  bool from_switch : 1 = false;
  bool uncontrolled : 1 = false;
  bool impaired : 1 = false;  ///< Has been down, or loses packets.
  std::uint8_t turn = 0;      ///< Lane that weighted scheduling serves.

  [[nodiscard]] Time time_of(std::int64_t bytes) const {
    return ps_per_byte != 0 ? bytes * ps_per_byte : wire_time(bytes, rate_bps);
  }

  void set_rate(std::int64_t bps) {
    rate_bps = bps;
    ps_per_byte = kBitPs % bps == 0 ? static_cast<std::uint32_t>(kBitPs / bps) : 0;
  }
};

static_assert(sizeof(Port) == 64);

/// Packets of one lane that wait for a port, first in first out unless ports take turns.
struct Queue {
  Index head = kNone;
  Index tail = kNone;
  std::uint32_t bytes = 0;
  std::int32_t deficit = 0;  ///< Bytes it may still send this round.
};

/// InfiniBand flow control of one lane of a link, in blocks of 64 bytes.
///
/// The receiver's limit is what it has received and min(free, most): InfiniBand vol. 1, section
/// 7.9.4 (recalled). Only its distance from what has come is kept, so that an account is half a
/// line of memory.
struct alignas(32) Credit {
  std::int32_t left = 0;      ///< Sender: may still be sent, as of the last look.
  std::int32_t occupied = 0;  ///< Receiver: not yet forwarded.
  std::int32_t ahead = 0;     ///< Receiver: the limit the sender was told, less all that came.
  GrantList grants;           ///< On their way to the sender, or not yet looked at.
};

static_assert(sizeof(Credit) == 32);

/// What bytes take of InfiniBand's credit.
constexpr std::int32_t credit_blocks(std::uint32_t bytes) {
  constexpr std::uint32_t kBlockBytes = 64;
  return static_cast<std::int32_t>((bytes + kBlockBytes - 1) / kBlockBytes);
}

/// Where virtual lane arbitration of a port stands.
struct Arbiter {
  std::int64_t limit_left = 0;         ///< High priority that may still pass low.
  std::array<std::int32_t, 2> left{};  ///< Bytes of the turn, by table (high, low).
  std::array<std::uint8_t, 2> turn{};
};

class Network {
 public:
  explicit Network(const Config& given);

  [[nodiscard]] Port& port(std::uint32_t link) { return ports[link]; }

  [[nodiscard]] Queue& queue(std::uint32_t link, std::uint8_t lane) {
    return queues[link * num_lanes + lane];
  }

  [[nodiscard]] Hop* hops(Index packet) { return telemetry.data() + packet * kMaxHops; }

  /// Next links from `vertex` to `endpoint`; a direct link before any other.
  [[nodiscard]] std::span<const std::int32_t> ways(std::uint32_t vertex,
                                                   std::uint32_t endpoint) const {
    const Attachment& attachment = attachments_[endpoint];
    if (attachment.vertex == vertex) {
      return {attachment_links_.data() + attachment.begin, attachment.count};
    }
    if (attachment.more) [[unlikely]] {
      return other_ways(vertex, endpoint);
    }
    return far_ways(vertex, endpoint);
  }

  /// Fetches what `ways` will read.
  void expect_ways(std::uint32_t vertex, std::uint32_t endpoint) const {
    const Topology& t = config.topology;
    const auto goal = static_cast<std::uint32_t>(t.goal[endpoint]);
    fetch_line(&t.choices[vertex * std::size_t{t.num_goals} + goal]);
    fetch_line(&attachments_[endpoint]);
  }

  /// Whether `endpoint` hangs on `vertex`, and on no other before it.
  [[nodiscard]] bool is_beside(std::uint32_t vertex, std::uint32_t endpoint) const {
    return attachments_[endpoint].vertex == vertex;
  }

  /// Fetches the account of a lane's credit, where there is one.
  void expect_credit(std::uint32_t link, std::uint8_t lane) const {
    if (!credits.empty()) {
      fetch_line(&credits[link * num_lanes + lane]);
    }
  }

  /// Fetches the packet that the next one sent over `link` will follow.
  void expect_flight(std::uint32_t link) const { fetch(ports[link].last); }

  /// Fetches the packet that the next one waiting in this queue will follow.
  void expect_queue(std::uint32_t link, std::uint8_t lane) const {
    fetch(queues[link * num_lanes + lane].tail);
  }

  void fetch(Index index) const {
    if (index != kNone) {
      fetch_line(&pool[index]);
    }
  }

  /// What a packet takes of a link. Scale-up links and those to a shared NIC are rated in payload,
  /// and have neither a transport's headers nor its answers.
  [[nodiscard]] std::uint32_t wire_bytes(const Port& port, const Packet& packet) const {
    if (port.uncontrolled) [[unlikely]] {
      return packet.form == Form::kData ? packet.payload_bytes : 0;
    }
    return packet.size_bytes + gap_bytes_;
  }

  /// Puts a packet on the wire now; the port must be free.
  void launch(std::uint32_t link, Index index) {
    Port& out = ports[link];
    Packet& packet = pool[index];
    const std::uint32_t bytes = wire_bytes(out, packet);
    const Time wire = out.time_of(bytes);
    packet.came_by = kNone;
    out.busy_until = now + wire;
    out.sent_bytes += bytes;
    ++counters.link_traversals;
    const bool early = cut_through_ && out.to_switch;
    fly(link, index, now + out.flight_ps + (early ? 0 : wire));
    if (!credits.empty() && !out.uncontrolled) {
      spend(link, packet);
    }
    if (trace.size() < max_trace_) [[unlikely]] {
      record_departure(link, packet);
    }
  }

  /// Keeps a port busy with `bytes` of a packet that sets out when all of it is sent (`set_out`).
  void occupy(std::uint32_t link, std::int64_t bytes) {
    Port& out = ports[link];
    out.busy_until = now + out.time_of(bytes);
    out.sent_bytes += static_cast<std::uint64_t>(bytes);
  }

  /// Lets a packet go whose last bit is out now.
  void set_out(std::uint32_t link, Index index) {
    pool[index].came_by = kNone;
    ++counters.link_traversals;
    fly(link, index, now + ports[link].flight_ps);
    if (trace.size() < max_trace_) [[unlikely]] {
      record_departure(link, pool[index]);
    }
  }

  /// Takes the packet that has arrived off its link, and schedules the next one's arrival.
  void land(std::uint32_t link, Index index) {
    const Packet& packet = pool[index];
    if (packet.next != kNone) {
      events.push(now + packet.gap(), Kind::kArrive, link, packet.next);
    } else {
      ports[link].last = kNone;
    }
  }

  /// Sends a frame of the link layer as soon as the port is free; returns when its last bit is
  /// there.
  Time send_frame(std::uint32_t link, std::uint32_t size_bytes) {
    Port& out = ports[link];
    const Time begin = out.busy_until > now ? out.busy_until : now;
    out.busy_until = begin + out.time_of(size_bytes + gap_bytes_);
    out.sent_bytes += size_bytes + gap_bytes_;
    return out.busy_until + delay_ps_[link];
  }

  void append(std::uint32_t link, Index index) {
    Packet& packet = pool[index];
    Queue& waiting = queue(link, packet.lane);
    packet.next = kNone;
    if (!turns.empty()) [[unlikely]] {
      turns.append(pool, link * num_lanes + packet.lane, index);
    }
    if (waiting.head == kNone) {
      waiting.head = index;
      ports[link].waiting |= static_cast<std::uint16_t>(1U << packet.lane);
    } else if (turns.empty()) [[likely]] {
      pool[waiting.tail].next = index;
    }
    waiting.tail = index;
    waiting.bytes += packet.size_bytes;
    ports[link].waiting_bytes += packet.size_bytes;
  }

  Index take_first(std::uint32_t link, std::uint8_t lane) {
    Queue& waiting = queue(link, lane);
    const Index index = waiting.head;
    const Packet& packet = pool[index];
    waiting.head = turns.empty() ? packet.next : turns.take(pool, link * num_lanes + lane, index);
    waiting.bytes -= packet.size_bytes;
    ports[link].waiting_bytes -= packet.size_bytes;
    if (waiting.head == kNone) {
      waiting.tail = kNone;
      ports[link].waiting &= static_cast<std::uint16_t>(~(1U << lane));
    }
    return index;
  }

  /// Every packet that waits for a port in a lane.
  template <class Visit>
  void each_waiting(std::uint32_t link, std::uint8_t lane, Visit visit) const {
    const auto walk = [&](Index at) {
      for (; at != kNone; at = pool[at].next) {
        visit(pool[at]);
      }
    };
    const std::size_t queue = link * num_lanes + lane;
    turns.empty() ? walk(queues[queue].head) : turns.each_line(queue, walk);
  }

  /// Schedules a wake-up for when the port is free, unless there is one.
  void wake_later(std::uint32_t link) {
    Port& out = ports[link];
    if (!out.awake) {
      out.awake = true;
      events.push(out.busy_until > now ? out.busy_until : now, Kind::kWake, link);
    }
  }

  /// Credits: a packet has come over `link`; its room is free again once `leave_credit` says so.
  void enter_credit(std::uint32_t link, const Packet& packet) {
    Credit& credit = credits[link * num_lanes + packet.lane];
    const std::int32_t came = credit_blocks(packet.size_bytes);
    credit.occupied += came;
    credit.ahead -= came;
    advertise(link, packet.lane, now);
  }

  void leave_credit(std::uint32_t link, std::uint8_t lane, std::uint32_t size_bytes, Time when) {
    credits[link * num_lanes + lane].occupied -= credit_blocks(size_bytes);
    advertise(link, lane, when);
  }

  /// Lets a lane that lacked credit go on if enough has come.
  void end_stall(std::uint32_t link, std::uint8_t lane);

  /// Whether the lane could send another full packet behind the one that it sends now.
  [[nodiscard]] bool has_credit_for_more(std::uint32_t link, std::uint8_t lane) {
    return credits.empty() || settled(link, lane).left >= 2 * full_blocks_;
  }

  /// What is drawn at a link: its component's own, so that no component changes another's.
  [[nodiscard]] Random& random_at(std::uint32_t link) {
    const auto& component = config.topology.component;
    return component.empty() ? randoms.front() : randoms[component[link]];
  }

  /// Whether the link loses this packet: it was cut meanwhile, or corrupts it.
  [[nodiscard]] bool loses(std::uint32_t link, const Packet& packet);

  void set_paused(std::uint32_t link, std::uint8_t lane, bool paused);

  [[nodiscard]] Time paused_since(std::uint32_t link, std::uint8_t lane) const {
    return paused_since_[link * num_lanes + lane];
  }

  /// What a link has carried, of the packet that it is sending only what is out by now.
  [[nodiscard]] std::int64_t carried_bytes(std::uint32_t link) const;

  /// How long lanes were paused in all, those that still are included.
  [[nodiscard]] std::uint64_t pause_ps() const;

  void set_loss(const Fault& fault);
  void set_down(std::uint32_t link);
  /// Writes down the watched links, and returns when to do so again.
  [[nodiscard]] Time sample();

  /// Empty-network time of a full packet to `target` and its acknowledgement back.
  [[nodiscard]] Time base_rtt(std::uint32_t source, std::uint32_t target) const;

  template <class Archive>
  void visit(Archive& archive);

  const Config& config;
  Time now = 0;
  std::uint64_t order = 0;  ///< That of the event which happens now.
  EventQueue events;
  PacketPool pool;
  std::vector<Random> randoms;  ///< A stream for each component of the run, the seed's own first.
  std::uint32_t num_lanes;
  Large<Port> ports;
  Large<Queue> queues;
  InputTurns turns;  ///< Where ports serve their inputs in turn.
  Large<Hop> telemetry;
  Large<Credit> credits;          ///< Of each link and lane, where credits rule.
  std::vector<Arbiter> arbiters;  ///< Of each link, where lanes are arbitrated.
  Counters counters;
  std::vector<PauseRecord> pauses;
  std::vector<TraceRecord> trace;
  std::vector<SampleRecord> samples;
  std::vector<std::uint32_t> deadlock;  ///< The circle of links, once found.

 private:
  struct Attachment {
    std::uint32_t vertex = kNone;
    std::uint32_t begin = 0;
    std::uint16_t count = 0;
    bool more = false;  ///< The endpoint hangs on other vertices too.
  };

  struct Loss {
    double probability = 0.0;
    double burst = 0.0;
    std::uint32_t least_bytes = 0;
    bool losing = false;
    bool of_bits = false;  ///< The probability is that of a bit.
  };

  [[nodiscard]] std::span<const std::int32_t> far_ways(std::uint32_t vertex,
                                                       std::uint32_t endpoint) const {
    const Topology& t = config.topology;
    const auto goal = static_cast<std::uint32_t>(t.goal[endpoint]);
    const auto set = static_cast<std::size_t>(t.choices[vertex * std::size_t{t.num_goals} + goal]);
    const auto begin = static_cast<std::size_t>(t.offsets[set]);
    return {t.links.data() + begin, static_cast<std::size_t>(t.offsets[set + 1]) - begin};
  }

  [[nodiscard]] std::span<const std::int32_t> other_ways(std::uint32_t vertex,
                                                         std::uint32_t endpoint) const;
  [[nodiscard]] Time one_way(std::uint32_t source, std::uint32_t target, std::uint32_t bytes) const;

  void fly(std::uint32_t link, Index index, Time at) {
    Port& port = ports[link];
    pool[index].next = kNone;
    if (port.last == kNone) {
      events.push(at, Kind::kArrive, link, index);
    } else {
      at = at > port.last_at ? at : port.last_at;  // a link that slows down keeps its order
      Packet& before = pool[port.last];
      before.set_gap(at - port.last_at);
      before.next = index;
    }
    port.last = index;
    port.last_at = at;
  }

  /// The account of a lane with all the credit that has reached its sender by now.
  Credit& settled(std::uint32_t link, std::uint8_t lane) {
    Credit& credit = credits[link * num_lanes + lane];
    credit.left += grants_.take_due(credit.grants, now, order);
    return credit;
  }

  void spend(std::uint32_t link, const Packet& packet) {
    Credit& credit = settled(link, packet.lane);
    credit.left -= credit_blocks(packet.size_bytes);
    if (credit.left < full_blocks_) [[unlikely]] {
      stall(link, packet.lane);
    }
  }

  /// Tells the sender how far it may go, if that is worth an update.
  void advertise(std::uint32_t link, std::uint8_t lane, Time when) {
    const CreditSettings& set = config.credit;
    const Credit& credit = credits[link * num_lanes + lane];
    const std::int64_t room = std::int64_t{set.blocks} - credit.occupied;
    const std::int64_t most = set.most_blocks;
    const std::int64_t ahead = room < most ? room : most;
    if (ahead - credit.ahead >= std::int64_t{set.update_blocks}) {
      grant(link, lane, static_cast<std::int32_t>(ahead), when);
    }
  }

  void stall(std::uint32_t link, std::uint8_t lane);
  void grant(std::uint32_t link, std::uint8_t lane, std::int32_t ahead, Time when);
  void await_credit(std::uint32_t link, std::uint8_t lane);
  void make_ports();
  void make_attachments();
  void record_departure(std::uint32_t link, const Packet& packet);
  void thin_samples();

  std::vector<Attachment> attachments_;
  std::vector<std::int32_t> attachment_links_;
  std::vector<std::uint32_t> attachment_begin_;  ///< Of each endpoint, and the end.
  std::vector<Time> delay_ps_;
  GrantPool grants_;
  std::vector<Loss> losses_;        ///< Of each link, once any loses.
  std::vector<Time> last_down_;     ///< Of each link, once any was cut; the least: never.
  std::vector<Time> paused_since_;  ///< Of each link and lane; -1 when it is not.
  std::vector<Index> open_pause_;   ///< Its record.
  Time sample_every_;               ///< Grows with the run, so that samples stay few.
  std::uint32_t gap_bytes_;
  std::int32_t full_blocks_;  ///< Credit that the largest packet needs.
  bool cut_through_;
  std::uint64_t max_trace_;
};

template <class Archive>
void Network::visit(Archive& archive) {
  archive(now);
  pool.visit(archive);
  archive(randoms);
  archive(ports);
  archive(queues);
  turns.visit(archive);
  archive(telemetry);
  archive(credits);
  grants_.visit(archive);
  archive(arbiters);
  archive(counters);
  archive(pauses);
  archive(trace);
  archive(samples);
  archive(deadlock);
  archive(losses_);
  archive(last_down_);
  archive(paused_since_);
  archive(open_pause_);
  archive(sample_every_);
}

}  // namespace netloom::packet
