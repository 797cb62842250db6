"""A scenario on more and fewer GPUs, each replica keeping its share of the batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError
from netloom.study.networks import network_of, num_nodes_of
from netloom.study.predict import model_of, step_on
from netloom.study.scaling import ScalingCurve, curve

if TYPE_CHECKING:
    from netloom.catalog.load import Catalog
    from netloom.catalog.parts import Model, Node
    from netloom.spec.scenario import Scenario
    from netloom.step.model import Step

__all__ = ["sizes", "weak_scaling"]

LARGEST_GPUS: Final = 1_048_576


def weak_scaling(scenario: Scenario, catalog: Catalog, *, technology: str) -> ScalingCurve:
    """Return the scaling curve of *scenario* on *technology*, from a node to a million GPUs."""
    node = catalog.node(scenario.cluster.node)
    model = model_of(scenario, catalog)

    whole_gpus = num_nodes_of(scenario.cluster, node) * node.num_gpus

    def step_at(num_gpus: int) -> tuple[Step, bool] | None:
        resized, cut = _resized(scenario, model, num_gpus=num_gpus, whole_gpus=whole_gpus)
        try:
            network = network_of(
                resized.cluster,
                catalog,
                technology=technology,
                num_nodes=num_gpus // node.num_gpus,
            )
        except InfeasibleError:
            return None
        step = step_on(network, resized, model=cut, engine=AnalyticEngine())
        return step, cut is model

    return curve(sizes(scenario, node), step_at)


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
    scenario: Scenario, model: Model, *, num_gpus: int, whole_gpus: int
) -> tuple[Scenario, Model]:
    """Return the scenario and the model on *num_gpus*, of which *whole_gpus* ran the original."""
    job = scenario.job
    parallel, training = job.parallel, job.training
    replica = parallel.tensor * parallel.context * parallel.pipeline
    batch = training.global_batch * replica // whole_gpus
    if num_gpus >= replica:
        data, stages, cut = num_gpus // replica, parallel.pipeline, model
    else:
        data, stages = 1, num_gpus * parallel.pipeline // replica
        layers = -(-model.num_layers // parallel.pipeline) * stages
        cut = model.model_copy(update={"num_layers": layers})
    chunks = parallel.virtual_pipeline if stages > 1 else 1
    divided = parallel.model_copy(
        update={"data": data, "pipeline": stages, "virtual_pipeline": chunks}
    )
    fed = training.model_copy(update={"global_batch": batch * data})
    resized = job.model_copy(update={"parallel": divided, "training": fed})
    return scenario.model_copy(update={"job": resized}), cut
