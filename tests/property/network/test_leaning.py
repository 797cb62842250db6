"""Traffic that leans to where more of the ways is left, against the definition of what is left."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
import small
from clos import damaged
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.engines.flow.contention import least_mixed
from netloom.errors import InfeasibleError
from netloom.fabric.edit import fail, restore
from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.routing.candidates import candidates, tables
from netloom.fabric.routing.health import health
from netloom.fabric.routing.spread import load_bps

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.graph import Fabric

FEW = settings(max_examples=40)


HURT = damaged(slowdowns=(2.0, 8.0))


def as_built(fabric: Fabric) -> Fabric:
    for cable in np.flatnonzero(fabric.link_state[::2] != LinkState.UP).tolist():
        fabric = restore(fabric, f"cable:{cable}")
    return fabric


def next_links(fabric: Fabric) -> Callable[[int, int], list[int]]:
    known = tables(fabric)

    def found(switch: int, nic: int) -> list[int]:
        try:
            return [int(link) for link in candidates(known, switch, nic)]
        except InfeasibleError:
            return []

    return found


def ways_left(fabric: Fabric, nic: int) -> Callable[[int], float]:
    """Return what is left of the ways of each switch to *nic*, by its definition."""
    now, built = next_links(fabric), next_links(as_built(fabric))
    edge = int(tables(fabric).near.edge[nic])

    @cache
    def hops(switch: int, *, whole: bool) -> int:
        if switch == edge:
            return 0
        links = (built if whole else now)(switch, nic)
        return 1 + hops(int(fabric.link_target[links[0]]), whole=whole) if links else -(10**6)

    @cache
    def left(switch: int) -> float:
        if switch == edge or hops(switch, whole=False) != hops(switch, whole=True):
            return 1.0
        links = now(switch, nic)
        total = sum(left(int(fabric.link_target[one])) / fabric.link_slowdown[one] for one in links)
        return float(total / len(built(switch, nic)))

    return left


@FEW
@given(HURT)
def test_what_is_left_is_the_mean_over_the_ways_as_built(fabric: Fabric) -> None:
    known = tables(fabric)
    nics = np.flatnonzero(fabric.vertex_kind == VertexKind.NIC)
    goals = np.unique(known.near.edge[nics]).astype(np.int64)
    found = health(known, goals)
    if found is None:
        return
    now = next_links(fabric)
    for nic in nics.tolist():
        left = ways_left(fabric, nic)
        goal = int(known.near.edge[nic])
        for switch in np.flatnonzero(fabric.vertex_tier > 1).tolist():
            into = np.flatnonzero(fabric.link_target == switch)[:1].astype(np.int32)
            if now(switch, nic) and len(into):
                got = found.weight(into, np.array([goal])) * fabric.link_slowdown[into]
                assert got[0] == pytest.approx(left(switch)), (vertex_name(fabric, switch), nic)


@FEW
@given(HURT)
def test_leaning_traffic_arrives_whole_and_a_whole_fabric_is_split_evenly(fabric: Fabric) -> None:
    flows = small.all_pairs(fabric)
    try:
        leaning = load_bps(tables(fabric), flows, np.ones(len(flows)), leaning=True)
    except InfeasibleError:
        return
    into = np.bincount(fabric.link_target, leaning, minlength=fabric.num_vertices)
    out = np.bincount(fabric.link_source, leaning, minlength=fabric.num_vertices)
    switches = fabric.vertex_kind == VertexKind.SWITCH
    assert into[switches] == pytest.approx(out[switches])
    whole = tables(as_built(restored(fabric)))
    even, same = (
        load_bps(whole, flows, np.ones(len(flows)), leaning=lean) for lean in (False, True)
    )
    assert np.array_equal(even, same)


def restored(fabric: Fabric) -> Fabric:
    for cable in np.flatnonzero(fabric.link_slowdown[::2] != 1).tolist():
        fabric = restore(fabric, f"cable:{cable}")
    return fabric


def test_a_lost_up_link_is_made_up_for_by_all_switches_of_its_tier() -> None:
    # A fat tree of 8-port switches, every host to every other: the 16 hosts of a pod send 112
    # flows each out of it, over 4 spines of 4 up-links: 112 on each. One cable fails. Split
    # evenly its spine sends 4 * 112 over 3 links; leaning, the 15 links left share 16 * 112.
    fabric = fail(small.fat_tree(8), "link:spine:0-core:0")
    flows = small.all_pairs(fabric)
    tier = fabric.vertex_tier
    up = (tier[fabric.link_source] == 2) & (tier[fabric.link_target] == 3)

    def busiest(*, leaning: bool) -> float:
        carried = load_bps(tables(fabric), flows, np.ones(len(flows)), leaning=leaning)
        return float(carried[up].max())

    assert busiest(leaning=False) == pytest.approx(4 * 112 / 3)
    assert busiest(leaning=True) == pytest.approx(16 * 112 / 15)


SHARES = st.lists(
    st.tuples(st.floats(0, 4, width=32), st.floats(0, 4, width=32)), min_size=1, max_size=8
)


@given(SHARES, st.floats(0, 1))
def test_no_other_mixture_has_a_smaller_largest_share(
    shares: list[tuple[float, float]], other_part: float
) -> None:
    one, other = (np.array(column, dtype=np.float64) for column in zip(*shares, strict=True))
    part = least_mixed(one, other)
    best = ((1 - part) * one + part * other).max()
    assert 0 <= part <= 1
    assert best <= ((1 - other_part) * one + other_part * other).max() + 1e-9
