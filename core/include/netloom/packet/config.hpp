// What a run is made of: the network, the transfers and every setting, checked by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// Vertices (endpoints first), directed links and next links; link l ^ 1 is l's other direction.
///
/// Next links from vertex v to goal g: `links[offsets[s]..offsets[s + 1]]`, s = `choices[v, g]`.
struct Topology {
  std::uint32_t num_endpoints = 0;
  std::uint32_t num_vertices = 0;
  std::uint32_t num_goals = 0;
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> target;
  std::vector<std::int64_t> rate_bps;
  std::vector<Time> delay_ps;
  std::vector<std::uint8_t> uncontrolled;  ///< Scale-up: no pause, no marks, no loss.
  std::vector<Time> forward_ps;            ///< Of each vertex.
  std::vector<std::int32_t> goal;          ///< Of each endpoint.
  std::vector<std::int32_t> choices;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> links;
  /// For static routes (d-mod-k) and source routes: what a number is divided by where a link is the
  /// first of its set, and for the former the number of each port of each endpoint, as many for all
  /// as the most that one has.
  std::vector<std::uint32_t> digit;
  std::vector<std::uint32_t> number;
  std::vector<std::uint32_t> component;  ///< Of each link: each draws its own; empty: all are one.
};

/// How long a message takes that has its way to itself.
struct KnownTime {
  Time busy_ps = 0;    ///< For which it keeps its connection from the next.
  Time flight_ps = 0;  ///< What it takes longer to arrive.
};

/// What is to be moved, and after what.
///
/// Rows are transfers, which are moved packet by packet, and behind them what takes a time that is
/// known: computations, and messages that meet no other.
struct Work {
  // Of each transfer.
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> target;
  std::vector<std::int64_t> size_bytes;
  std::vector<std::uint16_t> entropy;
  std::vector<std::uint8_t> lane;   ///< 1 and up; 0 is for control.
  std::vector<std::uint8_t> local;  ///< Stays on scale-up links: no NIC, no host software.
  std::vector<std::uint16_t> turn;  ///< Of several ports at an end, the one that it takes, counted
                                    ///< round; empty where no endpoint has several.
  std::vector<std::uint32_t> connection;  ///< Whose messages go in order; empty: none is shared.
  // Of each row.
  std::vector<Time> start_ps;
  std::vector<Time> delay_ps;
  std::vector<std::int64_t> wait_offsets;
  std::vector<std::int32_t> waits;
  std::vector<std::uint32_t> before;  ///< The row of known time that its connection sends first, or
                                      ///< `kNone`; empty: there is none.
  /// Of each transfer: the row of known time that its connection sends next, or `kNone`; empty:
  /// none has one.
  std::vector<std::uint32_t> next_known;
  // Of each row behind the transfers.
  std::vector<std::uint32_t> known;  ///< Which of `known_times` it takes; empty: no time at all.
  std::vector<KnownTime> known_times;

  [[nodiscard]] std::size_t num_transfers() const { return source.size(); }

  [[nodiscard]] std::size_t num_rows() const { return start_ps.size(); }
};

/// A turn of virtual lane arbitration.
struct Turn {
  std::uint8_t lane = 0;
  std::uint32_t bytes = 0;  ///< That the lane may send in it.
};

/// InfiniBand's two tables of virtual lanes (vol. 1, section 7.6.9; recalled).
struct Arbitration {
  std::vector<Turn> high;
  std::vector<Turn> low;
  std::int64_t limit_bytes = 0;  ///< High priority in a row before low gets a packet; -1: none.
};

/// A scheduled fabric: virtual output queues, egress credits, cells.
struct ScheduleSettings {
  std::uint32_t credit_bytes = 4'096;
  Time wait_ps = 0;                     ///< From a request to its credit, when no other port asks.
  std::uint32_t cell_bytes = 256;       ///< Of a cell at most.
  std::uint32_t cell_header_bytes = 0;  ///< Of these.
  std::uint32_t cells_together = 1;     ///< That take one link, to save events.
  std::int64_t queue_bytes = 0;         ///< That virtual output queues of a switch hold.
  Time reassembly_ps = 0;               ///< After which a missing packet is given up.
};

