#include "netloom/packet/network.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet {

namespace {

constexpr std::size_t kReserved = std::size_t{1} << 22U;  // packets: 256 MiB of address space

std::size_t num_data_packets(const Config& config) {
  std::size_t total = 0;
  for (const std::int64_t size_bytes : config.work.size_bytes) {
    total += static_cast<std::size_t>(size_bytes) / config.hosts.payload_bytes + 1;
  }
  return total;
}

/// The seed's stream and, seeded by what that would draw, one for each further component.
std::vector<Random> streams_of(const Config& config) {
  const auto& component = config.topology.component;
  std::vector<Random> streams{Random(config.seed)};
  Random seeds(config.seed);
  const std::uint32_t last = component.empty() ? 0 : std::ranges::max(component);
  while (streams.size() <= last) {
    streams.emplace_back(seeds());
  }
  return streams;
}

}  // namespace

Network::Network(const Config& given)
    : config(given),
      randoms(streams_of(given)),
      num_lanes(given.num_lanes),
      sample_every_(given.watch.every_ps),
      gap_bytes_(given.hosts.gap_bytes),
      full_blocks_(credit_blocks(std::max(given.hosts.payload_bytes + given.hosts.header_bytes,
                                          given.credit.packet_bytes))),
      cut_through_(given.switches.cut_through),
      max_trace_(given.watch.max_trace) {
  make_ports();
  make_attachments();
  pool.reserve(std::min(num_data_packets(given), kReserved));
}

void Network::make_ports() {
  const Topology& t = config.topology;
  ports.resize(t.source.size());
  queues.resize(ports.size() * num_lanes);
  if (config.switches.input_turns) {
    turns.set_up(t.target, queues.size());
  }
  paused_since_.assign(queues.size(), -1);
  open_pause_.assign(queues.size(), kNone);
  delay_ps_ = t.delay_ps;
  for (std::size_t link = 0; link < ports.size(); ++link) {
    Port& port = ports[link];
    port.target = static_cast<std::uint32_t>(t.target[link]);
    port.flight_ps = t.delay_ps[link] + t.forward_ps[port.target];
    port.set_rate(t.rate_bps[link]);
    port.to_switch = port.target >= t.num_endpoints;
    port.from_switch = std::cmp_greater_equal(t.source[link], t.num_endpoints);
    port.uncontrolled = t.uncontrolled[link] != 0;
  }
  if (!config.switches.arbitration.high.empty() || !config.switches.arbitration.low.empty()) {
    arbiters.resize(ports.size());
  }
  if (config.credit.blocks != 0) {
    const auto first =
        static_cast<std::int32_t>(std::min(config.credit.blocks, config.credit.most_blocks));
    credits.assign(queues.size(), {.left = first, .ahead = first, .grants = {}});
  }
}

void Network::make_attachments() {
  const Topology& t = config.topology;
  std::vector<std::vector<std::int32_t>> into(t.num_endpoints);
  for (std::size_t link = 0; link < ports.size(); ++link) {
    if (!ports[link].to_switch) {
      into[ports[link].target].push_back(static_cast<std::int32_t>(link));
    }
  }
  attachments_.resize(t.num_endpoints);
  for (std::size_t endpoint = 0; endpoint < into.size(); ++endpoint) {
    auto& links = into[endpoint];
    std::ranges::stable_sort(
        links, {}, [&t](std::int32_t link) { return t.source[static_cast<std::size_t>(link)]; });
    attachment_begin_.push_back(static_cast<std::uint32_t>(attachment_links_.size()));
    Attachment& attachment = attachments_[endpoint];
    attachment.begin = attachment_begin_.back();
    if (!links.empty()) {
      const std::int32_t first = t.source[static_cast<std::size_t>(links[0])];
      attachment.vertex = static_cast<std::uint32_t>(first);
      attachment.count =
          static_cast<std::uint16_t>(std::ranges::count_if(links, [&](std::int32_t link) {
            return t.source[static_cast<std::size_t>(link)] == first;
          }));
      attachment.more = attachment.count != links.size();
    }
    attachment_links_.insert(attachment_links_.end(), links.begin(), links.end());
  }
  attachment_begin_.push_back(static_cast<std::uint32_t>(attachment_links_.size()));
}

