"""With the headroom that cables need, no packet is ever dropped; and everything arrives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from wires import leaf_spine, transfers

from netloom.engines.packet import (
    Credits,
    Ecn,
    PacketSettings,
    Pfc,
    SwitchSettings,
    Transport,
    run_packets,
)
from netloom.engines.packet.lower import headroom_bytes

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers


@st.composite
def cases(draw: st.DrawFn):  # type: ignore[no-untyped-def]
    leaves, hosts, spines = (draw(st.integers(1, 4)) for _ in range(3))
    count = leaves * hosts
    if count < 2:
        leaves, count = 2, 2 * hosts
    num_cables = count + leaves * spines
    tree = leaf_spine(
        leaves,
        hosts,
        spines,
        rate_bps=draw(
            st.lists(
                st.sampled_from([25e9, 100e9, 400e9]), min_size=num_cables, max_size=num_cables
            )
        ),
        delay_ps=draw(
            st.lists(st.integers(0, 4_000_000), min_size=num_cables, max_size=num_cables)
        ),
        forward_ps=draw(st.integers(0, 600_000)),
    )
    ends = st.integers(0, count - 1)
    pairs = draw(
        st.lists(st.tuples(ends, ends).filter(lambda p: p[0] != p[1]), min_size=1, max_size=12)
    )
    sizes = draw(st.lists(st.integers(1, 300_000), min_size=len(pairs), max_size=len(pairs)))
    priority = draw(st.lists(st.integers(0, 2), min_size=len(pairs), max_size=len(pairs)))
    start = draw(st.lists(st.integers(0, 5_000_000), min_size=len(pairs), max_size=len(pairs)))
    return tree, transfers(pairs, sizes, priority=priority, start_ps=start)


def _tight(tree: PacketTopology, work: Transfers, how: PacketSettings) -> int:
    """A buffer of which headroom leaves 100 kB to share: pauses come after 12 kB and sooner."""
    num_lanes = len(set(work.priority.tolist()))
    held = np.zeros(tree.num_vertices, dtype=np.int64)
    np.add.at(held, tree.link_target, headroom_bytes(tree, how, num_lanes=num_lanes) * num_lanes)
    return int(held.max()) + 100_000


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(["none", "dcqcn"]), st.integers(0, 500_000), st.booleans())
def test_sufficient_headroom_never_loses(case, scheme, response_ps, cut):  # type: ignore[no-untyped-def]
    tree, work = case
    how = PacketSettings(
        congestion_control=scheme,
        ecn=Ecn(kmin_bytes=5_000, kmax_bytes=50_000, at_rate_bps=0),
        switch=SwitchSettings(alpha=0.125, reserve_bytes=0, cut_through=cut),
        pfc=Pfc(response_ps=response_ps),
        transport=Transport(cnp_interval_ps=50_000_000),
    )
    how = replace(how, switch=replace(how.switch, buffer_bytes=_tight(tree, work, how)))
    delivery = run_packets(tree, work, how, seed=1, until_ps=1_000_000_000_000)
    assert delivery.counters["drops"] == 0
    assert not delivery.partial
    assert delivery.counters["delivered_bytes"] == work.size_bytes.sum()
    assert delivery.counters["retransmissions"] == 0


@settings(max_examples=40, deadline=None)
@given(cases(), st.integers(9_000, 200_000), st.booleans())
def test_credits_neither_lose_nor_lock_up_and_down(case, buffer_bytes, adaptive):  # type: ignore[no-untyped-def]
    tree, work = case
    how = PacketSettings(
        flow_control="credits",
        balance="adaptive" if adaptive else "ecmp",
        credits=Credits(buffer_bytes=buffer_bytes, update_bytes=64),
        switch=SwitchSettings(cut_through=True),
        transport=Transport(
            recovery="selective", header_bytes=26, gap_bytes=0, ack_bytes=30, ack_on_data_lane=True
        ),
    )
    delivery = run_packets(tree, work, how, until_ps=1_000_000_000_000)
    assert delivery.counters["drops"] == 0
    assert delivery.counters["deadlocks"] == 0
    assert not delivery.partial
