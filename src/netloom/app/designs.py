"""The network that a scenario asks for, as designed: what every look at a real one is held to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.observe.designed import Designed, designed_of
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["design_of"]


def design_of(scenario: Scenario | Designed, catalog: Catalog | None = None) -> Designed:
    """Return the network of a scenario as designed; one that is designed already as it is.

    Args:
        scenario: Only its cluster matters.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        NetloomError: a part is unknown, or the network cannot be built.
    """
    if isinstance(scenario, Designed):
        return scenario
    network = network_of(scenario.cluster, catalog or catalog_of(scenario))
    return designed_of(network, scenario.cluster.fabric.floor)