std::span<const std::int32_t> Network::other_ways(std::uint32_t vertex,
                                                  std::uint32_t endpoint) const {
  const Topology& t = config.topology;
  const std::span<const std::int32_t> links(
      attachment_links_.data() + attachment_begin_[endpoint],
      attachment_begin_[endpoint + 1] - attachment_begin_[endpoint]);
  const auto [first, last] = std::ranges::equal_range(
      links, static_cast<std::int32_t>(vertex), {}, [&t](std::int32_t link) {
        return t.source[static_cast<std::size_t>(link)];
      });
  return first == last ? far_ways(vertex, endpoint) : std::span(first, last);
}

bool Network::loses(std::uint32_t link, const Packet& packet) {
  const Port& port = ports[link];
  // It was under way when the link was cut: what arrives now left before that.
  if (!port.up || (!last_down_.empty() && now - port.flight_ps <= last_down_[link])) {
    return true;
  }
  if (losses_.empty()) {
    return false;
  }
  Loss& loss = losses_[link];
  if (loss.probability <= 0.0 || packet.size_bytes < loss.least_bytes) {
    return false;
  }
  if (loss.of_bits) {
    const std::uint64_t bits = std::uint64_t{packet.size_bytes} * 8;
    return random_at(link).uniform() < 1.0 - cc::power(1.0 - loss.probability, bits);
  }
  if (loss.burst <= 1.0) {
    return random_at(link).uniform() < loss.probability;
  }
  // Gilbert (BSTJ 1960): bursts of mean length `burst`, and the stated share of packets in them.
  const double begin = loss.probability / (loss.burst * (1.0 - loss.probability));
  loss.losing = random_at(link).uniform() < (loss.losing ? 1.0 - 1.0 / loss.burst : begin);
  return loss.losing;
}

void Network::set_loss(const Fault& fault) {
  losses_.resize(ports.size());
  losses_[fault.link] = {
      .probability = fault.value,
      .burst = fault.burst,
      .least_bytes = fault.least_bytes,
      .losing = false,
      .of_bits = fault.what == Fault::What::kCorrupt,
  };
  ports[fault.link].impaired = true;
}

void Network::set_down(std::uint32_t link) {
  last_down_.resize(ports.size(), std::numeric_limits<Time>::min());
  // A packet that is half out is cut as well. It is known by its head where switches cut through.
  const bool by_head = cut_through_ && ports[link].to_switch;
  last_down_[link] = by_head ? now : std::max(now, ports[link].busy_until);
  ports[link].up = false;
  ports[link].impaired = true;
}

void Network::set_paused(std::uint32_t link, std::uint8_t lane, bool paused) {
  const auto bit = static_cast<std::uint16_t>(1U << lane);
  if (((ports[link].paused & bit) != 0) == paused) {
    return;
  }
  ports[link].paused ^= bit;
  const std::size_t at = link * num_lanes + lane;
  if (paused) {
    ++counters.pauses;
    paused_since_[at] = now;
    if (pauses.size() < config.watch.max_pauses) {
      open_pause_[at] = static_cast<Index>(pauses.size());
      pauses.push_back({.begin = now, .end = -1, .link = link, .lane = lane});
    }
    return;
  }
  counters.pause_ps += static_cast<std::uint64_t>(now - paused_since_[at]);
  paused_since_[at] = -1;
  if (open_pause_[at] != kNone) {
    pauses[open_pause_[at]].end = now;
    open_pause_[at] = kNone;
  }
}

std::int64_t Network::carried_bytes(std::uint32_t link) const {
  const Port& port = ports[link];
  const HostSettings& hosts = config.hosts;
  const std::int64_t full = hosts.payload_bytes + hosts.header_bytes + hosts.gap_bytes;
  const Time full_ps = port.time_of(full);
  // Host software may keep a port for longer than its packet is on the wire.
  const Time left_ps = std::clamp(port.busy_until - now, Time{0}, full_ps);
  return static_cast<std::int64_t>(port.sent_bytes) - full * left_ps / full_ps;
}

