"""Put one technology through everything a comparison asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import CatalogError
from netloom.fabric.cost.estimate import Estimate, estimate
from netloom.fabric.wire.latency import budget
from netloom.study.compare.candidate import Candidate
from netloom.study.compare.scaled_scenario import weak_scaling
from netloom.study.goodput.model import goodput
from netloom.study.inputs import model_of
from netloom.study.lossless import lossless
from netloom.study.networks import addressing, network_of
from netloom.study.predict.prediction import step_on

if TYPE_CHECKING:
    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.fabric.wire.latency import Component
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["evaluate"]

SMALL_MESSAGE_BYTES: Final = 256


def evaluate(
    scenario: Scenario, catalog: Catalog, *, technology: str, engine: Engine | None = None
) -> Candidate:
    """Return what *technology* does for *scenario*.

    The step is *engine*'s (the closed form without); how it scales is always the closed form's.

    Raises:
        InfeasibleError: the cluster cannot be built with it, or the model does not fit.
    """
    network = network_of(scenario.cluster, catalog, technology=technology)
    if network.node.price_usd is None:
        raise CatalogError(
            what=f"{network.node.name} has no price",
            remedy=(
                f"add one in a catalogue file of your own: [nodes.{network.node.name}] "
                'price = "300000USD"'
            ),
        )
    model = model_of(scenario, catalog)
    step = step_on(network, scenario, model=model, engine=engine or AnalyticEngine())
    costs = estimate(
        network.design,
        node=network.node,
        nic=network.nic,
        floor=scenario.cluster.fabric.floor,
        cables=catalog.cables.values(),
        transceivers=catalog.transceivers.values(),
    )
    reach = lossless(network, longest_m=costs.longest_m)
    kept = goodput(network.design, scenario.job.reliability, num_hosts=network.node.num_hosts)
    return Candidate(
        network=network,
        latency=_farthest(network, costs),
        step=step,
        bill=costs.bill,
        goodput=goodput(network.design, scenario.job.reliability, num_hosts=network.node.num_hosts),
        own_nic=catalog.nic(network.node.nic),
        scaling=weak_scaling(scenario, catalog, technology=technology),
        economics=scenario.economics,
        lossless=reach,
        validity=step.validity & addressing(network) & kept.validity & reach.validity,
    )


def _farthest(network: Network, costs: Estimate) -> tuple[Component, ...]:
    """Return the latency budget between the two nodes that are farthest apart.

    The way goes up and down each stage once; what is left of its hops goes sideways.
    """
    num_hops = network.design.reaches[-1].num_hops
    routes = costs.layout.routes
    upward = [route.mean_m for route in routes if route.stage.lower != route.stage.upper]
    sideways = [route.mean_m for route in routes if route.stage.lower == route.stage.upper]
    num_sideways = num_hops + 1 - 2 * len(upward)
    return budget(
        network.technology,
        num_hops=num_hops,
        cable_m=2 * sum(upward) + num_sideways * sum(sideways),
        message_bytes=SMALL_MESSAGE_BYTES,
        rate_bps=network.design.port_rate_bps,
    )
