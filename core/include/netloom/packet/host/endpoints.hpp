// Every endpoint of the network: its ports, the flows it sends and those it receives.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "netloom/packet/cc/controllers.hpp"
#include "netloom/packet/host/connections.hpp"
#include "netloom/packet/host/flows.hpp"
#include "netloom/packet/host/ports.hpp"
#include "netloom/packet/host/pulls.hpp"
#include "netloom/packet/host/software.hpp"
#include "netloom/packet/host/spray.hpp"
#include "netloom/packet/memory/archive.hpp"
#include "netloom/packet/memory/huge_pages.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/queue/scheduler.hpp"
#include "netloom/packet/sides.hpp"
#include "netloom/packet/signals.hpp"
#include "netloom/packet/transport/rack.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

template <class Transport>
class Endpoints final : public EndpointSide {
 public:
  Endpoints(Network& network, cc::ControllersPtr control)
      : net_(network),
        set_(network.config.hosts),
        control_(std::move(control)),
        transport_(set_),
        progress_(network),
        spray_(set_.entropy, set_.num_paths, num_flows()),
        ready_(network.ports.size(), network.num_lanes, num_flows()),
        pulls_(network, num_flows()),
        software_(network),
        out_(num_flows(), Outgoing{.allowed = control_->unstarted()}),
        racks_(set_.probe_rtts != 0 ? num_flows() : 1),
        in_(num_flows()),
        several_(!network.config.work.turn.empty()),
        connections_(network.config.work) {}

  void begin() override { progress_.begin(); }

  void arrive(std::uint32_t link, Index index) override {
    if (software_.delays(link, index)) [[unlikely]] {
      return;
    }
    const Packet& packet = net_.pool[index];
    if (!net_.credits.empty() && !net_.ports[link].uncontrolled) {
      net_.enter_credit(link, packet);
      net_.leave_credit(link, packet.lane, packet.size_bytes, net_.now);
    }
    if (packet.form == Form::kData) {
      receive(link, index);
      return;
    }
    if (packet.form == Form::kAsk) [[unlikely]] {
      tell(link, index);
      return;
    }
    answer(index);
    net_.pool.give_back(index);
  }

  void wake(std::uint32_t link) override {
    const Port& port = net_.port(link);
    if (port.busy_until > net_.now) {
      if (pending(link) != 0) {
        net_.wake_later(link);
      }
      return;
    }
    if (!port.up) {
      return;
    }
    ready_.advance(link);
    if (const auto able = static_cast<std::uint16_t>(port.waiting & ~port.paused); able != 0) {
      const Index index = net_.take_first(link, lane_of(link, able));
      if (several_ && net_.pool[index].form == Form::kData) [[unlikely]] {
        net_.pool[index].sent = net_.now;  // the NIC's clock stands at the wire
      }
      net_.launch(link, index);
      if (several_) [[unlikely]] {
        refill(link);
      }
    } else {
      send_ready(link);
    }
    if (pending(link) != 0) {
      net_.wake_later(link);
    }
  }

  void handle(const Event& event) override {
    switch (event.kind()) {
      case Kind::kStart:
        start(event.subject);
        break;
      case Kind::kReady:
        ring(event.subject, event.when);
        break;
      case Kind::kTimer:
        tick(event.subject, event.when);
        break;
      case Kind::kTimeout:
        expire(event.subject);
        break;
      default:
        pull(event.subject);
    }
  }

  void leave(std::uint32_t link) override {
    if (several_) {
      move_away(link);
    }
  }

  // ---- memory that will be looked at, in endpoints_prefetch.hpp

  void expect(std::uint32_t link, Index index) override;
  void expect_soon(std::uint32_t link, Index index) override;
  void expect_wake_soon(std::uint32_t link) override;
  void expect_wake(std::uint32_t link) override;

  [[nodiscard]] const Progress& progress() const override { return progress_; }

  [[nodiscard]] double rate_bps(std::uint32_t flow) const override {
    const State state = out_[flow].state;
    return state == State::kUnborn || state == State::kDone ? 0.0 : kept(flow).allowed.rate_bps;
  }

