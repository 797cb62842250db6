// What tells a sender of losses beside acknowledgements: retransmission timeouts, and RACK-TLP
// (RFC 8985) where senders probe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/transport/rack.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

template <class Transport>
class Sender;
template <class Transport>
class MessageOrder;
template <class Transport>
class ReceiptProbe;

/// What tells a sender of losses beside acknowledgements: retransmission timeouts, and RACK-TLP
/// (RFC 8985) where senders probe.
template <class Transport>
class LossDetector {
  using Outgoing = packet::Outgoing<Transport>;
  using State = FlowState;

 public:
  LossDetector(FlowTable<Transport>& flows,
               Sender<Transport>& sender,
               MessageOrder<Transport>& messages,
               ReceiptProbe<Transport>& probe)
      : flows_(flows),
        net_(flows.net),
        set_(flows.set),
        sender_(sender),
        messages_(messages),
        probe_(probe),
        racks_(flows.set.probe_rtts != 0 ? flows.num_flows() : 1) {}

  template <class Archive>
  void visit(Archive& archive) {
    archive(racks_);
  }

  void expect_answer(std::uint32_t flow) {
    if (set_.timeout_ps == 0) {
      return;
    }
    Outgoing& out = flows_.out[flow];
    if (out.deadline == kNever || (times_each_packet() && out.timeout_at == kNever)) {
      out.deadline = net_.now + ack_timeout(flow);
      rack_of(flow).began_at = net_.now;
    }
    if (out.timeout_at == kNever) {
      out.timeout_at = out.deadline;
      net_.events.push(out.timeout_at, Kind::kTimeout, flow);
    }
  }

  void restart_timer(std::uint32_t flow) {
    Outgoing& out = flows_.out[flow];
    if (set_.probe_rtts == 0) {
      out.deadline = net_.now + ack_timeout(flow);
      return;
    }
    rack_of(flow).began_at = net_.now;
    out.deadline = kNever;
    const Time judged_at = may_be_reordered(flow) ? reordering_ends(flow) : kNever;
    advance_deadline(flow, std::min(net_.now + ack_timeout(flow), judged_at));
  }

  void on_departure(std::uint32_t flow, bool again) {
    Rack& rack = rack_of(flow);
    if (std::exchange(flows_.out[flow].probe_due, false)) {
      rack.probe_sent = again ? net_.now : -1;
    } else if (!again) {
      rack.began_at = net_.now;  // RFC 8985, section 7.2
    }
  }

  /// Adds to the news what the time of an answer tells: losses, and where recovery stands.
  void detect_by_time(std::uint32_t flow, const Packet& packet, News& news) {
    Rack& rack = rack_of(flow);
    rack.on_answer(packet.sent, net_.now);
    news.lost_bytes += lose_overtaken(flow);
    if (news.acked_bytes != 0) {
      rack.probed = false;
      // Nothing was heard before the answer to a packet that was repeated: section 7.4.2.
      const bool repaired = std::exchange(rack.probe_sent, -1) == packet.sent;
      news.lost_bytes += repaired ? packet.payload_bytes : 0U;
    }
    const Ack now = flows_.position_of(flow);
    rack.on_progress(news.lost_bytes != 0, now.acked_to, now.sent_to);
  }

  /// Takes a round trip into account by which the timeout may have to be longer (RFC 6298).
  void measure_rtt(std::uint32_t flow, Time rtt) {
    if constexpr (requires { flows_.out[flow].sender.mean_rtt; }) {
      auto& sender = flows_.keeper_of(flow).sender;
      const bool first = sender.mean_rtt == 0;
      const Time off = std::abs(rtt - sender.mean_rtt);
      sender.rtt_spread = first ? rtt / 2 : (3 * sender.rtt_spread + off) / 4;
      sender.mean_rtt = first ? rtt : (7 * sender.mean_rtt + rtt) / 8;
    }
  }

  [[nodiscard]] Rack& rack_of(std::uint32_t flow) {
    return racks_[set_.probe_rtts != 0 ? flows_.connections.keeper(flow) : 0];
  }

  [[nodiscard]] const Rack& rack_of(std::uint32_t flow) const {
    return racks_[set_.probe_rtts != 0 ? flows_.connections.keeper(flow) : 0];
  }

