from __future__ import annotations

import numpy as np
import pytest

from netloom.fabric.build import build
from netloom.fabric.cost.layout import lay_out
from netloom.fabric.cost.places import place
from netloom.fabric.graph import VertexKind
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster, Floor
from netloom.study.networks import network_of

TOPOLOGIES = ("fat-tree", "rail-fat-tree", "rail-only", "multi-plane", "dragonfly-plus", "torus")


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_cables_measured_one_by_one_are_as_long_as_the_layout_says(kind: str) -> None:
    """Stage by stage the mean length agrees with the layout's, which counts cables rack by rack."""
    cluster = Cluster.model_validate({"nodes": 256, "fabric": {"topology": {"kind": kind}}})
    network = network_of(cluster, load_catalog())
    fabric = build(network.design, network.node, network.scale_up)
    placed = place(fabric, Floor(), per_rack=4)
    layout = lay_out(network.design, Floor(), per_rack=4)

    tier = fabric.vertex_tier
    first = layout.routes[0]
    of_hosts = tier[fabric.link_source[::2]] == 0
    of_hosts &= tier[fabric.link_target[::2]] == 1
    assert of_hosts.sum() == first.stage.num_cables
    assert placed.cable_m[of_hosts].mean() == pytest.approx(first.mean_m, rel=0.1)
    assert placed.cable_m.max() <= max(route.longest_m for route in layout.routes)


def test_everything_stands_in_a_rack_of_the_hall_and_nodes_four_to_a_rack() -> None:
    cluster = Cluster.model_validate({"nodes": 128})
    network = network_of(cluster, load_catalog())
    fabric = build(network.design, network.node, network.scale_up)
    placed = place(fabric, Floor(), per_rack=4)
    assert placed.rack.min() >= 0
    assert placed.rack.max() < placed.hall.num_racks
    gpus = fabric.vertex_kind == VertexKind.GPU
    assert set(np.bincount(placed.rack[gpus]).tolist()) <= {0, 32}  # 4 nodes of 8 GPUs