  void save(Saver& saver) override { visit(saver); }

  void load(Loader& loader) override { visit(loader); }

 private:
  using State = FlowState;
  using Outgoing = packet::Outgoing<Transport>;
  using Incoming = packet::Incoming<Transport>;

  template <class Archive>
  void visit(Archive& archive) {
    transport_.visit(archive);
    progress_.visit(archive);
    spray_.visit(archive);
    ready_.visit(archive);
    pulls_.visit(archive);
    software_.visit(archive);
    if constexpr (requires { control_->save(archive); }) {
      control_->save(archive);
    } else {
      control_->load(archive);
    }
    archive(out_);
    archive(racks_);
    archive(in_);
    connections_.visit(archive);
  }

  [[nodiscard]] std::size_t num_flows() const { return net_.config.work.source.size(); }

  [[nodiscard]] Extent extent(std::uint32_t flow) const {
    return {
        .size_bytes = static_cast<std::uint64_t>(net_.config.work.size_bytes[flow]),
        .payload_bytes = set_.payload_bytes,
    };
  }

  [[nodiscard]] std::uint16_t pending(std::uint32_t link) {
    const Port& port = net_.port(link);
    return static_cast<std::uint16_t>((port.waiting | ready_.lanes(link)) & ~port.paused);
  }

  /// The lane that sends next: the first, or whose turn it is where lanes are arbitrated or have
  /// weights.
  [[nodiscard]] std::uint8_t lane_of(std::uint32_t link, std::uint16_t able) {
    if ((able & (able - 1)) == 0) {
      return static_cast<std::uint8_t>(std::countr_zero(able));
    }
    return next_lane(net_, link, able, [this](std::uint8_t /*lane*/) {
      return set_.payload_bytes + set_.header_bytes;
    });
  }

  // ---- several ports, in endpoints_ports.hpp

  /// The port by which a packet of a flow leaves: of several the one whose turn it is, or the next
  /// that is up.
  [[nodiscard]] std::uint32_t door(std::uint32_t from,
                                   std::uint32_t to,
                                   std::uint32_t flow,
                                   std::uint16_t entropy) const;
  /// Makes packets of a flow that sprays over several ports, until it may send no more or the port
  /// of the next one has enough to go on with.
  void send_over_ports(std::uint32_t flow);
  /// Gives the next packet of such a flow its entropy, if it has none, and thereby its port. Values
  /// whose port is down are left out, and those whose port has enough to do while another has not.
  void draw(std::uint32_t flow);
  /// Lets flows go on that waited for the port to have room.
  void refill(std::uint32_t link);
  /// Whether a lane of the port has packets to go on with when the one that is leaving has left.
  [[nodiscard]] bool has_enough(std::uint32_t link, std::uint8_t lane);
  void move_away(std::uint32_t link);

  // ---- sending, in endpoints_send.hpp

  void start(std::uint32_t flow);
  [[nodiscard]] Line line_of(std::uint32_t flow) const;
  /// What a port sends at most, software included.
  [[nodiscard]] double most_bps(std::uint32_t link, bool local) const;
  /// The same of all ports from one endpoint to another.
  [[nodiscard]] double all_bps(std::uint32_t from, std::uint32_t to, bool local) const;
  [[nodiscard]] static double product(const Line& line);
  [[nodiscard]] std::uint64_t window_of(const Line& line) const;
  [[nodiscard]] std::uint64_t first_window(const Line& line) const;
  [[nodiscard]] bool may_send(std::uint32_t flow) const;
  /// Puts an idle flow in line if it may send, or sets its pace's alarm.
  void offer(std::uint32_t flow);
  /// Sets the alarm of a flow whose next departure is later than its port is free.
  bool awaits_pace(std::uint32_t flow);
  /// A pace's alarm; one that a change of rate has put in another's place is not heard.
  void ring(std::uint32_t flow, Time when);
  void kick(std::uint32_t link);
  void send_ready(std::uint32_t link);
  void send(std::uint32_t flow);
  /// Whether a packet that is about to leave asks for an answer; if so, that is noted.
  bool ask(std::uint32_t flow, const Segment& segment);
  /// What may leave before the next packet that asks.
  [[nodiscard]] std::uint64_t most_unasked(std::uint32_t flow) const;

