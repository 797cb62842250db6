// CPU time of whole packet runs: a permutation of 1,024 hosts on leaves and spines, by scheme.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "../tests/packet_networks.hpp"
#include "netloom/packet/simulation.hpp"

namespace {

using namespace netloom::packet;

constexpr std::uint32_t kLeaves = 32;
constexpr std::uint32_t kHosts = 32;
constexpr std::int64_t kBytes = 200'000;

/// Every host sends to one that is half the network and up to seven leaves away.
Config permutation() {
  Config c = netloom::test::config(netloom::test::leaf_spine(kLeaves, kHosts, 32, 1'000'000));
  const std::uint32_t num_hosts = kLeaves * kHosts;
  for (std::uint32_t host = 0; host < num_hosts; ++host) {
    const std::uint32_t to = (host + num_hosts / 2 + (host % 8) * kHosts) % num_hosts;
    netloom::test::add_transfer(c.work, host, to, kBytes);
  }
  c.watch.deadlock_every_ps = 0;
  c.congestion_control = "dcqcn";
  return c;
}

void dcqcn(Config& /*c*/) {}

void dcqcn_fetched_ahead(Config& c) {
  c.cache_bytes = 0;
}

void adaptive_credits(Config& c) {
  c.congestion_control = "none";
  c.link_control = "credits";
  c.balance = "adaptive";
  c.transport = "selective";
  c.credit.blocks = 2'048;
}

void hpcc(Config& c) {
  c.congestion_control = "hpcc";
  c.switches.telemetry = true;
  c.hosts.cnp_interval_ps = 0;
}

void swift(Config& c) {
  c.congestion_control = "swift";
  c.transport = "selective";
  c.hosts.cnp_interval_ps = 0;
}

void nscc(Config& c) {
  c.congestion_control = "nscc";
  c.link_control = "trimming";
  c.transport = "selective";
  c.hosts.entropy = "reps";
  c.hosts.ack_every_bytes = 16'384;
  c.hosts.cnp_interval_ps = 0;
  c.switches.queue_bytes.assign(c.switches.queue_bytes.size(), 200'000);
}

void pulled(Config& c) {
  c.congestion_control = "none";
  c.link_control = "trimming";
  c.transport = "pulled";
  c.hosts.ack_every_bytes = 16'384;
  c.hosts.pull_bytes = 16'384;
  c.hosts.first_window_lapses = true;
  c.hosts.entropy = "oblivious";
  c.hosts.cnp_interval_ps = 0;
  c.switches.queue_bytes.assign(c.switches.queue_bytes.size(), 200'000);
}

void cubic(Config& c) {
  c.congestion_control = "cubic";
  c.link_control = "lossy";
  c.transport = "selective";
  c.hosts.disorder_packets = 3;
  c.hosts.cnp_interval_ps = 0;
}

struct Case {
  const char* name = "";
  void (*change)(Config& config) = nullptr;
};

constexpr std::array kCases{
    Case{.name = "dcqcn, pfc", .change = &dcqcn},
    Case{.name = "dcqcn, fetched ahead", .change = &dcqcn_fetched_ahead},
    Case{.name = "none, credits, adaptive", .change = &adaptive_credits},
    Case{.name = "hpcc", .change = &hpcc},
    Case{.name = "swift, selective", .change = &swift},
    Case{.name = "nscc, trimming, reps", .change = &nscc},
    Case{.name = "none, pulled", .change = &pulled},
    Case{.name = "cubic, lossy", .change = &cubic},
};

double cpu_s() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void run(const Case& one) {
  Config config = permutation();
  one.change(config);
  Simulation simulation(std::move(config));
  const double begin_s = cpu_s();
  const Status status = simulation.run(kNever - 1, ~std::uint64_t{0} >> 1U);
  const double spent_s = cpu_s() - begin_s;
  const Counters& counters = simulation.network().counters;
  std::printf("%-26s %s %11llu events %16lld ps %7.2f ns an event\n",
              one.name,
              status == Status::kDone ? "done " : "stuck",
              static_cast<unsigned long long>(counters.events),
              static_cast<long long>(simulation.network().now),
              spent_s * 1e9 / static_cast<double>(counters.events));
}

}  // namespace

int main() {
  for (const Case& one : kCases) {
    run(one);
  }
  return EXIT_SUCCESS;
}
