"""Rings whose hops were measured on the cluster itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.engines.analytic.engine import AnalyticEngine, ring_without_hops
from netloom.engines.analytic.measured_rings import num_crossings
from netloom.parts.load import load_catalog
from netloom.parts.parts import HopTime, MeasuredCosts
from netloom.provenance import Source
from netloom.study.calibrate.benchmark_network import benchmark_network
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from netloom.fabric.network import Network

CATALOG = load_catalog()
KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
ENGINE = AnalyticEngine()
OUR_LOG = Source(citation="our log", confidence="measured")


def network(
    *hops: tuple[float, float], num_nodes: int = 8, costs: dict[str, Any] | None = None
) -> Network:
    base = benchmark_network(
        CATALOG.nodes["polaris"], CATALOG.technologies["slingshot-11"], num_nodes, CATALOG
    )
    table = tuple(HopTime.model_construct(size_bytes=size, time_s=time_s) for size, time_s in hops)
    own = MeasuredCosts.model_construct(**{"ring_hops": table, **(costs or {})})
    sources = {**base.technology.sources, "collectives": OUR_LOG}
    technology = base.technology.model_copy(update={"collectives": own, "sources": sources})
    return replace(base, technology=technology)


def gather(size_bytes: float, num_nodes: int = 8, per_node: int = 4) -> Collective:
    group = Group(size=num_nodes * per_node, per_node=per_node)
    return Collective(kind=CollectiveKind.ALL_GATHER, size_bytes=size_bytes, group=group)


@pytest.mark.parametrize(
    ("per_node", "kind", "crossings"),
    [
        (4, CollectiveKind.ALL_GATHER, 8),  # the last part leaves out a hop inside a node
        (1, CollectiveKind.ALL_GATHER, 7),
        (4, CollectiveKind.ALL_REDUCE, 16),
        (1, CollectiveKind.REDUCE_SCATTER, 7),
    ],
)
def test_a_part_crosses_between_all_nodes_or_all_but_one(
    per_node: int, kind: CollectiveKind, crossings: int
) -> None:
    assert num_crossings(replace(gather(MIB, per_node=per_node), kind=kind)) == crossings


def test_a_ring_takes_its_hops_beside_its_start_and_its_bytes() -> None:
    found = network((32 * KIB, 100e-6), (64 * KIB, 300e-6))
    asked = gather(32 * 48 * KIB)  # a rank passes on 48 KiB: half way between the two
    before_s, bytes_s = ring_without_hops(asked, found)
    assert ENGINE.run(asked, found).duration_s == pytest.approx(before_s + bytes_s + 8 * 200e-6)


def test_above_the_largest_that_was_measured_the_hop_or_its_bytes_decide() -> None:
    found = network((32 * KIB, 100e-6), (64 * KIB, 300e-6))
    largest = gather(32 * 64 * KIB)
    _, bytes_s = ring_without_hops(largest, found)
    hop_s = 300e-6 + bytes_s / 8
    for size_bytes in (4 * MIB, 8 * MIB, GIB):
        before_s, bytes_s = ring_without_hops(gather(size_bytes), found)
        took_s = ENGINE.run(gather(size_bytes), found).duration_s
        assert took_s == pytest.approx(before_s + max(8 * hop_s, bytes_s))


def test_below_the_smallest_that_was_measured_nccls_table_holds() -> None:
    shipped = network()
    small = gather(4 * KIB)
    slow, quick = network((32 * KIB, 1.0)), network((32 * KIB, 0.0))
    expected_s = ENGINE.run(small, shipped).duration_s
    assert ENGINE.run(small, slow).duration_s == expected_s
    first_s = ENGINE.run(gather(32 * 32 * KIB), quick).duration_s
    assert ENGINE.run(small, quick).duration_s == min(expected_s, first_s)


@given(
    times_us=st.lists(st.floats(0, 500), min_size=1, max_size=8),
    sizes=st.lists(st.floats(3, 34), min_size=2, max_size=8),
)
def test_more_bytes_never_take_less_where_hops_do_not(
    times_us: list[float], sizes: list[float]
) -> None:
    hops = [(KIB * 4**at, 1e-6 * time_us) for at, time_us in enumerate(sorted(times_us))]
    found = network(*hops)
    times_s = [ENGINE.run(gather(2.0**size), found).duration_s for size in sorted(sizes)]
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(times_s))


def test_trees_carry_what_they_were_measured_to_and_rings_do_not_mind() -> None:
    group = Group(size=1024, per_node=4)
    reduce = Collective(kind=CollectiveKind.ALL_REDUCE, size_bytes=GIB, group=group)
    free, held = network(num_nodes=256), network(num_nodes=256, costs={"tree_rate_bps": 100e9})
    assert ENGINE.run(reduce, free).algorithm == "tree"
    assert ENGINE.run(reduce, held).duration_s >= 2 * GIB * 8 / 100e9
    assert ENGINE.run(reduce, held).duration_s > ENGINE.run(reduce, free).duration_s
    small = gather(GIB, 256)
    assert ENGINE.run(small, held).duration_s == ENGINE.run(small, free).duration_s


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("all_to_all_share", 0.5, CollectiveKind.ALL_TO_ALL),
        ("message_share", 0.5, CollectiveKind.SEND_RECV),
        ("partner_s", 1e-3, CollectiveKind.ALL_TO_ALL),
        ("hop_s", 1e-3, CollectiveKind.ALL_TO_ALL),
    ],
)
def test_each_measured_cost_is_used_and_explained(
    name: str, value: float, kind: CollectiveKind
) -> None:
    asked = replace(gather(GIB), kind=kind)
    plain, own = network(), network(costs={name: value})
    assert ENGINE.run(asked, own).duration_s > ENGINE.run(asked, plain).duration_s
    assert "our log" in repr(ENGINE.run(asked, own).why)