  void on_timeout_event(std::uint32_t flow) {
    Outgoing& out = flows_.out[flow];
    if (out.timeout_at != net_.now || out.state == State::kDone) {
      return;  // an earlier one took its place
    }
    out.timeout_at = kNever;
    if (times_each_packet()) {
      expire_packets(flow);
      return;
    }
    if (out.deadline > net_.now) {
      expect_answer(flow);
      return;
    }
    out.deadline = kNever;
    const bool waits = flows_.transport.is_waiting(out.sender) && flows_.awaits_answer(flow);
    if (!waits && ignores_idle_timeout(out)) {
      if (Transport::kPulls) {
        expect_answer(flow);
      }
      return;  // nothing is out: the next departure sets the alarm
    }
    if (acts_before_timeout(flow)) {
      return;
    }
    ++net_.counters.timeouts;
    Outgoing& keeper = flows_.keeper_of(flow);
    keeper.doublings =
        static_cast<std::uint8_t>(std::min(keeper.doublings + 1U, set_.max_doublings));
    lose_all(flow);
    rack_of(flow).on_timeout(flows_.position_of(flow).sent_to);
    const double old_bps = keeper.allowed.rate_bps;
    keeper.allowed =
        flows_.control->on_timeout(flows_.connections.keeper(flow), keeper.line, net_.now);
    if constexpr (requires { flows_.transport.lose_all(out.sender, flows_.extent(flow)); }) {
      // What is not taken for lost must leave room in the window, or nothing would be sent again.
      const std::uint64_t most = std::min(keeper.allowed.window_bytes, out.window);
      if (std::cmp_greater_equal(flows_.transport.in_flight(out.sender, flows_.extent(flow)), most))
          [[unlikely]] {
        flows_.transport.lose_all(out.sender, flows_.extent(flow));
      }
    }
    sender_.move_departure(flow, keeper, old_bps);
    flows_.spray.on_timeout(flows_.connections.keeper(flow), out.last_entropy, net_.now);
    expect_answer(flow);
    sender_.resume(flow);
  }

  /// Whether the transport times each packet by itself.
  [[nodiscard]] bool times_each_packet() const {
    if constexpr (requires { flows_.transport.times_each(); }) {
      return flows_.transport.times_each();
    } else {
      return false;
    }
  }

 private:
  /// Takes what has been out for too long for lost, packet by packet, and waits for the next.
  void expire_packets(std::uint32_t flow) {
    if constexpr (requires { flows_.transport.times_each(); }) {
      Outgoing& out = flows_.out[flow];
      auto oldest = flows_.transport.oldest(out.sender, net_.now);
      if (!oldest && ignores_idle_timeout(out)) {
        if (Transport::kPulls) {
          expect_answer(flow);
        }
        return;  // nothing is out: the next departure sets the alarm
      }
      if (!oldest) {
        flows_.transport.on_timeout(out.sender, flows_.extent(flow));  // a pull may have been lost
      }
      probe_.probe_if_due(flow);
      Outgoing& keeper = flows_.keeper_of(flow);
      const double old_bps = keeper.allowed.rate_bps;
      const Time patient = packet_timeout(flow);
      for (; oldest && oldest->age >= patient;
           oldest = flows_.transport.oldest(out.sender, net_.now)) {
        ++net_.counters.timeouts;
        flows_.transport.expire(
            out.sender, flows_.extent(flow), *oldest, net_.now, out.line.base_rtt);
        keeper.allowed =
            flows_.control->on_timeout(flows_.connections.keeper(flow), keeper.line, net_.now);
        flows_.spray.on_timeout(flows_.connections.keeper(flow), oldest->entropy, net_.now);
      }
      if (flows_.connections.shared()) {
        messages_.update_flight(flow);
      }
      sender_.move_departure(flow, keeper, old_bps);
      if (oldest) {
        out.timeout_at = net_.now + patient - oldest->age;
        net_.events.push(out.timeout_at, Kind::kTimeout, flow);
      } else if (Transport::kPulls) {
        expect_answer(flow);
      }
      sender_.resume(flow);
    }
  }

  /// With nothing in flight there is nothing to send again; but a pull may have been lost, so that
  /// after this many timeouts in a row a sender that is pulled sends one packet unasked. Other
  /// flows share its receiver: most of the waiting is for them.
  static bool ignores_idle_timeout(Outgoing& out) {
    constexpr std::uint8_t kInARow = 64;
    return !Transport::kPulls || ++out.idle_timeouts % kInARow != 0;
  }

