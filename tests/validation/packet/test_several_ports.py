"""Endpoints with several ports: flows, packets and the closed form use all of them alike.

Gaudi 3 has three ports of 200 Gb/s that leave the node, over all of which HCCL stripes a transfer
(recalled); the closed form takes all NICs of a node for its collectives.
"""

from __future__ import annotations

from typing import Final

import pytest

import netloom as nl
from netloom.engines.analytic.engine import AnalyticEngine
from netloom.parts.load import load_catalog
from netloom.study.networks import network_of
from netloom.study.predict.engines import engine_named
from netloom.workload.collective import Collective, CollectiveKind, Group

pytestmark = pytest.mark.validation

WITHIN: Final = 0.02
TECHNOLOGIES: Final = ("rocev2-200g", "infiniband-hdr", "spectrum-x-400g", "uet-400g", "tcp-100g")
SIZES: Final = ("64KB", "1MB", "16MB", "64MB")


def cluster(technology: str) -> dict[str, object]:
    fabric = {"technology": technology, "topology": {"kind": "rail-fat-tree"}}
    return {"gpus": 64, "node": "gaudi3-8", "fabric": fabric}


@pytest.mark.parametrize("technology", TECHNOLOGIES)
@pytest.mark.parametrize("kind", ["one-to-one", "ring"])
def test_packets_use_all_ports_as_flows_do(technology: str, kind: str) -> None:
    for size in SIZES if kind == "one-to-one" else SIZES[:3]:
        asked: dict[str, object] = {"kind": "one-to-one", "source": 0, "target": 8, "size": size}
        if kind == "ring":
            asked = {"kind": "collective", "operation": "all-reduce", "size": size}
            asked |= {"group": 8, "stride": 8}
        scenario = nl.load({"cluster": cluster(technology), "traffic": [asked]})
        packets, flows = (
            nl.simulate(scenario, engine=engine).first.span_s for engine in ("packet", "flow")
        )
        assert packets == pytest.approx(flows, rel=WITHIN), (size, packets, flows)


@pytest.mark.parametrize("technology", TECHNOLOGIES)
def test_rings_over_all_ports_take_what_the_closed_form_says(technology: str) -> None:
    traffic = [{"kind": "permutation", "size": "1MB"}]
    scenario = nl.load({"cluster": cluster(technology), "traffic": traffic})
    network = network_of(scenario.cluster, load_catalog())
    group = Group(size=8, per_node=1, active_per_node=8)
    packets, closed = engine_named("packet"), AnalyticEngine()
    for size_bytes in (2**16, 2**20, 2**26):
        collective = Collective(kind=CollectiveKind.ALL_GATHER, size_bytes=size_bytes, group=group)
        expected = closed.run(collective, network).duration_s
        assert packets.run(collective, network).duration_s == pytest.approx(expected, rel=WITHIN)


@pytest.mark.parametrize("technology", ["spectrum-x-800g", "uet-800g"])
def test_a_flow_fills_all_planes_of_its_nic(technology: str) -> None:
    # 16 MB at 800 Gb/s in four planes of 200 Gb/s: 160 us and the headers' 2 to 3 %.
    topology = {"kind": "multi-plane", "planes": 4}
    node = {"gpus": 64, "node": "dgx-b300"}
    fabric = {"technology": technology, "topology": topology}
    flow = {"kind": "one-to-one", "source": 0, "target": 8, "size": "16MB"}
    scenario = nl.load({"cluster": node | {"fabric": fabric}, "traffic": [flow]})
    packets, flows = (
        nl.simulate(scenario, engine=engine).first.span_s for engine in ("packet", "flow")
    )
    assert packets == pytest.approx(flows, rel=WITHIN)
    assert packets == pytest.approx(160e-6 * 1.02, rel=0.08)
