"""A scenario on more and fewer GPUs, each replica keeping its share of the batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError
from netloom.study.compare.scaling import ScalingCurve, ScalingPoint, curve
from netloom.study.inputs import model_of
from netloom.study.networks import is_addressable, network_of, node_of, num_nodes_of
from netloom.study.predict.prediction import step_on

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model, Node
    from netloom.spec.scenario import Scenario

__all__ = ["sizes", "weak_scaling"]

LARGEST_GPUS: Final = 1_048_576


def weak_scaling(scenario: Scenario, catalog: Catalog, *, technology: str) -> ScalingCurve:
    """Return the scaling curve of *scenario* on *technology*, from a node to a million GPUs."""
    node = node_of(scenario.cluster, catalog)
    model = model_of(scenario, catalog)
    whole_gpus = num_nodes_of(scenario.cluster, node) * node.num_gpus
    points: list[ScalingPoint] = []
    for num_gpus in sizes(scenario, node):
        num_nodes = num_gpus // node.num_gpus
        try:
            network = network_of(
                scenario.cluster, catalog, technology=technology, num_nodes=num_nodes
            )
        except InfeasibleError:
            return curve(points, ended_by="network")
        if not is_addressable(network):
            return curve(points, ended_by="addresses")
        points += _point(scenario, model, network, whole_gpus=whole_gpus)
    return curve(points, ended_by="range")


def _point(
    scenario: Scenario, model: Model, network: Network, *, whole_gpus: int
) -> list[ScalingPoint]:
    """Return the point of *network*, the model cut to fewer layers until it fits; or nothing."""
    num_gpus = network.design.num_gpus
    for shrink in (1, 2, 4, 8, 16):
        resized, cut = _resized(
            scenario, model, num_gpus=num_gpus, whole_gpus=whole_gpus, shrink=shrink
        )
        try:
            step = step_on(network, resized, model=cut, engine=AnalyticEngine())
        except InfeasibleError:
            continue
        return [ScalingPoint(num_gpus=num_gpus, mfu=step.mfu, whole=cut is model)]
    return []


def sizes(scenario: Scenario, node: Node) -> list[int]:
    """Return the cluster sizes to draw, ascending.

    One replica of the model takes tensor x pipeline x context GPUs. Upwards the replicas double;
    downwards the pipeline is halved, down to one node. Nodes must be full and experts must find
    their ranks.
    """
    parallel = scenario.job.parallel
    stage = parallel.tensor * parallel.context
    replica = stage * parallel.pipeline
    smallest = math.lcm(replica, node.num_gpus)
    doublings = range((LARGEST_GPUS // smallest).bit_length())
    cut = [(stage * stages, stage) for stages in _halves(parallel.pipeline)]
    whole = [(smallest << k, (smallest << k) // parallel.pipeline) for k in doublings]
    return [
        num_gpus
        for num_gpus, stage_gpus in cut + whole
        if num_gpus % node.num_gpus == 0 and stage_gpus % parallel.expert == 0
    ]


def _halves(stages: int) -> list[int]:
    """Return *stages* halved as often as it goes, itself left out, ascending."""
    found: list[int] = []
    while stages % 2 == 0:
        stages //= 2
        found.append(stages)
    return found[::-1]


def _resized(
    scenario: Scenario, model: Model, *, num_gpus: int, whole_gpus: int, shrink: int
) -> tuple[Scenario, Model]:
    """Return the scenario and the model on *num_gpus*, of which *whole_gpus* ran the original.

    A replica keeps its share of the batch. Below one replica there are fewer pipeline stages; a
    stage holds the layers it held, divided by *shrink*.
    """
    job = scenario.job
    parallel, training = job.parallel, job.trained
    replica = parallel.tensor * parallel.context * parallel.pipeline
    data = max(1, num_gpus // replica)
    stages = min(parallel.pipeline, num_gpus * parallel.pipeline // replica)
    cut = model
    if shrink > 1 or stages < parallel.pipeline:
        layers = max(1, -(-model.num_layers // parallel.pipeline) // shrink)
        cut = model.model_copy(update={"num_layers": layers * stages})
    chunks = max(1, parallel.virtual_pipeline // shrink) if stages > 1 else 1
    divided = parallel.model_copy(
        update={"data": data, "pipeline": stages, "virtual_pipeline": chunks}
    )
    batch = training.global_batch * replica // whole_gpus
    fed = training.model_copy(update={"global_batch": batch * data})
    resized = job.model_copy(update={"parallel": divided, "training": fed})
    return scenario.model_copy(update={"job": resized}), cut
