"""Clusters that use some GPUs of each node."""

from __future__ import annotations

from typing import Any

import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.study.networks import network_of, node_of


def cluster(**keys: Any) -> Any:
    return nl.load({"cluster": keys, "traffic": [{"kind": "permutation", "size": "1MB"}]}).cluster


def test_one_gpu_of_a_node_has_one_of_its_eight_nics() -> None:
    node = node_of(cluster(gpus=1, node="dgx-h200"), load_catalog())
    assert (node.num_gpus, node.num_nics) == (1, 1)


def test_three_gpus_of_a_node_with_four_nics_for_eight_have_two() -> None:
    """4 NICs x 3 / 8 GPUs is 1.5, and a GPU without a NIC of its own still needs one."""
    node = node_of(cluster(gpus=3, node="pcie-h100-8"), load_catalog())
    assert node.num_nics == 2


def test_sixty_four_of_seventy_two_make_1536_racks_of_98304() -> None:
    asked = cluster(gpus=98_304, node="gb200-nvl72", gpus_per_node=64)
    network = network_of(asked, load_catalog())
    assert network.design.num_nodes == 98_304 / 64
    assert network.design.num_gpus == 98_304


def test_price_and_power_are_the_whole_node_s() -> None:
    parts = load_catalog()
    part, whole = node_of(cluster(gpus=1, node="dgx-h200"), parts), parts.node("dgx-h200")
    assert (part.price_usd, part.power_w) == (whole.price_usd, whole.power_w)


def test_size_counts_racks_by_what_is_used_of_each() -> None:
    scenario = nl.load(
        {
            "cluster": {"gpus": 640, "node": "gb200-nvl72", "gpus_per_node": 64},
            "traffic": [{"kind": "permutation", "size": "1MB"}],
        }
    )
    found = nl.size(nl.SizingRequest.of(scenario.cluster))
    assert found.to_json()["nodes"] == 640 / 64


def test_more_than_a_node_has_is_refused() -> None:
    with pytest.raises(SpecError, match="at most 8"):
        node_of(cluster(gpus=16, node="dgx-h200", gpus_per_node=9), load_catalog())


def test_gpus_that_fill_no_nodes_are_refused_with_both_ways_out() -> None:
    with pytest.raises(SpecError, match="98280, or 'gpus_per_node: 64'"):
        network_of(cluster(gpus=98_304, node="gb200-nvl72"), load_catalog())


@pytest.mark.parametrize(("used", "hosts"), [(64, 16), (36, 9), (5, 2), (1, 1)])
def test_of_a_rack_only_the_computers_that_hold_the_gpus_count(used: int, hosts: int) -> None:
    """An NVL72 rack has 18 trays of 4 GPUs and 4 NICs."""
    node = node_of(cluster(gpus=used, node="gb200-nvl72"), load_catalog())
    assert node.num_hosts == hosts


def test_sixty_four_of_seventy_two_are_wired_tray_by_tray() -> None:
    asked = cluster(gpus=1024, node="gb200-nvl72", gpus_per_node=64)
    assert network_of(asked, load_catalog()).design.hosts_per_node == 16


def test_size_cables_the_nics_of_the_gpus_that_are_used() -> None:
    cluster = {"nodes": 64, "node": "dgx-h100", "gpus_per_node": 4}
    found = nl.size(nl.Scenario.model_validate({"cluster": cluster}))
    assert found.design.num_gpus == 256
    assert found.design.num_nodes == 64
    assert found.to_json()["cables_by_stage"]["node-leaf"] == 64 * 4
    assert any("4 of its 8 NICs are cabled" in note for note in found.notes)
