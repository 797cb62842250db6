"""The fabric of a scenario, built; what edit and routing work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.fabric import build as builder
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["build"]


def build(scenario: Scenario, catalog: Catalog | None = None) -> Fabric:
    """Return the scenario's network as arrays: every GPU, NIC, switch and link.

    Args:
        scenario: What was asked for.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        NetloomError: a part is unknown, or the network cannot be built.
    """
    network = network_of(scenario.cluster, catalog or catalog_of(scenario))
    return builder.build(network.design, network.node, network.scale_up)
