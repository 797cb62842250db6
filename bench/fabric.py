"""Building a fabric as arrays beside building the same graph link by link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.peers import median_s, print_ratio
from netloom.fabric.build import build
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.fabric.network import Network


def link_by_link(network: Network) -> dict[int, list[int]]:
    """Return the scale-out part of a non-blocking three-tier fat tree, as dicts of lists."""
    design = network.design
    leaf, spine, core = (tier.num_switches for tier in design.tiers)
    down = design.tiers[0].num_down
    first_leaf = design.num_ports
    neighbours: dict[int, list[int]] = {}

    def join(one: int, other: int) -> None:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)

    for nic in range(design.num_ports):
        join(nic, first_leaf + nic // down)
    for switch in range(leaf):
        for port in range(down):
            join(first_leaf + switch, first_leaf + leaf + (switch // down * down + port) % spine)
    for switch in range(spine):
        for port in range(down):
            join(first_leaf + leaf + switch, first_leaf + leaf + spine + (switch + port) % core)
    return neighbours


def sixteen_thousand_gpus() -> None:
    """16,384 GPUs on three tiers, scale-up network included in ours."""
    network = network_of(Cluster(nodes=2048), load_catalog())
    fabric = build(network.design, network.node, network.scale_up)
    peer = link_by_link(network)
    assert sum(map(len, peer.values())) == 2 * network.design.num_cables <= fabric.num_links
    print_ratio(
        "building 16,384 GPUs on three tiers",
        ours_s=median_s(lambda: build(network.design, network.node, network.scale_up)),
        peer="link by link",
        peer_s=median_s(lambda: link_by_link(network)),
    )
