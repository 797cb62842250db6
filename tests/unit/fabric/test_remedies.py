"""What a message tells the user to write is something netloom takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from netloom.errors import InfeasibleError
from netloom.fabric.size import design
from netloom.fabric.topologies.dragonfly_plus import DragonflyPlus
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.fabric.topologies.multi_plane import MultiPlane
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.fabric.topologies.three_tier_tree import ThreeTierTree
from netloom.fabric.topologies.torus import Torus
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from netloom.spec.topology import Topology

CATALOG = load_catalog()


def sized(topology: Topology, num_nodes: int) -> int:
    return design(
        topology=topology,
        num_nodes=num_nodes,
        node=CATALOG.node("dgx-h100"),
        switch=CATALOG.switch("QM9700"),
        nic_rate_bps=400e9,
    ).num_switches


def refusal(topology: Topology, num_nodes: int) -> str:
    with pytest.raises(InfeasibleError) as caught:
        sized(topology, num_nodes)
    return str(caught.value)


def with_uplinks(rate: str, **more: object) -> RailFatTree:
    return RailFatTree.model_validate({"uplink_rate": rate, **more})


@pytest.mark.parametrize(
    ("topology", "num_nodes"),
    [
        (DragonflyPlus(groups=3), 7),
        (DragonflyPlus(groups=2), 1000),
        (DragonflyPlus(groups=20_000), 100_000),
        (DragonflyPlus(groups=3), 100_000),
        (with_uplinks("1bps"), 100),
        (with_uplinks("1bps", hosts_per_leaf=8), 100),
        (with_uplinks("2Gbps"), 100),
        (with_uplinks("5Tbps"), 100),
        (with_uplinks("400Gbps", hosts_per_leaf=60), 100),
        (MultiPlane(planes=3), 100),
        (MultiPlane(planes=16), 100),
        (RailOnly(planes=5), 100),
        (FatTree(tiers=1), 100),
        (FatTree(tiers=1, hosts_per_leaf=4), 1),
        (RailFatTree(tiers=2), 2000),
    ],
)
def test_every_value_that_is_proposed_can_be_built(topology: Topology, num_nodes: int) -> None:
    _, _, remedy = refusal(topology, num_nodes).rpartition(": use ")
    proposed = re.findall(r"\b(?!kind)(\w+): (\w+)((?: or \d+)*)", remedy)
    assert proposed, remedy
    for field, first, others in proposed:
        for value in (first, *others.split(" or ")[1:]):
            written = topology.model_dump(by_alias=True, exclude_none=True)
            written.pop("uplink_rate", None)
            rate = getattr(topology, "uplink_rate_bps", None)
            if rate is not None:
                written["uplink_rate"] = f"{rate}bps"
            written[field] = int(value) if value.isdigit() else value
            assert sized(type(topology).model_validate(written), num_nodes) > 0


def test_one_group_is_never_proposed() -> None:
    said = refusal(DragonflyPlus(groups=3), 1)
    assert said.endswith("more than the 1 leaves that the nodes fill: leave groups out")
    assert sized(DragonflyPlus(), 1) > 0


def test_a_dragonfly_too_large_for_any_groups_says_so_whatever_groups_are_asked_for() -> None:
    # 64 ports: 32 x 32 ports a group and 32 x 32 global cables, so 1,025 groups.
    assert "ends at 1,049,600 NIC ports" in refusal(DragonflyPlus(groups=3), 500_000)


def test_uplinks_too_slow_for_a_single_host_are_to_blame_and_not_the_nodes() -> None:
    said = refusal(with_uplinks("1bps"), 100)
    assert said.startswith("topology.uplink_rate: a host port of 400Gbps needs 400,000,000,000")
    assert "nodes" not in said
    # 400 / 2 = 200 uplinks a host port, of which 126 fit: 100 at an oversubscription of 2.
    assert "or oversubscription: 2 or more" in refusal(with_uplinks("2Gbps"), 100)


def test_a_tree_that_no_oversubscription_saves_is_not_told_to_try() -> None:
    assert "oversubscription" not in refusal(ThreeTierTree(), 400_000)
    assert "use a higher oversubscription" in refusal(ThreeTierTree(), 20_000)


def test_more_switches_than_nodes_are_not_proposed_for_a_torus() -> None:
    node = CATALOG.node("dgx-h100").model_copy(update={"num_nics": 64})
    with pytest.raises(InfeasibleError) as caught:
        design(
            topology=Torus(dimensions=(2, 2)),
            num_nodes=4,
            node=node,
            switch=CATALOG.switch("QM9700"),
            nic_rate_bps=400e9,
        )
    assert "more switches" not in str(caught.value)
    assert "a switch with at least 68 ports" in str(caught.value)
