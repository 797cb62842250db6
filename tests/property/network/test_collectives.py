"""What holds for the closed forms of collectives, whatever the numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from closed_forms import (
    bruck_all_to_all_s,
    double_tree_all_reduce_s,
    halving_doubling_all_reduce_s,
    hierarchical_all_reduce_s,
    in_network_all_reduce_s,
    pairwise_all_to_all_s,
    ring_all_gather_s,
    ring_all_reduce_s,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.engines.analytic import AnalyticEngine
from netloom.engines.analytic.algorithms import nvls_wire_bytes, tree_network_bytes
from netloom.parts.load import load_catalog
from netloom.study.calibrate.benchmark_network import benchmark_network
from netloom.workload.collective import Collective, CollectiveKind, Group

CATALOG = load_catalog()
ranks = st.integers(2, 4096)
sizes = st.floats(1, 1e12)
alphas = st.floats(0, 1e-3)
rates = st.floats(1e9, 1e13)


@given(ranks, sizes, alphas, rates)
def test_no_all_reduce_without_help_beats_the_bandwidth_bound(
    n: int, size: float, alpha: float, rate: float
) -> None:
    # Every rank must send and receive 2(n-1)/n of the vector: Patarasuk and Yuan (2009).
    bound = 2 * (n - 1) / n * size * 8 / rate
    for form in (ring_all_reduce_s, double_tree_all_reduce_s, halving_doubling_all_reduce_s):
        assert form(n, size, alpha_s=alpha, rate_bps=rate) >= bound * (1 - 1e-12)


@given(ranks, sizes, alphas, rates)
def test_an_all_reduce_by_ring_is_two_all_gathers(
    n: int, size: float, alpha: float, rate: float
) -> None:
    twice = 2 * ring_all_gather_s(n, size, alpha_s=alpha, rate_bps=rate)
    assert ring_all_reduce_s(n, size, alpha_s=alpha, rate_bps=rate) == pytest.approx(twice)


@given(st.integers(1, 12), sizes, rates)
def test_halving_and_doubling_matches_the_ring_but_for_latency_on_powers_of_two(
    power: int, size: float, rate: float
) -> None:
    n = 2**power
    ring = ring_all_reduce_s(n, size, alpha_s=0, rate_bps=rate)
    assert halving_doubling_all_reduce_s(n, size, alpha_s=0, rate_bps=rate) == pytest.approx(ring)
    steps = halving_doubling_all_reduce_s(n, 0, alpha_s=1.0, rate_bps=rate)
    assert steps == 2 * power


@given(ranks, sizes, rates)
def test_reducing_in_the_network_at_most_halves_the_ring(n: int, size: float, rate: float) -> None:
    ring = ring_all_reduce_s(n, size, alpha_s=0, rate_bps=rate)
    inside = in_network_all_reduce_s(size, alpha_s=0, rate_bps=rate)
    assert ring / inside <= 2


@given(ranks, sizes, alphas, rates)
def test_bruck_takes_fewer_steps_and_more_bytes_than_pairwise(
    n: int, size: float, alpha: float, rate: float
) -> None:
    assert bruck_all_to_all_s(n, 0, alpha_s=1, rate_bps=rate) <= n - 1
    bytes_only = {"alpha_s": 0.0, "rate_bps": rate}
    least = pairwise_all_to_all_s(n, size, **bytes_only)
    if n & (n - 1) == 0:
        assert bruck_all_to_all_s(n, size, **bytes_only) >= least * (1 - 1e-12)
    assert pairwise_all_to_all_s(n, size, alpha_s=alpha, rate_bps=rate) >= least


@given(st.integers(1, 64), st.integers(1, 512), sizes, rates)
def test_a_hierarchy_with_one_rate_costs_what_a_flat_ring_costs(
    per_node: int, num_nodes: int, size: float, rate: float
) -> None:
    # 2(g-1)/g S + 2(N-1)/N S/g = 2(gN-1)/(gN) S
    n = per_node * num_nodes
    flat = ring_all_reduce_s(n, size, alpha_s=0, rate_bps=rate)
    layered = hierarchical_all_reduce_s(
        (per_node, num_nodes), size, alpha_s=(0, 0), rate_bps=(rate, rate)
    )
    assert layered == pytest.approx(flat, rel=1e-9, abs=1e-18)


@given(ranks, sizes)
def test_nvls_sends_between_one_and_one_and_a_half_vectors(n: int, size: float) -> None:
    assert size < nvls_wire_bytes(n, size) <= 1.5 * size * (1 + 1e-12)


@given(st.integers(2, 4096), sizes)
def test_a_tree_sends_no_more_than_two_vectors_out_of_a_node(nodes: int, size: float) -> None:
    sent = tree_network_bytes(nodes, size)
    assert size <= sent <= 2 * size
    assert math.isclose(sent, size) == (nodes == 2)


@given(st.integers(2, 4096))
def test_a_tree_sends_half_a_vector_over_each_edge_of_its_busiest_node(nodes: int) -> None:
    # NVIDIA/nccl src/graph/trees.cc: a rank's lowest bit set is its height; the second tree is the
    # first one mirrored (even) or shifted by one (odd).
    def parent(rank: int) -> int:
        bit = rank & -rank
        up = (rank ^ bit) | bit << 1
        return up if up < nodes else rank ^ bit

    edges = [0] * nodes
    for rank in range(1, nodes):
        for end in (rank, parent(rank)):
            edges[end] += 1
            edges[nodes - 1 - end if nodes % 2 == 0 else (end + 1) % nodes] += 1
    assert tree_network_bytes(nodes, 2.0) == max(edges)


@settings(max_examples=150)
@given(
    st.sampled_from(sorted(CATALOG.nodes)),
    st.sampled_from(sorted(CATALOG.technologies)),
    st.sampled_from(list(CollectiveKind)),
    st.integers(1, 64),
    st.floats(0, 1),
    st.floats(1, 2.0**36),
)
def test_any_collective_on_any_catalogue_node_takes_a_time_that_its_links_allow(
    node: str, technology: str, kind: CollectiveKind, nodes: int, fill: float, size: float
) -> None:
    part = CATALOG.nodes[node]
    per_node = max(1, round(fill * part.num_gpus))
    network = benchmark_network(part, CATALOG.technologies[technology], nodes, CATALOG)
    group = Group(size=per_node * nodes, per_node=per_node)
    asked = Collective(kind=kind, size_bytes=size, group=group)
    found = AnalyticEngine().run(asked, network)
    assert math.isfinite(found.duration_s)
    assert (found.duration_s > 0) == (group.size > 1)
    if nodes == 1:
        # NVLink SHARP lets bus bandwidth exceed the wire's rate, but not by half.
        assert found.bus_rate_bps <= 1.5 * network.scale_up.rate_bps
    tripled = AnalyticEngine().run(replace(asked, skew=3.0), network)
    assert tripled.duration_s >= found.duration_s