  /// Silence after which the sender acts: probes first, where it does.
  [[nodiscard]] Time ack_timeout(std::uint32_t flow) const {
    const Outgoing& keeper = flows_.keeper_of(flow);
    const Time full = base_timeout(flow) << keeper.doublings;
    if (set_.probe_rtts == 0 || !rack_of(flow).may_probe()) {
      return full;
    }
    const std::int64_t flight = flows_.position_of(flow).in_flight_bytes;
    return std::min(
        full, rack_of(flow).probe_after(set_, std::cmp_less_equal(flight, set_.payload_bytes)));
  }

  /// How long each packet of a flow is waited for.
  [[nodiscard]] Time packet_timeout(std::uint32_t flow) const {
    if constexpr (requires { flows_.out[flow].sender.mean_rtt; }) {
      const auto& sender = flows_.keeper_of(flow).sender;
      return std::max(base_timeout(flow), sender.mean_rtt + 4 * sender.rtt_spread);
    } else {
      return base_timeout(flow);
    }
  }

  /// As set, but no less than a first sample of the empty way would give (RFC 6298, section 2.2).
  [[nodiscard]] Time base_timeout(std::uint32_t flow) const {
    const std::uint64_t few = std::uint64_t{set_.timeout_low_packets} * set_.payload_bytes;
    const bool low =
        set_.timeout_low_packets != 0 &&
        std::cmp_less_equal(
            flows_.transport.in_flight(flows_.out[flow].sender, flows_.extent(flow)), few);
    const auto rtt = static_cast<double>(flows_.out[flow].line.base_rtt);
    return std::max(low ? set_.timeout_low_ps : set_.timeout_ps,
                    static_cast<Time>(set_.timeout_rtts * rtt));
  }

  /// Whether packets of a message may have left in another order than that of their numbers, or
  /// some are missing.
  [[nodiscard]] bool may_be_reordered(std::uint32_t flow) const {
    if constexpr (requires { flows_.out[flow].sender.repeats; }) {
      return flows_.out[flow].sender.repeats || flows_.out[flow].sender.has_gap();
    }
    return false;
  }

  /// When the oldest packet of a message is lost that later ones of its connection overtook.
  [[nodiscard]] Time reordering_ends(std::uint32_t flow) const {
    if constexpr (requires { flows_.transport.oldest(flows_.out[flow].sender, net_.now); }) {
      const Rack& rack = rack_of(flow);
      const Time base_rtt = flows_.keeper_of(flow).line.base_rtt;
      if (set_.probe_rtts == 0 || rack.reordering(base_rtt) == 0) {
        return kNever;
      }
      const auto oldest = flows_.transport.oldest(flows_.out[flow].sender, net_.now);
      if (!oldest || oldest->age <= net_.now - rack.sent) {
        return kNever;
      }
      return net_.now + rack.lost_after(base_rtt, net_.now) - oldest->age + 1;
    }
    return kNever;
  }

  /// Takes for lost what left well before a packet of its connection that has arrived; returns its
  /// payload.
  std::uint32_t lose_overtaken(std::uint32_t flow) {
    std::uint32_t bytes = 0;
    if constexpr (requires { flows_.out[flow].sender.repeats; }) {
      const Time most = rack_of(flow).lost_after(flows_.keeper_of(flow).line.base_rtt, net_.now);
      const std::uint32_t last =
          flows_.connections.shared() ? flows_.connections.of(flow).sending : flow;
      std::uint32_t one = flows_.connections.shared() ? flows_.connections.of(flow).oldest : flow;
      for (;; one = flows_.out[one].after) {
        Outgoing& out = flows_.out[one];
        // What a message sends once leaves in order: if its first packet was not overtaken, none
        // was.
        if (out.state != State::kDone && flows_.transport.is_waiting(out.sender) &&
            (may_be_reordered(one) ||
             flows_.transport.first_age(out.sender, net_.now) > net_.now - rack_of(flow).sent)) {
          bytes += flows_.transport.lose_older(out.sender, flows_.extent(one), most, net_.now);
          if (flows_.connections.shared()) {
            messages_.update_flight(one);
          }
          advance_deadline(one, reordering_ends(one));
        }
        if (one == last) {
          return bytes;
        }
      }
    }
    return bytes;
  }

