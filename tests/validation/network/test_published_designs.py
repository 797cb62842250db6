"""Component counts of networks that were published, reproduced by the sizing rules.

Sources: NVIDIA RA-11333-001 V11 and the B300 reference architecture (the tables in
tests/data/superpod name theirs); Al-Fares et al. (SIGCOMM 2008) for the k-ary fat tree;
Qian et al., "Alibaba HPN" (SIGCOMM 2024); the MRC design notes (OCP 2026) for eight planes.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from netloom.fabric.size import design
from netloom.fabric.topologies.dragonfly_plus import DragonflyPlus
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.fabric.topologies.multi_plane import MultiPlane
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.parts.parts import Node, Switch

if TYPE_CHECKING:
    from netloom.fabric.design import Design
    from netloom.spec.topology import Topology

pytestmark = pytest.mark.validation

TABLES = Path(__file__).parents[2] / "data" / "superpod"


def rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open() as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def a_switch(*modes: tuple[int, str]) -> Switch:
    return Switch.model_validate(
        {
            "name": "switch",
            "vendor": "any",
            "asic": "any",
            "protocol": "ethernet",
            "modes": tuple({"count": count, "rate": rate} for count, rate in modes),
        }
    )


def a_node(num_nics: int) -> Node:
    return Node.model_validate(
        {
            "name": "node",
            "gpu": "any",
            "num_gpus": num_nics,
            "scale_up": "any",
            "nic": "any",
            "num_nics": num_nics,
            "host_rate": "512Gbps",
            "power": "1kW",
        }
    )


QM9700 = a_switch((64, "400Gbps"), (128, "200Gbps"))
TOMAHAWK_5 = a_switch((64, "800Gbps"), (128, "400Gbps"), (256, "200Gbps"), (512, "100Gbps"))


def sized(
    topology: Topology,
    num_nodes: int,
    *,
    num_nics: int = 8,
    switch: Switch = QM9700,
    nic_rate_bps: float = 400e9,
) -> Design:
    return design(
        topology=topology,
        num_nodes=num_nodes,
        node=a_node(num_nics),
        switch=switch,
        nic_rate_bps=nic_rate_bps,
    )


def switches(plan: Design) -> list[int]:
    return [tier.num_switches for tier in plan.tiers]


def cables(plan: Design) -> list[int]:
    return [stage.num_cables for stage in plan.stages]


@pytest.mark.parametrize("row", rows("h100_table3.csv"), ids=lambda row: f"{row['su']}SU")
def test_larger_superpods_have_the_published_switches_and_cables(row: dict[str, str]) -> None:
    plan = sized(RailFatTree(), int(row["nodes"]))
    assert plan.num_gpus == int(row["gpus"])
    tiers = [int(row[name]) for name in ("leaf", "spine", "core")]
    stages = [int(row[name]) for name in ("node_leaf", "leaf_spine", "spine_core")]
    assert switches(plan) == [count for count in tiers if count]
    assert cables(plan) == [count for count in stages if count]
    assert plan.reaches[-1].taper == 1


@pytest.mark.parametrize("row", rows("h100_table4.csv"), ids=lambda row: f"{row['su']}SU")
def test_superpods_without_one_node_have_the_published_counts(row: dict[str, str]) -> None:
    """The published cables include four to the fabric manager, on the ports the node left."""
    plan = sized(RailFatTree(), int(row["nodes"]))
    assert plan.num_gpus == int(row["gpus"])
    assert switches(plan) == [int(row["leaf"]), int(row["spine"])]
    assert cables(plan)[0] + 4 == int(row["compute_plus_ufm_cables"])
    assert cables(plan)[1] == int(row["spine_leaf_cables"])


def test_the_127_node_superpod_has_the_published_bill_of_materials() -> None:
    bill = {row["item"]: int(row["count"]) for row in rows("h100_bom_127.csv")[:20]}
    compute = [row for row in rows("h100_bom_127.csv") if row["section"] == "compute"]
    plan = sized(RailFatTree(), bill["DGX H100"])
    assert plan.num_switches == bill["Compute QM9700"] == 48
    assert plan.num_cables == int(compute[0]["count"]) == 1016 + 1024


@pytest.mark.parametrize("row", rows("b300_table3.csv"), ids=lambda row: f"{row['su']}SU")
def test_b300_superpods_are_two_planes(row: dict[str, str]) -> None:
    """The table counts a cable for each 800G NIC, where a plane's 400G half is one of ours."""
    plan = sized(MultiPlane(planes=2), int(row["nodes"]), switch=TOMAHAWK_5, nic_rate_bps=800e9)
    assert plan.num_gpus == int(row["gpus"])
    assert switches(plan) == [int(row["leaf"]), int(row["spine"])]
    assert [count // 2 for count in cables(plan)] == [
        int(row["node_leaf"]),
        int(row["leaf_spine"]),
    ]


