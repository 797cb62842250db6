"""Run few flows into one port under DCQCN: the table of docs/models/congestion.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netloom.engines.packet import Ecn, PacketSettings, Transport, run_packets
from netloom.fabric.plain_wiring import Cables, wire_up
from netloom.workload import patterns
from netloom.workload.dag import Label, to_transfers

US = 1_000_000
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
        num_hosts = self.num_flows + 1
        hosts = np.arange(num_hosts)
        cables = Cables(
            lower=hosts,
            upper=np.full(num_hosts, num_hosts),
            rate_bps=np.full(num_hosts, self.rate_bps),
            delay_ps=np.full(num_hosts, US),
            up=np.ones(num_hosts, dtype=np.bool_),
        )
        wiring = wire_up(
            cables,
            num_endpoints=num_hosts,
            name=tuple(f"node:{vertex}" for vertex in range(num_hosts + 1)),
            forward_ps=np.zeros(num_hosts + 1, dtype=np.int64),
        )
        dag = patterns.incast(hosts[1:], 0, self.size_bytes)
        rng = np.random.default_rng(1)
        transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
        took_ps = run_packets(wiring, transfers, settings, seed=1).finish_ps.max()
        wire_bytes = self.num_flows * self.size_bytes // PAYLOAD_BYTES * WIRE_BYTES
        return float(took_ps) / (wire_bytes * 8e12 / self.rate_bps)


if __name__ == "__main__":
    print(f"| Gb/s | flows | {' | '.join(COLUMNS)} |")
    for rate_bps in (40e9, 100e9, 400e9):
        for num_flows in (2, 8):
            for size_bytes in (10_000_000, 100_000_000):
                one = Incast(rate_bps=rate_bps, num_flows=num_flows, size_bytes=size_bytes)
                cells = (f"{one.times_the_link(column):.2f}" for column in COLUMNS.values())
                start = f"| {rate_bps / 1e9:.0f} | {num_flows} of {size_bytes // 1_000_000} MB"
                print(f"{start} | {' | '.join(cells)} |", flush=True)
