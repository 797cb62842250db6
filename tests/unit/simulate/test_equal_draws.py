"""Both engines hash alike: one seed sends a connection the same way, another seed elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wirings import leaf_spine

from netloom.engines.flow import run_flows
from netloom.engines.flow import settings_for as flow_settings
from netloom.engines.flow.phases import at_once
from netloom.engines.packet.engine import run_packets
from netloom.engines.packet.presets import settings_for
from netloom.parts.load import load_catalog

ROCE = load_catalog().technology("rocev2-400g")


def _used(connections: int, seed: int) -> tuple[set[int], set[int]]:
    """Return the links that packets and flows of 8 transfers across a leaf-spine went over."""
    wiring = leaf_spine(8, 8, 8)
    host = np.arange(8)
    asked = at_once(host, host + 8, size_bytes=1_000_000)
    packet = settings_for(ROCE, connections=connections, congestion_control="none")
    flow = replace(flow_settings(ROCE), flows_per_transfer=connections)
    by_packets = run_packets(wiring, asked, packet, seed=seed).link_bytes
    by_flows = run_flows(wiring, asked, flow, seed=seed).link_bytes
    # Acknowledgements go back over other links: 66 bytes for each 4,096.
    data = np.flatnonzero(by_packets > 0.1 * by_packets.max())
    return set(data.tolist()), set(np.flatnonzero(by_flows).tolist())


@pytest.mark.parametrize("connections", [1, 4])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_packets_take_the_links_that_flows_take(connections: int, seed: int) -> None:
    packets, flows = _used(connections, seed)
    assert packets == flows


def test_another_seed_is_another_draw_of_the_ways() -> None:
    draws = [_used(1, seed)[0] for seed in range(4)]
    assert len({frozenset(draw) for draw in draws}) == 4
