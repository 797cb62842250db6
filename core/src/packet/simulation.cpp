#include "netloom/packet/simulation.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "netloom/packet/host/progress.hpp"
#include "netloom/packet/make.hpp"
#include "netloom/packet/memory/archive.hpp"
#include "netloom/packet/sides.hpp"
#include "netloom/packet/switch/deadlock.hpp"

namespace netloom::packet {

Simulation::Simulation(Config config)
    : config_(std::move(config)),
      net_(config_),
      switches_(make_switches(net_)),
      endpoints_(make_endpoints(net_)),
      paused_until_(net_.queues.size(), 0),
      ignored_until_(net_.queues.size(), 0) {
  for (std::uint32_t i = 0; i < config_.faults.size(); ++i) {
    net_.events.push(config_.faults[i].when, Kind::kFault, i);
  }
  if (config_.watch.every_ps != 0) {
    net_.events.push(0, Kind::kSample, 0);
  }
  if (config_.watch.deadlock_every_ps != 0) {
    net_.events.push(config_.watch.deadlock_every_ps, Kind::kDeadlock, 0);
  }
  endpoints_->begin();
}

Simulation::~Simulation() = default;

Status Simulation::run(Time until, std::uint64_t max_events) {
  const Progress& progress = endpoints_->progress();
  return go_on(until, max_events, [&progress] { return progress.unfinished() == 0; });
}

Status Simulation::settle(Time until) {
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max() / 2;
  const Status status = go_on(until, kAll, [] { return false; });
  net_.now = std::max(net_.now, until);  // nothing may be left to do
  return status == Status::kDeadlock ? status : Status::kDone;
}

template <class IsOver>
Status Simulation::go_on(Time until, std::uint64_t max_events, IsOver is_over) {
  const std::uint64_t last = net_.counters.events + max_events;
  while (!is_over()) {
    if (net_.counters.events >= last) {
      return Status::kRunning;
    }
    if (!net_.deadlock.empty() && config_.pause.watchdog_ps == 0) {
      return Status::kDeadlock;
    }
    const Event* next = net_.events.peek();
    if (next == nullptr) {
      return Status::kStuck;
    }
    if (next->when > until) {
      net_.now = std::max(net_.now, until);
      return Status::kRunning;
    }
    const Event event = *next;
    prefetch_ahead();
    net_.events.pop();
    net_.now = event.when;
    net_.order = event.order;
    ++net_.counters.events;
    dispatch(event);
  }
  return Status::kDone;
}

void Simulation::prefetch_ahead() {
  if (net_.events.at_dawn()) {
    const std::size_t links_bytes = net_.ports.size() * kLinkBytes;
    prefetches_ = links_bytes + net_.pool.capacity() * sizeof(Packet) >= config_.cache_bytes;
  }
  if (!prefetches_) {
    return;
  }
  net_.events.look_ahead(kFar + 1);
  const auto today = net_.events.today();
  const auto prepare = [this, today](std::size_t& ready, std::size_t reach, auto expect) {
    for (ready -= ready == 0 ? 0 : 1; ready < std::min(reach, today.size()); ++ready) {
      (this->*expect)(today[ready]);
    }
  };
  prepare(far_, kFar, &Simulation::expect_far);
  prepare(route_, kRoute, &Simulation::expect_route);
  prepare(near_, kNear, &Simulation::expect_near);
  prepare(soon_, kSoon, &Simulation::expect_soon);
}

void Simulation::expect_route(const Event& event) {
  if (event.kind() == Kind::kWake) {
    fetch_line(&net_.queue(event.subject, 0));
  } else if (event.kind() == Kind::kArrive && net_.port(event.subject).to_switch) {
    net_.expect_ways(net_.port(event.subject).target, net_.pool[event.extra].target);
  }
}

void Simulation::expect_far(const Event& event) {
  if (event.kind() == Kind::kArrive) {
    fetch_line(&net_.pool[event.extra]);
  }
  if (event.kind() <= Kind::kWake) {
    fetch_line(&net_.ports[event.subject]);
  }
}

void Simulation::expect_near(const Event& event) {
  if (event.kind() == Kind::kArrive) {
    if (net_.port(event.subject).to_switch) {
      switches_->expect(event.subject, event.extra);
    } else {
      endpoints_->expect(event.subject, event.extra);
    }
  } else if (event.kind() == Kind::kWake) {
    side_of(event.subject).expect_wake(event.subject);
  }
}

void Simulation::expect_soon(const Event& event) {
  if (event.kind() == Kind::kArrive) {
    if (net_.port(event.subject).to_switch) {
      switches_->expect_soon(event.subject, event.extra);
    } else {
      endpoints_->expect_soon(event.subject, event.extra);
    }
  } else if (event.kind() == Kind::kWake) {
    side_of(event.subject).expect_wake_soon(event.subject);
  }
}

void Simulation::dispatch(const Event& event) {
  switch (event.kind()) {
    case Kind::kArrive:
      arrive(event);
      break;
    case Kind::kStored:
      if (net_.port(event.subject).to_switch) {
        switches_->arrive(event.subject, event.extra);
      } else {
        endpoints_->arrive(event.subject, event.extra);
      }
      break;
    case Kind::kWake:
      net_.port(event.subject).awake = false;
      side_of(event.subject).wake(event.subject);
      break;
    case Kind::kPause:
      pause(event);
      break;
    case Kind::kExpire:
      expire(event);
      break;
    case Kind::kRefresh:
      switches_->handle(event);
      break;
    case Kind::kWatchdog:
      watch_over(event);
      break;
    case Kind::kCredit:
      net_.end_stall(event.subject, static_cast<std::uint8_t>(event.extra));
      resume(event.subject);
      break;
    case Kind::kFault:
      fail(config_.faults[event.subject]);
      break;
    case Kind::kSample:
      ++net_.counters.looks;
      net_.events.push(net_.sample(), Kind::kSample, 0);
      break;
    case Kind::kDeadlock:
      look_for_deadlock();
      break;
    default:
      endpoints_->handle(event);
  }
}

Side& Simulation::side_of(std::uint32_t link) {
  return net_.port(link).from_switch ? static_cast<Side&>(*switches_) : *endpoints_;
}

void Simulation::arrive(const Event& event) {
  net_.land(event.subject, event.extra);
  const Port& port = net_.port(event.subject);
  if (port.impaired && net_.loses(event.subject, net_.pool[event.extra])) [[unlikely]] {
    const Packet& packet = net_.pool[event.extra];
    if (!net_.credits.empty() && !port.uncontrolled) {
      // FCTBS tells the receiver of blocks that never came: their credit comes back.
      net_.enter_credit(event.subject, packet);
      net_.leave_credit(event.subject, packet.lane, packet.size_bytes, net_.now);
    }
    ++net_.counters.lost;
    net_.pool.give_back(event.extra);
    return;
  }
  if (port.to_switch) {
    switches_->arrive(event.subject, event.extra);
  } else {
    endpoints_->arrive(event.subject, event.extra);
  }
}

void Simulation::resume(std::uint32_t link) {
  if (!net_.port(link).awake) {
    side_of(link).wake(link);
  }
}

void Simulation::pause(const Event& event) {
  const std::uint32_t link = event.subject;
  const auto lane = static_cast<std::uint8_t>(event.extra & 255U);
  const std::size_t at = link * net_.num_lanes + lane;
  const bool stop = (event.extra & 256U) != 0;
  const bool forever = (event.extra & 512U) != 0;
  if (paused_until_[at] == kNever && !forever) {
    return;  // a part that pauses forever sends no other pause
  }
  if (stop && net_.now < ignored_until_[at]) {
    return;
  }
  const bool was = ((net_.port(link).paused >> lane) & 1U) != 0;
  net_.set_paused(link, lane, stop);
  if (!stop) {
    paused_until_[at] = 0;
    resume(link);
    return;
  }
  const std::int64_t bytes = std::int64_t{config_.pause.quanta} * 64;
  paused_until_[at] = forever ? kNever : net_.now + net_.port(link).time_of(bytes);
  if (paused_until_[at] != kNever) {
    net_.events.push(paused_until_[at], Kind::kExpire, link, lane);
  }
  if (!was && config_.pause.watchdog_ps != 0 && net_.port(link).from_switch) {
    net_.events.push(net_.now + config_.pause.watchdog_ps, Kind::kWatchdog, link, lane);
  }
}

void Simulation::expire(const Event& event) {
  const auto lane = static_cast<std::uint8_t>(event.extra);
  const std::size_t at = event.subject * net_.num_lanes + lane;
  if (paused_until_[at] == event.when) {
    net_.set_paused(event.subject, lane, false);
    resume(event.subject);
  }
}

void Simulation::watch_over(const Event& event) {
  const auto lane = static_cast<std::uint8_t>(event.extra);
  const std::size_t at = event.subject * net_.num_lanes + lane;
  if (net_.paused_since(event.subject, lane) != event.when - config_.pause.watchdog_ps) {
    return;  // it was let go meanwhile
  }
  ++net_.counters.watchdogs;
  ignored_until_[at] = net_.now + config_.pause.restore_ps;
  if (paused_until_[at] == kNever) {  // its peer has not stopped asking
    net_.events.push(ignored_until_[at], Kind::kPause, event.subject, lane | 256U | 512U);
  }
  net_.deadlock.clear();
  net_.set_paused(event.subject, lane, false);
  switches_->flush(event.subject, lane);
}

void Simulation::cut(std::uint32_t link) {
  net_.set_down(link);
  if (net_.port(link).from_switch) {
    for (std::uint32_t lane = 0; lane < net_.num_lanes; ++lane) {
      switches_->flush(link, static_cast<std::uint8_t>(lane));
    }
  } else {
    endpoints_->leave(link);
  }
}

void Simulation::fail(const Fault& fault) {
  switch (fault.what) {
    case Fault::What::kDown:
      cut(fault.link);
      break;
    case Fault::What::kUp:
      net_.port(fault.link).up = true;
      resume(fault.link);
      break;
    case Fault::What::kRate:
      net_.port(fault.link).set_rate(static_cast<std::int64_t>(fault.value));
      break;
    case Fault::What::kLoss:
    case Fault::What::kCorrupt:
      net_.set_loss(fault);
      break;
    case Fault::What::kPause:
      for (std::uint32_t lane = 1; lane < net_.num_lanes; ++lane) {
        net_.events.push(net_.now, Kind::kPause, fault.link, lane | 256U | 512U);
      }
      break;
  }
}

void Simulation::look_for_deadlock() {
  ++net_.counters.looks;
  if (net_.deadlock.empty()) {
    net_.deadlock = circle_of_waiting_links(net_, config_.watch.deadlock_every_ps);
    net_.counters.deadlocks += net_.deadlock.empty() ? 0U : 1U;
  }
  net_.events.push(net_.now + config_.watch.deadlock_every_ps, Kind::kDeadlock, 0);
}

const Progress& Simulation::progress() const {
  return endpoints_->progress();
}

const TimingRecord* Simulation::timing() const {
  return switches_->timing();
}

double Simulation::rate_bps(std::uint32_t flow) const {
  return endpoints_->rate_bps(flow);
}

std::vector<std::byte> Simulation::snapshot() {
  Saver saver;
  net_.visit(saver);
  saver(net_.events.sequence());
  saver(net_.events.pending());
  saver(paused_until_);
  saver(ignored_until_);
  switches_->save(saver);
  endpoints_->save(saver);
  return saver.bytes();
}

void Simulation::restore(std::span<const std::byte> state) {
  Loader loader(state);
  net_.visit(loader);
  std::uint64_t sequence = 0;
  std::vector<Event> events;
  loader(sequence);
  loader(events);
  net_.events.restore(events, sequence, net_.now);
  loader(paused_until_);
  loader(ignored_until_);
  switches_->load(loader);
  endpoints_->load(loader);
}

}  // namespace netloom::packet