/// What switches do.
struct SwitchSettings {
  std::vector<std::int64_t> buffer_bytes;    ///< Of each vertex, all of it.
  std::vector<std::int64_t> headroom_bytes;  ///< Of each link as ingress, per lane.
  std::vector<double> alpha;             ///< Of each link: share of the free buffer it may take.
  std::vector<std::int64_t> kmin_bytes;  ///< Of each link as egress.
  std::vector<std::int64_t> kmax_bytes;
  std::vector<std::int64_t>
      queue_bytes;           ///< Of each link: most that may wait in a lane; 0: a share.
  std::vector<double> pmax;  ///< Of each link.
  /// Of each vertex: what the headroom of its links and lanes takes together; 0: each has its own.
  /// Empty where none shares it.
  std::vector<std::int64_t> pool_bytes;
  /// Of each link as egress: between notices to each source of what waits beyond Kmin; 0: none.
  /// Empty where no port sends any.
  std::vector<Time> notice_ps;
  /// Of each link as ingress: between looks at what waits of it, to tell its far end a rate; 0:
  /// never. Empty where no port does.
  std::vector<Time> relay_ps;
  bool root_marks = false;  ///< The share `pmax` beyond Kmin, at ports that do not lack credit.
  std::int64_t reserve_bytes = 0;     ///< Per ingress link and lane.
  std::int64_t resume_bytes = 0;      ///< Under the threshold before a pause is lifted.
  std::int64_t ingress_bytes = 0;     ///< Each ingress link's own buffer; 0: all share one.
  std::vector<std::uint32_t> weight;  ///< Of each lane, in bytes a round; 0: strict priority.
  Arbitration arbitration;            ///< InfiniBand's, instead of the above.
  bool cut_through = false;
  bool telemetry = false;
  bool pint = false;            ///< One byte of telemetry; needs hosts.base_rtt_ps.
  bool seeds_equal = false;     ///< All switches hash alike: polarisation.
  bool input_turns = false;     ///< A port serves the links that packets came by in turn.
  bool return_headers = false;  ///< Trimmed packets that do not fit go back to their sender.
  Time flowlet_gap_ps = 0;
};

/// Pauses (IEEE 802.1Qbb).
struct PauseSettings {
  std::uint32_t quanta = 65535;  ///< Asked for; 512 bit times each.
  std::uint32_t frame_bytes = 64;
  Time response_ps = 0;  ///< From a frame's arrival to its effect.
  Time watchdog_ps = 0;  ///< Pause after which a queue is dropped; 0: never.
  Time restore_ps = 0;   ///< For how long a pause is then ignored.
};

/// InfiniBand credits.
struct CreditSettings {
  std::uint32_t blocks = 0;          ///< Buffer of each link and lane, in blocks of 64 bytes.
  std::uint32_t most_blocks = 2048;  ///< That may be advertised.
  std::uint32_t update_blocks = 1;   ///< Freed blocks that are worth an update.
  std::uint32_t frame_bytes = 8;     ///< Of an update; 0: it takes no time on the wire.
  std::uint32_t packet_bytes = 0;    ///< Of the largest packet, cells included; 0: a full packet.
};

/// How receivers that pull slow down for marks and trims on the way; see `PullPaces`.
struct RestraintSettings {
  double least_share = 0.0;   ///< Of the port; 0: they do not.
  Time period_ps = 0;         ///< Between looks, on average.
  double smoothing = 0.5;     ///< What the last look weighs.
  double marked_share = 0.3;  ///< Of whole packets, beyond which marks count.
  double decrease = 0.5;      ///< For all of them marked beyond that.
  double step = 0.01;
  bool doubles = true;          ///< The step, look by look, while nothing is marked.
  bool reacts_to_trims = true;  ///< By other switches than its own.
};