  /// Whether something was sent of which nothing has been heard, and should be: of what did not ask
  /// there need be no answer (InfiniBand vol. 1, section 9.7; recalled).
  [[nodiscard]] bool awaits_answer(std::uint32_t flow) const {
    const Outgoing& out = out_[flow];
    return set_.ask_every_packets == 0 ||
           transport_.acked_to(out.sender, extent(flow)) < out.asked_to;
  }

  void pace(const Outgoing& out, Outgoing& keeper, std::uint32_t wire_bytes);
  /// The departure that was set at `old_bps` is where the rate of now would have set it.
  void move_departure(std::uint32_t flow, Outgoing& keeper, double old_bps);
  static Time spread_over(std::uint32_t wire_bytes, double rate_bps);
  /// What a data packet tells its receiver to grant; 0 where nobody pulls.
  [[nodiscard]] std::uint64_t asked(std::uint32_t flow) const;
  Index make_data(std::uint32_t flow, const Segment& segment);

  // ---- messages of one connection, in endpoints_connection.hpp

  /// The flow with what this one's connection knows of its path: itself, if it is alone on it.
  [[nodiscard]] Outgoing& kept(std::uint32_t flow) { return out_[connections_.keeper(flow)]; }

  [[nodiscard]] const Outgoing& kept(std::uint32_t flow) const {
    return out_[connections_.keeper(flow)];
  }

  /// Puts a message behind those that its connection was given before; returns whether there were.
  bool join(std::uint32_t flow);
  /// Whether some of a message has never been sent.
  [[nodiscard]] bool is_unsent(std::uint32_t flow) const;
  /// Lets the next message go once this one has been sent.
  void let_next_send(std::uint32_t flow);
  /// Payload in flight of the other messages of a connection.
  [[nodiscard]] std::int64_t flight_of_others(std::uint32_t flow) const;
  /// Counts anew what of a message is in flight.
  void settle(std::uint32_t flow);
  /// Says of an acknowledgement where it stands in all that the flow's connection carries.
  void place(std::uint32_t flow, Ack& ack) const;
  /// Sends what a signal that a flow heard may have allowed, it or other messages.
  void go_on(std::uint32_t flow);
  void go_on_all(std::uint32_t flow);

  // ---- answers and timers, in endpoints_answer.hpp

  void answer(Index index);
  void acknowledge(std::uint32_t flow, Index index);
  [[nodiscard]] Ack ack_of(std::uint32_t flow, Index index, News news, bool marked);

  /// Where a flow stands in what its connection carries, and what of that is in flight.
  [[nodiscard]] Ack standing(std::uint32_t flow) const;

  void arm(std::uint32_t flow);
  void tick(std::uint32_t flow, Time when);

  /// With nothing out there is nothing to send again; but a pull may have been lost, so that after
  /// many silences on end a sender that is pulled stirs. Others share its receiver: most silences
  /// are theirs.
  static bool is_patient(Outgoing& out);

  void expect_answer(std::uint32_t flow);
  void expire(std::uint32_t flow);

  /// Whether the transport times each packet by itself.
  [[nodiscard]] bool times_each() const;

  /// Takes what has been out for too long for lost, packet by packet, and waits for the next.
  void expire_each(std::uint32_t flow);

  // ---- what silence and later arrivals tell, in endpoints_timeout.hpp

