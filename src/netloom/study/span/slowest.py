"""The step of sites whose nodes differ: the slowest kind of node paces all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.study.predict.prediction import predict

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.predict.prediction import Prediction

__all__ = ["slowest_of_sites"]


def slowest_of_sites(scenario: Scenario, catalog: Catalog) -> Prediction:
    """Return the job's prediction as if all nodes were of the site's kind that takes longest.

    All run one software: the scenario's, or the default of the cluster's own node.

    Raises:
        SpecError: a site's nodes have another number of GPUs, or cannot run the job.
        InfeasibleError: the job does not fit into the memory of one kind.
    """
    own = predict(scenario, catalog)
    if all(site.node is None for site in scenario.sites):
        return own
    software = scenario.job.software.model_copy(update={"name": own.step.practice.name})
    job = scenario.job.model_copy(update={"software": software})
    found = {scenario.cluster.node: own}
    for number, site in enumerate(scenario.sites):
        if site.node is None or site.node in found:
            continue
        cluster = scenario.cluster.model_copy(update={"node": site.node})
        other = scenario.model_copy(update={"cluster": cluster, "job": job})
        _check_size(own, catalog, site.node, key=f"sites[{number}].node")
        found[site.node] = predict(other, catalog)
    there = [found[site.node or scenario.cluster.node] for site in scenario.sites]
    return max(there, key=lambda one: float(one.step.duration_s))


def _check_size(own: Prediction, catalog: Catalog, name: str, *, key: str) -> None:
    ours, theirs = own.network.node, catalog.node(name)
    if ours.num_gpus != theirs.num_gpus:
        raise SpecError(
            key=key,
            what=f"{name} has {theirs.num_gpus} GPUs, and the cluster's {ours.name} "
            f"{ours.num_gpus}",
            remedy="use nodes with as many GPUs at every site",
        )