/// What endpoints do.
struct HostSettings {
  std::uint32_t payload_bytes = 4096;  ///< Of a full packet.
  std::uint32_t header_bytes = 62;     ///< In buffers and on the wire.
  std::uint32_t gap_bytes = 20;        ///< On the wire only.
  std::uint32_t least_bytes = 64;      ///< A shorter packet is padded.
  std::uint32_t ack_bytes = 66;
  std::uint32_t cnp_bytes = 78;
  std::uint32_t trimmed_bytes = 64;
  std::uint32_t ack_every_bytes = 0;    ///< 0: every packet.
  std::uint32_t ask_every_packets = 0;  ///< Senders ask for an answer; 0: receivers decide.
  double asks_per_rtt = 0.0;            ///< At least, of the empty way; 0: any number.
  bool ack_on_data_lane = false;
  bool cnp_first = false;        ///< Notifications go first also where acknowledgements do not.
  bool punish_disorder = false;  ///< A packet out of order also draws a notification.
  Time cnp_interval_ps = 0;      ///< Between notifications of a flow; 0: none are sent.
  Time nack_interval_ps = 0;     ///< Until a gap is reported again; 0: once.
  Time timeout_ps = 0;           ///< 0: none.
  double timeout_rtts = 3.0;     ///< The same at least, in round trips of the empty path.
  Time timeout_low_ps = 0;       ///< With at most `timeout_low_packets` in flight.
  std::uint32_t timeout_low_packets = 0;
  std::uint32_t max_doublings = 0;  ///< Of the timeout, one each time it runs out again.
  bool measures_timeout = false;    ///< It is no less than round trips as measured; RFC 6298.
  double ask_rtts = 0.0;     ///< Empty round trips without an answer before a sender that waits for
                             ///< one asks what has come; needs `ack_every_bytes` and a timeout.
  double probe_rtts = 0.0;   ///< Smoothed round trips of silence before a packet probes; 0: none.
  Time probe_margin_ps = 0;  ///< Added to that.
  Time ack_delay_ps = 0;     ///< Added while one packet is out, whose answer may be held back.
  std::uint64_t window_bytes = 0;        ///< Most in flight; 0: no own limit.
  double window_bdp = 0.0;               ///< The same in line rate times base round trip; 0: none.
  std::uint32_t disorder_packets = 0;    ///< Later arrivals that mean a loss; 0: never.
  std::uint32_t code_data = 0;           ///< Packets of a block, of a transport that is coded.
  std::uint32_t code_parity = 0;         ///< Packets more of each.
  bool code_xor = false;                 ///< Parity is of groups, and restores one packet of each.
  std::uint32_t ring_packets = 4096;     ///< Tracked between the oldest gap and the newest packet.
  std::uint32_t first_window_bytes = 0;  ///< Before the first pull; 0: 1.5 of the path's product.
  bool first_window_lapses = false;      ///< The first answer ends it, used up or not.
  std::uint32_t pull_bytes = 0;
  double pull_share = 1.0;        ///< Of its port's rate that a receiver asks for.
  RestraintSettings restraint;    ///< Below that.
  double host_rate_bps = 0.0;     ///< What software moves through a port each way; 0: no limit.
  Time send_ps = 0;               ///< From a transfer's start to its first bit.
  Time receive_ps = 0;            ///< From its last bit to its arrival.
  Time base_rtt_ps = 0;           ///< Told to congestion control; 0: each path's own.
  std::string entropy = "fixed";  ///< How a sender spreads packets.
  std::uint32_t num_paths = 1;
};

/// One thing that goes wrong, on one link, at one time.
struct Fault {
  enum class What : std::uint8_t { kDown, kUp, kRate, kLoss, kPause, kCorrupt };

  Time when = 0;
  What what = What::kDown;
  std::uint32_t link = 0;
  double value = 0.0;             ///< Rate in bit/s, or probability of loss, of a packet or a bit.
  double burst = 0.0;             ///< Mean packets lost in a row; up to 1: independent losses.
  std::uint32_t least_bytes = 0;  ///< Only packets of this size and more are lost.
};

