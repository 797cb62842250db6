"""The flow engine against the closed form where nothing contends.

The rings that NCCL lays over nodes of eight GPUs and eight NICs are simulated hop by hop, with
the rates that its library was measured to reach at the ends; the analytic engine prices the same
collective as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.engines.analytic import Algorithm, AnalyticEngine
from netloom.engines.analytic.path import nic_share
from netloom.engines.analytic.profile import profile_of
from netloom.engines.flow import Phase, run_phases, settings_for
from netloom.fabric.build import build
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of
from netloom.study.predict.engines import engine_named
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from netloom.fabric.network import Network

pytestmark = pytest.mark.validation

WITHIN = 0.02
GPUS = 8
CATALOG = load_catalog()


def network(num_nodes: int, technology: str) -> Network:
    return network_of(Cluster(nodes=num_nodes), CATALOG, technology=technology)


def ring_phase(num_nodes: int, size_bytes: float, num_steps: int) -> Phase:
    """Return a step of eight rings, one for each NIC.

    Ring r goes through even nodes from GPU r on and through odd ones the other way round, so that
    it leaves a node on the rail on which it enters the next.
    """
    source, target = [], []
    for ring in range(GPUS):
        ways = [(ring + np.arange(GPUS)) % GPUS, (ring - 1 - np.arange(GPUS)) % GPUS]
        order = np.concatenate([node * GPUS + ways[node % 2] for node in range(num_nodes)])
        source.append(order)
        target.append(np.roll(order, -1))
    flat = np.concatenate(source)
    chunk = round(size_bytes / GPUS / (num_nodes * GPUS))
    return Phase(
        name="rings",
        source=flat,
        target=np.concatenate(target),
        source_port=(0xC000 + np.arange(len(flat)) % 0x4000).astype(np.uint16),
        size_bytes=np.full(len(flat), chunk),
        repeats=num_steps,
    )


def both_s(technology: str, num_nodes: int, kind: CollectiveKind) -> tuple[float, float]:
    """Return what the rings take, simulated and in closed form."""
    built = network(num_nodes, technology)
    ranks, size_bytes = num_nodes * GPUS, 64 * 2.0**30
    group = Group(size=ranks, per_node=GPUS)
    asked = Collective(kind=kind, size_bytes=size_bytes, group=group)
    expected_s = AnalyticEngine(Algorithm.RING).run(asked, built).duration_s
    settings = settings_for(
        built.technology,
        nic_share=float(nic_share(built).value),
        scale_up_share=profile_of(built.gpu.architecture).link_share.value,
    )
    laps = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    phase = ring_phase(num_nodes, size_bytes, laps * (ranks - 1))
    fabric = build(built.design, built.node, built.scale_up)
    return run_phases(fabric, (phase,), settings).duration_s, expected_s


@pytest.mark.parametrize("technology", ["infiniband-hdr", "infiniband-edr"])
@pytest.mark.parametrize("num_nodes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("kind", [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER])
def test_large_rings_take_what_the_closed_form_says(
    technology: str, num_nodes: int, kind: CollectiveKind
) -> None:
    found_s, expected_s = both_s(technology, num_nodes, kind)
    assert found_s == pytest.approx(expected_s, rel=WITHIN)


@pytest.mark.parametrize("technology", ["infiniband-ndr", "spectrum-x-400g"])
def test_the_hop_that_leaves_a_node_does_not_load_its_scale_up_network(technology: str) -> None:
    """Eight NICs of 400 Gb/s carry 384 GB/s, the rings inside a node 370.

    The closed form takes the slower of the two. Hop by hop, one hop in eight leaves the node and
    is not inside it: the NICs decide, and the rings are up to 370 / 384 = 0.964 as long.
    """
    found_s, expected_s = both_s(technology, 4, CollectiveKind.ALL_REDUCE)
    assert 0.96 < found_s / expected_s < 1


@pytest.mark.parametrize("technology", ["infiniband-ndr", "uet-400g", "scheduled-400g"])
@pytest.mark.parametrize("kind", list(CollectiveKind))
def test_both_engines_say_the_same_of_collectives_that_balance_well(
    technology: str, kind: CollectiveKind
) -> None:
    built = network(64, technology)
    group = Group(size=512, per_node=GPUS)
    asked = Collective(kind=kind, size_bytes=2.0**30, group=group)
    expected = AnalyticEngine().run(asked, built)
    found = engine_named("flow").run(asked, built)
    assert found.engine == "flow"
    assert found.algorithm == expected.algorithm
    assert found.duration_s == pytest.approx(expected.duration_s, rel=WITHIN)
