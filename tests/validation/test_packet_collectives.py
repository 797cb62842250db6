"""Collectives that nothing contends with: a step in packets adds nothing to the closed form.

One rail of eight nodes, each GPU a ring or an all-to-all with its like in the other nodes: every
hop crosses one leaf alone, so the network must not slow it (within 2 %).
"""

from __future__ import annotations

import pytest

import netloom as nl
from netloom.catalog.load import load_catalog
from netloom.engines.analytic.engine import AnalyticEngine
from netloom.study.engines import engine_named
from netloom.study.networks import network_of
from netloom.workload.collective import Collective, CollectiveKind, Group

pytestmark = pytest.mark.validation

CATALOG = load_catalog()
KINDS = (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL)


@pytest.mark.parametrize(
    "technology",
    ["infiniband-ndr", "rocev2-400g", "spectrum-x-400g", "uet-400g", "scheduled-400g"],
)
def test_packets_agree_with_the_closed_form_on_one_rail(technology: str) -> None:
    fabric = {"technology": technology, "topology": {"kind": "rail-fat-tree"}}
    flow = {"kind": "permutation", "size": "1MB"}
    asked = {"cluster": {"gpus": 64, "node": "dgx-h100", "fabric": fabric}, "traffic": [flow]}
    network = network_of(nl.load(asked).cluster, CATALOG)
    group = Group(size=8, per_node=1, active_per_node=8)
    packets, closed = engine_named("packet"), AnalyticEngine()
    for kind in KINDS:
        collective = Collective(kind=kind, size_bytes=2**26, group=group)
        by_packets = packets.run(collective, network).duration_s
        assert by_packets == pytest.approx(closed.run(collective, network).duration_s, rel=0.02)
