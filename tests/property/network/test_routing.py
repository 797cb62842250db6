"""Routing against the definition: shortest paths that go up, then down, found by brute force."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
import pytest
import small
from clos import damaged, healthy
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.errors import InfeasibleError
from netloom.fabric.deadlock import check, check_adaptive, find_cycle, loops
from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.routing import dmodk, ecmp
from netloom.fabric.routing.candidates import candidates, tables
from netloom.fabric.routing.spread import load_bps

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric

FEW = settings(max_examples=40)


def distances(fabric: Fabric, goal: int, *, up_down: bool) -> dict[tuple[int, bool], int]:
    """Return how far (vertex, may still go up) is from *goal*, by a search over every link.

    Without *up_down* any shortest path counts, and the second part of the key means nothing.
    """
    found = {(goal, True): 0, (goal, False): 0}
    queue = deque(found)
    while queue:
        vertex, fresh = state = queue.popleft()
        for link in np.flatnonzero(fabric.link_target == vertex):
            if fabric.link_state[link] != LinkState.UP:
                continue
            source = int(fabric.link_source[link])
            rise = int(fabric.vertex_tier[vertex]) - int(fabric.vertex_tier[source])
            # A packet that may still go up at `source` may go up to `vertex` and stay so, or
            # go down; one that has come down may only go on down.
            sources = [(source, True)] if rise > 0 and fresh else []
            sources += [(source, True), (source, False)] if rise < 0 and not fresh else []
            if not up_down or rise == 0:
                sources = [(source, fresh)]
            for before in sources:
                if before not in found:
                    found[before] = found[state] + 1
                    queue.append(before)
    return found


def first_nic(fabric: Fabric) -> int:
    return int(np.argmax(fabric.vertex_kind == VertexKind.NIC))


@FEW
@given(damaged())
def test_candidates_are_the_first_links_of_all_shortest_up_down_paths(fabric: Fabric) -> None:
    known = tables(fabric)
    switches = np.flatnonzero(fabric.vertex_kind == VertexKind.SWITCH)
    for nic in range(first_nic(fabric), first_nic(fabric) + fabric.design.num_ports):
        far = distances(fabric, nic, up_down=True)
        for switch in switches.tolist():
            away = far.get((switch, True))
            if away is None:
                with pytest.raises(InfeasibleError):
                    candidates(known, switch, nic)
                continue
            expected = [
                link
                for link in np.flatnonzero(fabric.link_source == switch).tolist()
                if fabric.link_state[link] == LinkState.UP
                and far.get(after(fabric, link)) == away - 1
            ]
            assert candidates(known, switch, nic).tolist() == expected


def after(fabric: Fabric, link: int) -> tuple[int, bool]:
    """Return where a packet is that could still go up and took *link*."""
    source, target = int(fabric.link_source[link]), int(fabric.link_target[link])
    return target, bool(fabric.vertex_tier[target] > fabric.vertex_tier[source])


@FEW
@given(damaged(), st.sampled_from(["ecmp", "ecmp equal seeds", "dmodk"]))
def test_paths_join_their_ends_go_up_then_down_and_are_as_short_as_can_be(
    fabric: Fabric, how: str
) -> None:
    known, flows = tables(fabric), small.all_pairs(fabric)
    far = [distances(fabric, gpu, up_down=True) for gpu in range(fabric.design.num_gpus)]
    ends = list(zip(flows.source.tolist(), flows.target.tolist(), strict=True))
    ok = [pair for pair in ends if (pair[0], True) in far[pair[1]]]
    if len(ok) < len(ends):
        with pytest.raises(InfeasibleError):
            ecmp.paths(known, flows)
    flows = small.flows(ok)
    if how == "dmodk":
        paths = dmodk.paths(known, flows)
    else:
        paths = ecmp.paths(known, flows, seeds="equal" if "equal" in how else "distinct")
    for flow, (source, target) in enumerate(ok):
        path = paths.path(flow)
        assert fabric.link_source[path[0]] == source
        assert fabric.link_target[path[-1]] == target
        assert np.array_equal(fabric.link_target[path[:-1]], fabric.link_source[path[1:]])
        tiers = fabric.vertex_tier[[source, *fabric.link_target[path]]].astype(int)
        rises = [rise for rise in np.diff(tiers).tolist() if rise]
        assert rises == sorted(rises, reverse=True)
        assert len(path) == far[target][source, True]
        assert (fabric.link_state[path] == LinkState.UP).all()
    assert len(loops(fabric, paths)) == 0
    assert check(fabric, paths).free


@FEW
@given(healthy())
def test_on_a_healthy_clos_no_path_at_all_is_shorter(fabric: Fabric) -> None:
    flows = small.all_pairs(fabric)
    paths = ecmp.paths(tables(fabric), flows)
    for gpu in range(fabric.design.num_gpus):
        far = distances(fabric, gpu, up_down=False)
        for flow in np.flatnonzero(flows.target == gpu).tolist():
            assert len(paths.path(flow)) == far[int(flows.source[flow]), True]


@FEW
@given(damaged())
def test_adaptive_routing_on_a_clos_is_free_of_deadlock_whatever_failed(fabric: Fabric) -> None:
    assert check_adaptive(tables(fabric)).free


@FEW
@given(st.lists(st.integers(2, 4), min_size=1, max_size=2))
def test_paths_on_a_torus_are_as_long_as_the_steps_round_each_dimension(sizes: list[int]) -> None:
    fabric = small.torus(*sizes)
    flows = small.all_pairs(fabric)
    paths = ecmp.paths(tables(fabric), flows)
    here, there = (np.array(np.unravel_index(end, sizes)) for end in (flows.source, flows.target))
    around = (here - there) % np.array(sizes)[:, None]
    steps = np.minimum(around, np.array(sizes)[:, None] - around).sum(axis=0)
    # GPU to NIC, NIC to switch, the steps, switch to NIC, NIC to GPU.
    assert np.array_equal(np.diff(paths.offsets), steps + 4)


@FEW
@given(healthy(), st.integers(0, 2**32 - 1))
def test_a_spread_conserves_every_flow(fabric: Fabric, seed: int) -> None:
    flows = small.all_pairs(fabric)
    rate_bps = np.random.default_rng(seed).random(len(flows))
    carried = load_bps(tables(fabric), flows, rate_bps)
    into = np.bincount(fabric.link_target, carried, minlength=fabric.num_vertices)
    out = np.bincount(fabric.link_source, carried, minlength=fabric.num_vertices)
    num_gpus = fabric.design.num_gpus
    sent = np.bincount(flows.source, rate_bps, minlength=num_gpus)
    got = np.bincount(flows.target, rate_bps, minlength=num_gpus)
    assert into[num_gpus:] == pytest.approx(out[num_gpus:])
    assert out[:num_gpus] == pytest.approx(sent)
    assert into[:num_gpus] == pytest.approx(got)


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_a_cycle_is_found_exactly_where_some_vertex_reaches_itself(
    edges: set[tuple[int, int]],
) -> None:
    reach = np.zeros((8, 8), dtype=bool)
    for one, other in edges:
        reach[one, other] = True
    for middle in range(8):  # Warshall
        reach |= np.outer(reach[:, middle], reach[middle])
    pairs = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    cycle = find_cycle(pairs)
    assert (cycle is not None) == bool(np.diag(reach).any())
    if cycle is not None:
        assert len(set(cycle)) == len(cycle)
        assert set(zip(cycle, cycle[1:] + cycle[:1], strict=True)) <= edges
