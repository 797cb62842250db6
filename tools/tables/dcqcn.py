"""Run flows into one port under DCQCN: the tables of docs/models/congestion.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.dcqcn_fluid import DcqcnFluid
from netloom.engines.packet import Ecn, PacketSettings, Recording, Transport, run_packets
from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.workload import patterns
from netloom.workload.dag import Label, to_transfers

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

US = 1_000_000
SETTLED_PS = 100_000 * US
TIMERS = (
    (2, 55),
    (4, 55),
    (10, 55),
    (20, 55),
    (2, 300),
    (4, 300),
    (10, 300),
    (20, 300),
    (20, 1500),
)
PAYLOAD_BYTES, WIRE_BYTES = 1000, 1082
PAPER_MARKS = Ecn(kmin_bytes=5_000, kmax_bytes=200_000, pmax=0.01, at_rate_bps=40e9)
AUTHORS_MARKS = Ecn(kmin_bytes=40_000, kmax_bytes=1_000_000, pmax=1.0, at_rate_bps=40e9)
# bobzhuyb/ns3-rdma, mix/config.txt and qbb-net-device.cc.
AUTHORS = {
    "first_alpha": 0.5,
    "increase_period_ps": 60 * US,
    "counter_bytes": 300_000,
    "recoveries": 4,
    "hyper_of_line": 5e-3,
    "min_rate_bps": 100e6,
}


def controlled(scheme: str, ecn: Ecn, gap_us: int, **parameters: float) -> PacketSettings:
    """Return senders under *scheme*, switches with the marks *ecn*, CNPs *gap_us* apart."""
    host = Transport(payload_bytes=PAYLOAD_BYTES, cnp_interval_ps=gap_us * US)
    return PacketSettings(congestion_control=scheme, ecn=ecn, parameters=parameters, transport=host)


COLUMNS = {
    "paper": controlled("dcqcn", PAPER_MARKS, 50),
    "paper, HPCC-ns3's marks": controlled("dcqcn", Ecn(), 50),
    "ns3-rdma": controlled("dcqcn", AUTHORS_MARKS, 50, **AUTHORS),
    "firmware": controlled("dcqcn-firmware", Ecn(), 4),
    "firmware, paper's marks": controlled("dcqcn-firmware", PAPER_MARKS, 4),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Incast:
    """Equal flows into one port of a switch."""

    rate_bps: float
    num_flows: int
    size_bytes: int

    def times_the_link(self, settings: PacketSettings) -> float:
        """Return the last completion over what the link needs."""
        wiring, transfers = self._wiring(), self._transfers()
        took_ps = run_packets(wiring, transfers, settings, seed=1).finish_ps.max()
        wire_bytes = self.num_flows * self.size_bytes // PAYLOAD_BYTES * WIRE_BYTES
        return float(took_ps) / (wire_bytes * 8e12 / self.rate_bps)

    def settled(self, settings: PacketSettings) -> tuple[float, float, float]:
        """Return packets marked in percent, and mean and 90th percentile of the queue in KB.

        From 100 to 200 ms.
        """
        wiring, transfers = self._wiring(), self._transfers()
        watch = Recording(
            links=(int(np.flatnonzero(wiring.link_target == 0)[0]),), every_ps=10 * US
        )
        early, late = (
            run_packets(wiring, transfers, settings, seed=1, until_ps=until_ps, watch=watch)
            for until_ps in (SETTLED_PS, 2 * SETTLED_PS)
        )
        marks, arrived = (
            late.counters[name] - early.counters[name] for name in ("marks", "delivered_packets")
        )
        samples = late.tables["samples"]
        after = samples["when_ps"].astype(np.int64) >= SETTLED_PS
        queue_kb = samples["waiting_bytes"][after].astype(np.float64) / 1000
        return 100 * marks / arrived, float(queue_kb.mean()), float(np.percentile(queue_kb, 90))

    def _wiring(self) -> PacketTopology:
        num_hosts = self.num_flows + 1
        cables = CableList(
            lower=np.arange(num_hosts),
            upper=np.full(num_hosts, num_hosts),
            rate_bps=np.full(num_hosts, self.rate_bps),
            delay_ps=np.full(num_hosts, US),
            up=np.ones(num_hosts, dtype=np.bool_),
        )
        return wire_up(
            cables,
            num_endpoints=num_hosts,
            name=tuple(f"node:{vertex}" for vertex in range(num_hosts + 1)),
            forward_ps=np.zeros(num_hosts + 1, dtype=np.int64),
        )

    def _transfers(self) -> Transfers:
        dag = patterns.incast(np.arange(1, self.num_flows + 1), 0, self.size_bytes)
        rng = np.random.default_rng(1)
        return to_transfers([dag], [Label(priority=0, job=0)], rng=rng)


def print_completions() -> None:
    """Print the last completion of flows over what the link needs."""
    print(f"| Gb/s | flows | {' | '.join(COLUMNS)} |")
    for rate_bps in (40e9, 100e9, 400e9):
        for num_flows in (2, 8):
            for size_bytes in (10_000_000, 100_000_000):
                one = Incast(rate_bps=rate_bps, num_flows=num_flows, size_bytes=size_bytes)
                cells = (f"{one.times_the_link(column):.2f}" for column in COLUMNS.values())
                start = f"| {rate_bps / 1e9:.0f} | {num_flows} of {size_bytes // 1_000_000} MB"
                print(f"{start} | {' | '.join(cells)} |", flush=True)


def print_fixed_points() -> None:
    """Print what flows without end settle at, beside the fluid model's fixed point."""
    print("| flows | timer, us | marked by the model, % | simulated | queue, mean KB | 90th |")
    for num_flows, timer_us in TIMERS:
        fluid = DcqcnFluid(
            num_flows=num_flows, line_pps=40e9 / 8 / WIRE_BYTES, increase_s=timer_us * 1e-6
        )
        settings = controlled("dcqcn", PAPER_MARKS, 50, increase_period_ps=timer_us * US)
        found = Incast(rate_bps=40e9, num_flows=num_flows, size_bytes=2_000_000_000)
        marked, mean_kb, high_kb = found.settled(settings)
        start = f"| {num_flows} | {timer_us} | {100 * fluid.marked_share():.4f} | {marked:.4f}"
        print(f"{start} | {mean_kb:.1f} | {high_kb:.1f} |", flush=True)


if __name__ == "__main__":
    print_fixed_points()
    print_completions()