std::uint64_t Network::pause_ps() const {
  std::uint64_t total = counters.pause_ps;
  for (const Time since : paused_since_) {
    total += since < 0 ? 0 : static_cast<std::uint64_t>(now - since);
  }
  return total;
}

void Network::stall(std::uint32_t link, std::uint8_t lane) {
  ports[link].paused |= static_cast<std::uint16_t>(1U << lane);
  ++counters.credit_stalls;
  await_credit(link, lane);
}

void Network::await_credit(std::uint32_t link, std::uint8_t lane) {
  Credit& credit = credits[link * num_lanes + lane];
  const auto arrival = grants_.arrival_of(credit.grants, full_blocks_ - credit.left);
  if (arrival && arrival->order != credit.grants.awaited) {
    credit.grants.awaited = arrival->order;
    events.push_reserved(arrival->at, arrival->order, link, lane);
  }
}

void Network::grant(std::uint32_t link, std::uint8_t lane, std::int32_t ahead, Time when) {
  const CreditSettings& set = config.credit;
  Credit& credit = credits[link * num_lanes + lane];
  const auto news = static_cast<std::uint32_t>(ahead - credit.ahead);
  credit.ahead = ahead;
  ++counters.credit_updates;
  const Time there =
      set.frame_bytes != 0 ? send_frame(link ^ 1U, set.frame_bytes) : now + delay_ps_[link ^ 1U];
  const std::uint64_t place = events.reserve(Kind::kCredit);
  grants_.add(credit.grants, {.at = there + (when - now), .order = place}, news);
  if (((ports[link].paused >> lane) & 1U) != 0) {
    await_credit(link, lane);
  }
}

void Network::end_stall(std::uint32_t link, std::uint8_t lane) {
  if (settled(link, lane).left >= full_blocks_) {
    ports[link].paused &= static_cast<std::uint16_t>(~(1U << lane));
  }
}

Time Network::sample() {
  const std::size_t most = config.watch.max_samples * config.watch.links.size();
  if (most != 0 && samples.size() >= most) {
    thin_samples();
  }
  for (const std::uint32_t link : config.watch.links) {
    samples.push_back({
        .when = now,
        .sent_bytes = ports[link].sent_bytes,
        .link = link,
        .waiting_bytes = ports[link].waiting_bytes,
        .paused = ports[link].paused,
    });
  }
  return now + sample_every_;
}

void Network::thin_samples() {
  const std::size_t row = config.watch.links.size();
  std::size_t kept = 0;
  for (std::size_t from = 0; from < samples.size(); from += 2 * row, kept += row) {
    std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(from),
                row,
                samples.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  samples.resize(kept);
  sample_every_ *= 2;
}

void Network::record_departure(std::uint32_t link, const Packet& packet) {
  trace.push_back({
      .when = now,
      .offset = packet.offset,
      .link = link,
      .flow = packet.flow,
      .size_bytes = packet.size_bytes,
      .form = static_cast<std::uint8_t>(packet.form),
      .flags = packet.flags,
  });
}

Time Network::one_way(std::uint32_t source, std::uint32_t target, std::uint32_t bytes) const {
  Time total = 0;
  std::uint32_t at = source;
  for (std::uint32_t hops = 0; at != target && hops < config.topology.num_vertices; ++hops) {
    const auto found = ways(at, target);
    if (found.empty()) {
      return total;
    }
    const Port& port = ports[static_cast<std::size_t>(found[0])];
    const bool early = cut_through_ && port.to_switch;
    total += port.flight_ps + (early ? 0 : port.time_of(bytes + gap_bytes_));
    at = port.target;
  }
  return total;
}

Time Network::base_rtt(std::uint32_t source, std::uint32_t target) const {
  const HostSettings& h = config.hosts;
  const Time out = one_way(source, target, h.payload_bytes + h.header_bytes);
  return out +
         one_way(target, source, h.ack_bytes);  // NOLINT(readability-suspicious-call-argument)
}

}  // namespace netloom::packet
