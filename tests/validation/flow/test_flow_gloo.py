"""The flow engine against real all-reduces: gloo over TCP through shaped links.

tests/data/gloo_all_reduce.csv holds ring all-reduces of gloo (torch 2.13.0, CPU), one rank in each
Linux network namespace, on a leaf-spine of 2 spines and 2 hosts a leaf whose links are shaped to
100 Mbit/s, with and without 2:1 oversubscription and a collision of hashed flows. TCP over MTU
9000 leaves 1/1.0074 of the wire to the payload.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import small

from netloom.engines.flow import FlowSettings, run_flows
from netloom.engines.flow.phases import at_once
from netloom.fabric.graph import VertexKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.workload.transfers import Transfers

pytestmark = pytest.mark.validation

DATA = Path(__file__).parents[2] / "data/gloo_all_reduce.csv"
ROWS = list(csv.DictReader(DATA.read_text().splitlines()))
TCP = FlowSettings(wire_share=1 / 1.0074)
WITHIN = 0.08


def ring(order: list[int], size_bytes: int) -> Transfers:
    """Return a ring all-reduce: a rank passes a chunk on when it has it."""
    n, steps = len(order), 2 * (len(order) - 1)
    step, place = np.divmod(np.arange(steps * n), n)
    rank = np.array(order)
    plain = at_once(rank[place], rank[(place + 1) % n], size_bytes=size_bytes // n)
    return replace(
        plain,
        wait_offsets=np.maximum(0, np.arange(steps * n + 1) - n),
        waits=((step - 1) * n + (place - 1) % n)[n:].astype(np.int32),
    )


def shaped(row: dict[str, str]) -> Fabric:
    """Return the leaf-spine of the row; two sites are two leaves of four hosts."""
    ranks, rate_bps = int(row["ranks"]), float(row["rate_bps"])
    sites = row["ring"] == "two-sites"
    fabric = small.leaf_spine(2, 1, 4) if sites else small.leaf_spine(ranks // 2, 2, 2)
    kind = fabric.vertex_kind
    uplink = (kind[fabric.link_source] == VertexKind.SWITCH) & (
        kind[fabric.link_target] == VertexKind.SWITCH
    )
    share = np.where(uplink, 1 / float(row["oversubscription"]), 1.0)
    return replace(fabric, link_rate_bps=rate_bps * share)


def predicted_s(row: dict[str, str]) -> float:
    ranks = int(row["ranks"])
    order = list(range(ranks))
    settings = TCP
    if row["ring"] == "interleaved":
        order = [*range(0, ranks, 2), *range(1, ranks, 2)]
    if row["ring"] == "two-sites":
        settings = replace(TCP, latency_ps=(0, 0, 0, 10_000_000_000))  # 10 ms through 3 switches
    asked = ring(order, int(row["size_bytes"]))
    if int(row["collision"]):
        asked = replace(asked, source_port=colliding_ports(shaped(row), asked, settings))
    return run_flows(shaped(row), asked, settings).simulated_ps * 1e-12


def colliding_ports(fabric: Fabric, asked: Transfers, settings: FlowSettings) -> NDArray[np.uint16]:
    """Return one port for all under which the flows of leaf 0 hash onto the same uplink."""
    kind, source = fabric.vertex_kind, fabric.link_source
    leaf = int(np.flatnonzero(fabric.vertex_tier == 1)[0])
    up = np.flatnonzero((source == leaf) & (kind[fabric.link_target] == VertexKind.SWITCH))
    for port in range(0xC000, 0xC100):
        ports = np.full(len(asked), port, dtype=np.uint16)
        sent = run_flows(fabric, replace(asked, source_port=ports), settings).link_bytes[up]
        if (sent == 0).any():
            return ports
    message = "no collision in 256 ports"
    raise AssertionError(message)


@pytest.mark.parametrize("row", ROWS, ids=[f"{i} {row['case']}" for i, row in enumerate(ROWS)])
def test_a_real_ring_takes_as_long(row: dict[str, str]) -> None:
    assert predicted_s(row) == pytest.approx(float(row["measured_s"]), rel=WITHIN)
