"""DCQCN as its authors have it: what few flows make of a port of 40 Gb/s.

Rules and constants: Zhu et al., SIGCOMM 2015 (recalled: marks from 5 to 200 KB, 1 %; 55 us; 10 MB),
and the authors' simulator (bobzhuyb/ns3-rdma, qbb-net-device.cc and mix/config.txt).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.engines.packet import Ecn, PacketSettings, Transport, run_packets
from netloom.validation.fct.setups import network_of
from netloom.workload import patterns
from netloom.workload.dag import Label, to_transfers

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology

pytestmark = pytest.mark.validation

US = 1_000_000
PAYLOAD_BYTES, WIRE_BYTES = 1000, 1082
PAPER = PacketSettings(
    congestion_control="dcqcn",
    ecn=Ecn(kmin_bytes=5_000, kmax_bytes=200_000, pmax=0.01, at_rate_bps=0),
    transport=Transport(payload_bytes=PAYLOAD_BYTES, cnp_interval_ps=50 * US),
)
# mix/config.txt: RP_TIMER 60, BYTE_COUNTER 300000, RATE_HAI 200Mb/s, KMIN 40, KMAX 1000, PMAX 1;
# qbb-net-device.cc: alpha 0.5 at first, the fifth step is additive, 100 Mb/s at least.
AUTHORS = replace(
    PAPER,
    ecn=Ecn(kmin_bytes=40_000, kmax_bytes=1_000_000, pmax=1.0, at_rate_bps=0),
    parameters={
        "first_alpha": 0.5,
        "increase_period_ps": 60 * US,
        "counter_bytes": 300_000,
        "recoveries": 4,
        "hyper_of_line": 5e-3,
        "min_rate_bps": 100e6,
    },
)
MARKS_OF_HPCC = replace(PAPER, ecn=Ecn())


@pytest.fixture(scope="module")
def star() -> PacketTopology:
    """Twenty-one hosts on a switch, 40 Gb/s."""
    return network_of("dcqcn-21")


def times_the_link(
    star: PacketTopology, num_flows: int, size_bytes: int, settings: PacketSettings
) -> float:
    """Return the last completion over what the link needs for all."""
    dag = patterns.incast(np.arange(1, num_flows + 1), 0, size_bytes)
    rng = np.random.default_rng(1)
    transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
    took_ps = run_packets(star, transfers, settings, seed=1).finish_ps.max()
    wire_bytes = num_flows * size_bytes // PAYLOAD_BYTES * WIRE_BYTES
    return float(took_ps) / (wire_bytes * 8e12 / 40e9)


# Cuts to half at first, then 40 Mb/s each 55 us: 2 flows are back at the line in some 30 ms, and
# lose about an eighth of 43 ms meanwhile. The more flows, the less each has to find back to.
@pytest.mark.parametrize(("num_flows", "most"), [(2, 1.15), (8, 1.06)])
def test_long_flows_fill_a_port(star: PacketTopology, num_flows: int, most: float) -> None:
    assert times_the_link(star, num_flows, 100_000_000, PAPER) < most


@pytest.mark.parametrize("num_flows", [2, 8])
def test_the_authors_simulator_sets_the_same_pace(star: PacketTopology, num_flows: int) -> None:
    paper, authors = (
        times_the_link(star, num_flows, 100_000_000, settings) for settings in (PAPER, AUTHORS)
    )
    assert authors == pytest.approx(paper, rel=0.05)


@pytest.mark.parametrize("num_flows", [2, 8])
def test_short_flows_lose_as_much_whichever_thresholds_switches_have(
    star: PacketTopology, num_flows: int
) -> None:
    paper, hpcc = (
        times_the_link(star, num_flows, 10_000_000, settings) for settings in (PAPER, MARKS_OF_HPCC)
    )
    assert paper > 1.2
    assert hpcc == pytest.approx(paper, rel=0.05)
