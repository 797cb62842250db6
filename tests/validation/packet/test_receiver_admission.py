"""An incast that its receiver admits causes no pause: Meta (SIGCOMM 2024; secondary).

There a 16:1 incast of perftest is paused back to the senders' NICs, and NCCL's gather, whose
receiver clears senders to send, sees no pause at senders, leaves or spines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.engines.packet import PacketSettings, Transport, run_packets
from netloom.validation.fct.setups import network_of
from netloom.workload import patterns
from netloom.workload.dag import Label, to_transfers

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery

pytestmark = pytest.mark.validation

US = 1_000_000
SIZE_BYTES, NUM_SENDERS = 10_000_000, 16
# A packet announces the transfer; the rest is asked for, 64 KiB at a time.
ADMITTED = Transport(
    recovery="pulled", first_window_bytes=4096, pull_bytes=65_536, timeout_ps=4_000 * US
)


def incast(host: Transport) -> Delivery:
    wiring = network_of("reps-64")  # 16 hosts a leaf and 16 spines, 400 Gb/s
    dag = patterns.incast(np.arange(16, 16 + NUM_SENDERS), 0, SIZE_BYTES)
    transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=np.random.default_rng(1))
    return run_packets(wiring, transfers, PacketSettings(transport=host), seed=1)


def test_an_incast_without_admission_is_paused_back_to_its_senders() -> None:
    pauses = incast(Transport()).tables["pauses"]
    paused = set(network_of("reps-64").link_source[pauses["link"].astype(np.int64)].tolist())
    leaves, spines = set(range(64, 68)), set(range(68, 84))
    assert len(paused & set(range(16, 16 + NUM_SENDERS))) >= NUM_SENDERS // 2
    assert paused & leaves
    assert paused & spines


def test_an_admitted_incast_is_never_paused_and_keeps_the_port_busy() -> None:
    delivery = incast(ADMITTED)
    assert delivery.counters["pause_frames"] == 0
    # Bytes with headers and gaps at 400 Gb/s, and a round trip of 8 us.
    wire_ps = NUM_SENDERS * SIZE_BYTES * 4178 / 4096 * 8e12 / 400e9
    assert delivery.finish_ps.max() == pytest.approx(wire_ps + 8 * US, rel=0.01)