  [[nodiscard]] Rack& rack_of(std::uint32_t flow);
  [[nodiscard]] const Rack& rack_of(std::uint32_t flow) const;
  /// Silence after which the sender acts: probes first, where it does.
  [[nodiscard]] Time patience(std::uint32_t flow) const;
  /// As set, but no less than a first sample of the empty way would give (RFC 6298, section 2.2).
  [[nodiscard]] Time timeout(std::uint32_t flow) const;
  void note_departure(std::uint32_t flow, bool again);
  /// Adds to the news what the time of an answer tells: losses, and where recovery stands.
  void judge_in_time(std::uint32_t flow, const Packet& packet, News& news);
  /// Whether packets of a message may have left in another order than that of their numbers, or
  /// some are missing.
  [[nodiscard]] bool is_unclear(std::uint32_t flow) const;
  /// When the oldest packet of a message is lost that later ones of its connection overtook.
  [[nodiscard]] Time reordering_ends(std::uint32_t flow) const;
  /// Takes for lost what left well before a packet of its connection that has arrived; returns its
  /// payload.
  std::uint32_t lose_overtaken(std::uint32_t flow);
  void restart_timer(std::uint32_t flow);
  /// Has the timer of a flow run out at `when`, if that is earlier.
  void hasten(std::uint32_t flow, Time when);
  /// What a silence does before it is a timeout; returns whether it did or is to last longer.
  [[nodiscard]] bool bears_silence(std::uint32_t flow);
  /// Sends a packet, new if there is one, whose answer tells what is missing (RFC 8985, section 7).
  void probe(std::uint32_t flow);
  /// The last message of a connection that has something out, or to send.
  [[nodiscard]] std::uint32_t newest_of(std::uint32_t flow) const;
  /// Takes all that is out for lost.
  void lose_all(std::uint32_t flow);

  // ---- senders that ask what has come, in endpoints_probe.hpp

  /// Notes that an answer has come that is no NACK.
  void hear(std::uint32_t flow, const Packet& answer);
  /// Takes a round trip into account by which the timeout may have to be longer (RFC 6298).
  void measure(std::uint32_t flow, Time rtt);
  /// How long each packet of a flow is waited for.
  [[nodiscard]] Time patience_of_each(std::uint32_t flow) const;
  /// So many round trips of a flow's empty path.
  [[nodiscard]] Time round_trips(std::uint32_t flow, double number) const;
  /// Sets the alarm of a flow that may send no more, and has nothing out that asks for an answer.
  void ask_later(std::uint32_t flow);
  /// Asks the flow's receiver what has come, if it is time.
  void ask_if_due(std::uint32_t flow);
  /// Answers a sender that asks.
  void tell(std::uint32_t link, Index index);

  // ---- receiving, in endpoints_receive.hpp

  void receive(std::uint32_t link, Index index);
  void open(std::uint32_t flow, const Packet& packet);
  /// Where there are several ports, answers leave by the one that was last heard at.
  void answer_by(std::uint32_t link, const Packet& packet);
  void reply(std::uint32_t link, Index index, Reply kind);
  void notify(std::uint32_t flow, const Packet& cause);

  struct Control {
    Form form;
    std::uint32_t size_bytes;
    std::uint64_t bits;
  };

  void send_control(std::uint32_t flow, const Packet& cause, Control control);
  /// Sends a packet at once if the port is free, else in its turn.
  void dispatch(std::uint32_t link, Index index);
  void want_more(std::uint32_t flow, std::uint32_t link);
  /// Grants the flow whose turn it is what it asks for or, when none asks, some more to one that
  /// had what it asked for: its first window may have lapsed.
  void pull(std::uint32_t endpoint);
  void send_pull(std::uint32_t flow);
  /// What a grant takes at the rate that a receiver asks for.
  [[nodiscard]] Time pull_time(std::uint32_t flow, std::uint64_t bytes);

  Network& net_;
  const HostSettings& set_;
  cc::ControllersPtr control_;
  Transport transport_;
  Progress progress_;
  Spray spray_;
  ReadyFlows ready_;
  Pulls pulls_;
  HostSoftware software_;
  Large<Outgoing> out_;
  std::vector<Rack> racks_;  ///< Of each flow where senders probe, else one that nobody looks at.
  Large<Incoming> in_;
  bool kicking_ = false;
  bool several_;  ///< Some endpoint has several ports.
  Connections connections_;
};

}  // namespace netloom::packet