def test_32768_gpus_take_2560_switches_of_64_ports() -> None:
    plan = sized(RailFatTree(), 4096)
    assert switches(plan) == [1024, 1024, 512]
    assert plan.num_cables == 98_304


@pytest.mark.parametrize(
    ("radix", "num_hosts", "num_switches"),
    # k^2/2 hosts on k leaves and k/2 spines
    [(64, 2_048, 96), (128, 8_192, 192), (512, 131_072, 768)],
)
def test_a_full_two_tier_network_has_half_the_square_of_its_radix(
    radix: int, num_hosts: int, num_switches: int
) -> None:
    switch = a_switch((radix, "100Gbps"))
    plan = sized(FatTree(), num_hosts, num_nics=1, switch=switch, nic_rate_bps=100e9)
    assert len(plan.tiers) == 2
    assert plan.num_switches == num_switches
    more = sized(FatTree(), num_hosts + 1, num_nics=1, switch=switch, nic_rate_bps=100e9)
    assert len(more.tiers) == 3


def test_the_fat_tree_of_64_ports_has_65536_hosts_and_5120_switches() -> None:
    plan = sized(FatTree(), 65_536, num_nics=1)
    assert switches(plan) == [2048, 2048, 1024]  # k^2/2, k^2/2, k^2/4
    assert cables(plan) == [65_536] * 3  # k^3/4 in each stage
    assert len(sized(FatTree(), 65_537, num_nics=1).tiers) == 4
    # A fat tree has (k/2)^2 paths between pods.
    assert plan.reaches[-1].num_paths == 1024


def test_eight_planes_of_512_ports_join_131072_nics_in_two_tiers() -> None:
    plan = sized(MultiPlane(planes=8), 131_072, num_nics=1, switch=TOMAHAWK_5, nic_rate_bps=800e9)
    assert switches(plan) == [8 * 512, 8 * 256]
    assert plan.port_rate_bps == 100e9


HPN = {
    "oversubscription": 16 / 15,  # 128 x 200G down, 60 x 400G up
    "uplink_rate": "400Gbps",
    "hosts_per_leaf": 128,  # eight more are kept for backup
    "planes": 2,  # each NIC has a 200G port to either of two switches
}


def test_alibaba_hpn_has_15_segments_of_1024_gpus_in_a_pod() -> None:
    plan = sized(MultiPlane.model_validate(HPN), 15 * 128, switch=TOMAHAWK_5)
    assert plan.num_gpus == 15_360
    assert switches(plan) == [15 * 16, 2 * 60]
    assert (plan.tiers[0].num_down, plan.tiers[0].num_up) == (128, 60)
    segment, pod = plan.reaches
    assert segment.num_nodes * 8 == 1_024
    assert pod.taper == pytest.approx(1.067, abs=5e-4)
    assert pod.num_paths == 60  # the paper's path search over O(60)


def test_alibaba_hpn_pods_meet_in_a_core_that_is_tapered_15_to_1() -> None:
    topology = MultiPlane.model_validate({**HPN, "tiers": 3, "spine_oversubscription": 15})
    plan = sized(topology, 4 * 15 * 128, switch=TOMAHAWK_5)
    assert plan.reaches[1].num_nodes * 8 == 15_360
    assert (plan.tiers[1].num_down, plan.tiers[1].num_up) == (120, 8)
    # 16/15 at the leaf, 15 at the aggregation switch
    assert plan.reaches[2].taper == pytest.approx(16)


def test_alibaba_hpn_with_rails_apart_joins_122880_gpus_in_two_tiers() -> None:
    """The paper's aggregation switch keeps 8 of its 128 ports for the core: 120 segments."""
    plan = sized(RailOnly.model_validate(HPN), 120 * 128, switch=TOMAHAWK_5)
    assert plan.num_gpus == 122_880
    assert len(plan.tiers) == 2
    assert plan.tiers[1].num_down == 120


def test_a_full_dragonfly_plus_has_a_cable_between_each_pair_of_groups() -> None:
    # Radix 8: 4 x 4 hosts in a group of 4 + 4 switches, 4 x 4 global cables, so 17 groups.
    switch = a_switch((8, "100Gbps"))
    plan = sized(DragonflyPlus(), 16 * 17, num_nics=1, switch=switch, nic_rate_bps=100e9)
    assert switches(plan) == [4 * 17, 4 * 17]
    assert cables(plan) == [272, 272, 17 * 16 // 2]
    assert plan.reaches[-1].taper == 1