  /// Has the timer of a flow run out at `when`, if that is earlier.
  void advance_deadline(std::uint32_t flow, Time when) {
    Outgoing& out = flows_.out[flow];
    if (when >= out.deadline) {
      return;
    }
    out.deadline = when;
    if (when < out.timeout_at) {
      out.timeout_at = kNever;  // the event that was set comes too late
      expect_answer(flow);
    }
  }

  /// What a silence does before it is a timeout; returns whether it did or is to last longer.
  [[nodiscard]] bool acts_before_timeout(std::uint32_t flow) {
    if (set_.probe_rtts == 0) {
      return false;
    }
    if (const std::uint32_t lost_bytes = lose_overtaken(flow); lost_bytes != 0) {
      const Ack now = flows_.position_of(flow);
      rack_of(flow).on_progress(true, now.acked_to, now.sent_to);
      flows_.keeper_of(flow).allowed = flows_.control->on_loss(
          flows_.connections.keeper(flow), flows_.keeper_of(flow).line, net_.now, lost_bytes);
      expect_answer(flow);
      sender_.resume(flow);
      return true;
    }
    const Time due = std::min(rack_of(flow).began_at + ack_timeout(flow), reordering_ends(flow));
    if (due > net_.now) {
      flows_.out[flow].deadline = due;
      expect_answer(flow);
      return true;
    }
    if (!rack_of(flow).may_probe()) {
      return false;
    }
    send_tail_loss_probe(flow);
    return true;
  }

  /// Sends a packet, new if there is one, whose answer tells what is missing (RFC 8985, section 7).
  void send_tail_loss_probe(std::uint32_t flow) {
    rack_of(flow).probed = true;
    ++net_.counters.probes;
    const std::uint32_t newest = newest_of(flow);
    if constexpr (requires {
                    flows_.transport.repeat_last(flows_.out[newest].sender, flows_.extent(newest));
                  }) {
      Outgoing& out = flows_.out[newest];
      if (!flows_.transport.has_work(out.sender, flows_.extent(newest)) ||
          std::cmp_greater_equal(flows_.position_of(newest).in_flight_bytes, out.window)) {
        flows_.transport.repeat_last(out.sender, flows_.extent(newest));
        if (flows_.connections.shared()) {
          messages_.update_flight(newest);
        }
      }
      out.probe_due = true;
    }
    expect_answer(flow);
    sender_.offer(newest);
  }

  /// The last message of a connection that has something out, or to send.
  [[nodiscard]] std::uint32_t newest_of(std::uint32_t flow) const {
    if (!flows_.connections.shared()) {
      return flow;
    }
    const Connection& all = flows_.connections.of(flow);
    std::uint32_t newest = flow;
    for (std::uint32_t one = all.oldest;; one = flows_.out[one].after) {
      const Outgoing& out = flows_.out[one];
      const bool sends =
          one == all.sending && flows_.transport.has_work(out.sender, flows_.extent(one));
      if (out.state != State::kDone && (sends || flows_.transport.is_waiting(out.sender))) {
        newest = one;
      }
      if (one == all.sending) {
        return newest;
      }
    }
  }

  /// Takes all that is out for lost.
  void lose_all(std::uint32_t flow) {
    if (!flows_.connections.shared()) {
      flows_.transport.on_timeout(flows_.out[flow].sender, flows_.extent(flow));
      return;
    }
    // A socket has one timer (RFC 6298, section 5); other transports time each message.
    const bool whole = set_.probe_rtts != 0;
    const std::uint32_t last = whole ? flows_.connections.of(flow).sending : flow;
    for (std::uint32_t one = whole ? flows_.connections.of(flow).oldest : flow;;
         one = flows_.out[one].after) {
      if (one == flow || (flows_.out[one].state != State::kDone &&
                          flows_.transport.is_waiting(flows_.out[one].sender))) {
        flows_.transport.on_timeout(flows_.out[one].sender, flows_.extent(one));
        messages_.update_flight(one);
      }
      if (one == last) {
        return;
      }
    }
  }

  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  Sender<Transport>& sender_;
  MessageOrder<Transport>& messages_;
  ReceiptProbe<Transport>& probe_;
  std::vector<Rack> racks_;  ///< Of each flow where senders probe, else one that is not used.
};

}  // namespace netloom::packet
