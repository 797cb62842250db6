"""Put one technology through everything a comparison asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import CatalogError
from netloom.fabric.cost.estimate import Estimate, estimate
from netloom.fabric.wire.latency import budget
from netloom.provenance import Validity
from netloom.study.contender import Contender
from netloom.study.goodput import goodput
from netloom.study.networks import network_of
from netloom.study.predict import model_of, step_on
from netloom.study.weak import weak_scaling

if TYPE_CHECKING:
    from netloom.catalog.load import Catalog
    from netloom.fabric.network import Network
    from netloom.fabric.wire.latency import Component
    from netloom.spec.scenario import Scenario

__all__ = ["contend"]

SMALL_MESSAGE_BYTES: Final = 256


def contend(scenario: Scenario, catalog: Catalog, *, technology: str) -> Contender:
    """Return what *technology* does for *scenario*.

    Raises:
        InfeasibleError: the cluster cannot be built with it, or the model does not fit.
    """
    network = network_of(scenario.cluster, catalog, technology=technology)
    if network.node.price_usd is None:
        message = (
            f"{network.node.name} has no price; add one in a catalogue file of your own: "
            f'[nodes.{network.node.name}] price = "300000USD"'
        )
        raise CatalogError(message)
    step = step_on(network, scenario, model=model_of(scenario, catalog), engine=AnalyticEngine())
    costs = estimate(
        network.design,
        node=network.node,
        nic=network.nic,
        floor=scenario.cluster.fabric.floor,
        cables=catalog.cables.values(),
        transceivers=catalog.transceivers.values(),
    )
    return Contender(
        network=network,
        latency=_farthest(network, costs),
        step=step,
        bill=costs.bill,
        goodput=goodput(network.design, scenario.job.reliability),
        scaling=weak_scaling(scenario, catalog, technology=technology),
        economics=scenario.economics,
        validity=step.validity & _addressable(network),
    )


def _farthest(network: Network, costs: Estimate) -> tuple[Component, ...]:
    """Return the latency budget between the two nodes that are farthest apart."""
    mean_m = {route.stage: route.mean_m for route in costs.layout.routes}
    return budget(
        network.technology,
        num_hops=network.design.reaches[-1].num_hops,
        cable_m=2 * sum(mean_m.values()),
        message_bytes=SMALL_MESSAGE_BYTES,
        rate_bps=network.design.port_rate_bps,
    )


def _addressable(network: Network) -> Validity:
    limit = network.technology.max_endpoints
    if not limit or network.design.num_ports <= limit:
        return Validity()
    return Validity(
        (
            (
                f"{network.technology.name} addresses {limit:,} ports in one subnet; this cluster has "
                f"{network.design.num_ports:,} and needs several, with routers or planes between"
            ),
        )
    )
