"""Flows against packets: large messages on a lossless fabric that is hashed.

What the flow engine leaves out is what they differ by: headers of short packets, the way back of
the last acknowledgement, and pauses that hold the wrong flow. The last flow to end is compared;
pauses make single flows end earlier or later than a fair share would.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pytest
from wirings import leaf_spine

from netloom.engines.flow import run_flows, settings_for
from netloom.engines.flow.phases import at_once
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

pytest.importorskip("netloom.engines.packet.engine", reason="there is no packet engine here")

pytestmark = pytest.mark.validation

WITHIN = 0.05
SMALL, LARGE = 8, 16  # ports of a leaf each way: 64 hosts, and 512 on 32 leaves


def num_hosts(half: int) -> int:
    return half * (8 if half == SMALL else 32)


def fabric(half: int) -> PacketTopology:
    return leaf_spine(num_hosts(half) // half, half, half)


def shift(half: int) -> Transfers:
    """Return a step of a ring over all hosts."""
    host = np.arange(num_hosts(half))
    return at_once(host, (host + 1) % len(host), size_bytes=16 * 2**20)


def permutation(half: int) -> Transfers:
    rng = np.random.default_rng(3)
    host = np.arange(num_hosts(half))
    target = np.roll(rng.permutation(len(host)), 1)
    apart = target != host
    return at_once(host[apart], target[apart], size_bytes=16 * 2**20)


def all_to_all(half: int) -> Transfers:
    """Return one among every fourth or eighth host, so that all leaves take part."""
    members = 16 if half == SMALL else 64
    source, target = np.divmod(np.arange(members**2), members)
    apart = source != target
    stride = num_hosts(half) // members
    return at_once(source[apart] * stride, target[apart] * stride, size_bytes=2**20)


@pytest.mark.parametrize("pattern", [shift, permutation, all_to_all], ids=lambda f: f.__name__)
@pytest.mark.parametrize("half", [SMALL, LARGE])
def test_the_last_flow_ends_when_its_last_packet_does(pattern: object, half: int) -> None:
    assert callable(pattern)
    asked = pattern(half)
    wiring = fabric(half)
    technology = load_catalog().technology("rocev2-400g")
    packets = import_module("netloom.engines.packet.engine")
    presets = import_module("netloom.engines.packet.presets")
    lossless = presets.settings_for(technology, connections=1, congestion_control="none")
    by_packets = packets.run_packets(wiring, asked, lossless).finish_ps.max()
    flows = replace(settings_for(technology), flows_per_transfer=1, latency_ps=(0,))
    by_flows = run_flows(wiring, asked, flows).finish_ps.max()
    assert by_flows == pytest.approx(by_packets, rel=WITHIN)


@pytest.mark.parametrize("pattern", [shift, permutation, all_to_all], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("name", "half"),
    [
        *(("infiniband-ndr", half) for half in (SMALL, LARGE)),
        *(("spectrum-x-400g", half) for half in (SMALL, LARGE)),
        ("scheduled-400g", SMALL),  # cells of 512 hosts are half a minute of work
    ],
)
def test_adaptive_routing_ends_within_its_path_efficiency(
    name: str, pattern: object, half: int
) -> None:
    assert callable(pattern)
    asked = pattern(half)
    wiring = fabric(half)
    technology = load_catalog().technology(name)
    packets = import_module("netloom.engines.packet.engine")
    presets = import_module("netloom.engines.packet.presets")
    chosen = presets.settings_for(technology, connections=1, congestion_control="none")
    quiet = replace(
        chosen,
        transport=replace(chosen.transport, send_ps=0, receive_ps=0),
        schedule=replace(chosen.schedule, wait_ps=0),  # latency too, and flows have none here
    )
    by_packets = packets.run_packets(wiring, asked, quiet).finish_ps.max()
    flows = replace(settings_for(technology), flows_per_transfer=1, latency_ps=(0,))
    by_flows = run_flows(wiring, asked, flows).finish_ps.max()
    assert by_flows == pytest.approx(by_packets, rel=WITHIN)
