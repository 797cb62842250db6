"""What a run holds in memory: less than 1 KiB for a packet in flight, and for an idle flow."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from wires import star, transfers

from netloom.engines.native import PacketSimulation
from netloom.engines.packet import PacketSettings, Transport, Watch
from netloom.engines.packet.lower import Lowered, lowered

RESIDENT: Final = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not RESIDENT.exists(), reason="needs Linux's /proc/self/statm")

MS: Final = 1_000_000_000
PLAIN = PacketSettings(flow_control="lossy", transport=Transport(timeout_ps=0))
SETTINGS: Final = {
    "dcqcn": replace(PLAIN, congestion_control="dcqcn"),
    "hpcc": replace(
        PLAIN, congestion_control="hpcc", transport=Transport(timeout_ps=0, telemetry=True)
    ),
    "nscc": replace(
        PLAIN,
        congestion_control="nscc",
        flow_control="trimming",
        spray="reps",
        transport=Transport(recovery="selective", timeout_ps=0),
    ),
}


def resident_bytes() -> int:
    return int(RESIDENT.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def simulation(made: Lowered) -> PacketSimulation:
    return PacketSimulation(made.arrays, made.numbers, made.names, made.parameters)


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_a_flow_that_has_not_begun_takes_less_than_a_kibibyte(name: str) -> None:
    count = 200_000
    work = transfers([(0, 1)] * count, 4096, start_ps=MS)
    made = lowered(star(2), work, SETTINGS[name], seed=0, faults=(), watch=Watch())
    before = resident_bytes()
    held = simulation(made)
    grown = resident_bytes() - before
    assert held.unfinished() == count
    assert grown / count < 1024


def test_a_packet_in_flight_takes_less_than_a_kibibyte() -> None:
    # 400 Gb/s over 5 ms of cable twice: 250 MB each, 61,000 packets of 4 KiB on either link.
    wires = star(2, rate_bps=400e9, delay_ps=5 * MS)
    work = transfers([(0, 1)], 10**9)
    made = lowered(wires, work, SETTINGS["dcqcn"], seed=0, faults=(), watch=Watch())
    held = simulation(made)
    before = resident_bytes()
    held.run(9 * MS, 1 << 40)
    in_flight = held.counters()["packets_in_flight"]
    assert in_flight > 100_000
    assert (resident_bytes() - before) / in_flight < 1024


def test_a_finished_flow_leaves_no_packets_behind() -> None:
    work = transfers([(0, 1)] * 100, 40_960, waits=[(), *((i,) for i in range(99))])
    made = lowered(star(2), work, SETTINGS["dcqcn"], seed=0, faults=(), watch=Watch())
    held = simulation(made)
    held.run(1 << 62, 1 << 40)
    assert held.counters()["packets_in_flight"] == 0
    # One transfer at a time: the pool never held more than its packets and their answers.
    assert held.counters()["most_packets_in_flight"] <= 20