/// A step of a port's gate list.
struct GateStep {
  std::uint16_t open = 0;  ///< Lanes that may send.
  Time duration_ps = 0;
};

/// When the lanes of a port may send (IEEE 802.1Qbv), over and over; no steps: always.
struct GateList {
  Time offset_ps = 0;  ///< When the first step begins for the first time.
  std::vector<GateStep> steps;
};

/// Who holds packets of a lane back, and by what.
struct LaneShaper {
  enum class Kind : std::uint8_t {
    kUnshaped,
    kTokenBucket,  ///< All of the lane together.
    kCredit,       ///< IEEE 802.1Qav; the rate is idleSlope.
    kEligibility,  ///< Each stream apart, IEEE 802.1Qcr.
  };

  Kind kind = Kind::kUnshaped;
  std::int64_t rate_bps = 0;
  std::int64_t burst_bytes = 0;  ///< On the wire, as rates are.
};

/// Queues that take turns of one cycle each (IEEE 802.1Qch with 2, 802.1Qdv with 3 or more).
struct CycleSettings {
  Time period_ps = 0;  ///< 0: there are none.
  std::uint8_t first_lane = 0;
  std::uint8_t num_queues = 2;
  /// Of each link: cycles from a packet's being sent over it until it is sent on. 0: a packet goes
  /// in the cycle after that in which it came.
  std::vector<std::uint32_t> shift;
};

/// A stream: packets of some transfers that are shaped, metered and replicated together.
struct StreamSettings {
  std::int64_t rate_bps = 0;     ///< Committed.
  std::int64_t burst_bytes = 0;  ///< On the wire.
};

/// Deterministic networking: what ports and switches do by the clock, by stream and twice.
struct TimingSettings {
  bool enabled = false;
  std::vector<GateList> gates;         ///< Of each link; empty: none.
  std::vector<LaneShaper> shapers;     ///< Of each link and lane; empty: none.
  std::vector<std::uint16_t> express;  ///< Of each link: lanes that cut others; empty: none.
  CycleSettings cycle;
  std::vector<std::uint32_t> stream;  ///< Of each transfer; empty: each is its own, unlimited.
  std::vector<StreamSettings> streams;
  std::vector<std::uint8_t> metered;     ///< Of each link: drops what exceeds its stream's rate.
  std::vector<std::uint8_t> replicates;  ///< Of each vertex: sends packets by all next links.
  std::vector<std::uint8_t> eliminates;  ///< Of each vertex: drops what it has seen.
  std::uint32_t history_packets = 64;    ///< Of a stream that an eliminating vertex remembers.
};

/// What is written down beside the totals.
struct Watch {
  std::vector<std::uint32_t> links;
  Time every_ps = 0;              ///< Between samples of those links; 0: none.
  std::uint64_t max_samples = 0;  ///< Times kept; beyond them every other one is dropped.
  std::uint64_t max_trace = 0;    ///< Packets' departures that are kept.
  std::uint64_t max_pauses = 0;   ///< Pauses that are kept.
  Time deadlock_every_ps = 0;     ///< Between looks for a circle of waiting links; 0: none.
};

struct Config {
  Topology topology;
  Work work;
  SwitchSettings switches;
  PauseSettings pause;
  CreditSettings credit;
  ScheduleSettings schedule;
  HostSettings hosts;
  TimingSettings timing;
  std::vector<Fault> faults;
  Watch watch;
  std::string link_control;
  std::string balance;
  std::string transport;
  std::string congestion_control;
  std::map<std::string, double> cc_parameters;
  std::uint64_t seed = 0;
  std::uint32_t num_lanes = 2;

  /// Ports and packets up to this are left to the caches; of more, what is needed soon is fetched
  /// ahead, which changes no result. On fat trees that paid from about 10 MB on where 32 MiB of L3
  /// were the run's alone, and at 7 MB where others used them too (docs/models/packet.md).
  std::size_t cache_bytes = std::size_t{1} << 22U;
};

}  // namespace netloom::packet
