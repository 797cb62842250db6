"""Durations of collectives as sizes, links and groups grow: the analytic engine."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.engines.analytic import Algorithm, AnalyticEngine
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from netloom.engines.base import Outcome
    from netloom.fabric.network import Network

MACHINES = (
    ("dgx-a100", "infiniband-hdr"),
    ("dgx-h100", "infiniband-ndr"),
    ("dgx-h100", "rocev2-400g"),
    ("dgx-h100", "tcp-400g"),
    ("dgx-b200", "spectrum-x-400g"),
    ("aws-p4de", "efa-v1"),
    ("aws-p5", "efa-v2"),
    ("gcp-a3-mega", "tcpxo-200g"),
    ("polaris", "slingshot-11"),
    ("mi300x-8", "rocev2-400g"),
)
CATALOG = load_catalog()
machines = st.sampled_from(MACHINES)
kinds = st.sampled_from(list(CollectiveKind))
exponents = st.floats(3, 34)
nodes = st.sampled_from([1, 2, 3, 4, 8, 10, 16, 64])


@cache
def network(machine: tuple[str, str], num_nodes: int) -> Network:
    node, technology = machine
    return network_of(Cluster(nodes=num_nodes, node=node), CATALOG, technology=technology)


def run(where: Network, kind: CollectiveKind, size_bytes: float, num_nodes: int) -> Outcome:
    per_node = where.node.num_gpus
    group = Group(size=num_nodes * per_node, per_node=per_node)
    asked = Collective(kind=kind, size_bytes=size_bytes, group=group)
    return AnalyticEngine().run(asked, where)


@given(machine=machines, kind=kinds, num_nodes=nodes, low=exponents, high=exponents)
def test_more_bytes_never_take_less_time(
    machine: tuple[str, str], kind: CollectiveKind, num_nodes: int, low: float, high: float
) -> None:
    low, high = sorted((low, high))
    where = network(machine, num_nodes)
    less = run(where, kind, 2.0**low, num_nodes).duration_s
    more = run(where, kind, 2.0**high, num_nodes).duration_s
    assert less <= more * (1 + 1e-6)


@given(machine=machines, kind=kinds, num_nodes=nodes, exponent=exponents)
def test_a_grain_more_costs_a_grain_or_the_switch_of_the_library(
    machine: tuple[str, str], kind: CollectiveKind, num_nodes: int, exponent: float
) -> None:
    """NCCL switches where its estimates cross; the times there differ by what these are off.

    Of a broadcast it counts one hop where there are many, hence the factor of four.
    """
    where = network(machine, num_nodes)
    here = run(where, kind, 2.0**exponent, num_nodes)
    there = run(where, kind, 2.0**exponent * 1.001, num_nodes)
    same = (here.algorithm, here.protocol) == (there.algorithm, there.protocol)
    chunked = here.algorithm in {"tree", "nvls-tree"} or there.protocol == "Simple"
    bound = 1.01 if same and not chunked else 4.0
    assert here.duration_s <= there.duration_s * (1 + 1e-6) <= bound * here.duration_s


@given(kind=kinds, num_nodes=nodes, exponent=exponents)
@pytest.mark.parametrize(
    ("slow", "fast"),
    [("infiniband-edr", "infiniband-hdr"), ("infiniband-hdr", "infiniband-ndr")],
)
def test_a_faster_link_never_slows(
    slow: str, fast: str, kind: CollectiveKind, num_nodes: int, exponent: float
) -> None:
    times = [
        run(network(("dgx-h100", name), num_nodes), kind, 2.0**exponent, num_nodes)
        for name in (slow, fast)
    ]
    if times[0].algorithm == times[1].algorithm and times[0].protocol == times[1].protocol:
        # Their switches differ in latency and in ports, and so in the hops of a small message.
        assert times[1].duration_s <= times[0].duration_s * 1.02


@given(machine=machines, exponent=exponents, num_nodes=st.integers(2, 63))
@pytest.mark.parametrize("algorithm", [Algorithm.RING, Algorithm.TREE])
def test_one_more_node_never_speeds_an_all_reduce_up(
    algorithm: Algorithm, machine: tuple[str, str], exponent: float, num_nodes: int
) -> None:
    per_node = network(machine, 64).node.num_gpus
    found = []
    for count in (num_nodes, num_nodes + 1):
        group = Group(size=count * per_node, per_node=per_node)
        asked = Collective(kind=CollectiveKind.ALL_REDUCE, size_bytes=2.0**exponent, group=group)
        found.append(AnalyticEngine(algorithm).run(asked, network(machine, 64)))
    if found[0].protocol == found[1].protocol:
        # Groups that tile a leaf switch send nothing above it: a hop or two less a step. A tree
        # that is one level deeper, from 32 nodes on, has smaller chunks.
        assert found[0].duration_s <= found[1].duration_s * 1.25
