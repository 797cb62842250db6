"""A scenario from a recipe, what a user supplies, and the catalogue."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.app.convert.supplied import unsaid
from netloom.errors import InfeasibleError, Problem, SpecError, at
from netloom.formats.training.recipe import StatementOutcome, Unstated
from netloom.spec.quantity import write_quantity
from netloom.spec.scenario import Cluster, FabricSpec
from netloom.units import SHARE, SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.app.convert.model import ModelChoice
    from netloom.app.convert.supplied import Supplied
    from netloom.formats.training.recipe import Recipe
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node

__all__ = ["ComposedScenario", "composed"]

_RELEASED: Final = re.compile(r"-20[0-9]{2}$")
ORDER: Final = (
    "sequence",
    "global_batch",
    "micro_batch",
    "precision",
    "recompute",
    "expert_capacity",
    "tuning",
)
NODE: Final = str(Cluster.model_fields["node"].default)
TECHNOLOGY: Final = str(FabricSpec.model_fields["technology"].default)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedScenario:
    """A scenario, as plain values.

    Attributes:
        scenario: With the keys of a scenario's file.
        assumed: What neither the file nor the user states.
        not_taken: What the file states and the cluster cannot be told.
    """

    scenario: dict[str, Any]
    assumed: tuple[Unstated, ...]
    not_taken: tuple[StatementOutcome, ...]


def composed(
    recipe: Recipe,
    supplied: Supplied,
    choice: ModelChoice | Problem,
    catalog: Catalog,
    *,
    title: str,
) -> ComposedScenario:
    """Return the scenario of *recipe*; what *supplied* says wins.

    Raises:
        SpecError: something needed is missing; all of it is named, each with its option.
        CatalogError: no such node or technology.
        InfeasibleError: the GPUs cannot be divided as the file asks.
    """
    with at("--node"):
        node = catalog.node(supplied.node or recipe.node or NODE)
    with at("--technology"):
        technology = catalog.technology(supplied.technology or TECHNOLOGY)
    gpus = _gpus(recipe, supplied, node)
    missing = [
        *_missing(recipe, supplied, gpus),
        *([choice] if isinstance(choice, Problem) else []),
    ]
    if missing or gpus is None:
        raise SpecError.of(*missing)
    assert not isinstance(choice, Problem)
    training, assumed = _training(recipe, supplied, gpus)
    cluster = {"gpus": gpus, "node": node.name} | _part_of_a_node(recipe, node, gpus)
    cluster |= {"fabric": {"technology": technology.name}}
    job: dict[str, Any] = {"model": choice.name, "training": training}
    if recipe.parallel:
        job["parallel"] = _parallel(recipe.parallel)
    software = _software(_switches(recipe, supplied.software))
    if software:
        job["software"] = software
    return ComposedScenario(
        scenario={"name": title, "cluster": cluster, "job": job},
        assumed=(*_assumed(recipe, supplied, node), *assumed, *choice.assumed),
        not_taken=tuple(_unlike(recipe, node)),
    )


def _gpus(recipe: Recipe, supplied: Supplied, node: Node) -> int | None:
    if supplied.gpus is not None:
        return supplied.gpus
    per_node = recipe.gpus_per_node
    if recipe.nodes and per_node:
        return recipe.nodes * per_node
    if recipe.gpus:
        return recipe.gpus
    if recipe.nodes:
        return recipe.nodes * node.num_gpus // node.num_hosts
    return per_node


def _missing(recipe: Recipe, supplied: Supplied, gpus: int | None) -> Iterator[Problem]:
    if gpus is None:
        yield unsaid("--gpus", "how many GPUs there are", "give the number, such as 64")
    if not (supplied.sequence or recipe.training.get("sequence")):
        yield unsaid("--sequence", "how long a sequence is", "give the tokens, such as 8192")
    batch = (
        supplied.global_batch
        or recipe.training.get("global_batch")
        or recipe.batch_per_replica
        or recipe.training.get("micro_batch")
    )
    if not batch:
        yield unsaid("--global-batch", "the global batch", "give the sequences, such as 1024")


def _training(
    recipe: Recipe, supplied: Supplied, gpus: int
) -> tuple[dict[str, Any], tuple[Unstated, ...]]:
    stated = {key: value for key, value in recipe.training.items() if value is not None}
    asked = {
        "sequence": supplied.sequence,
        "global_batch": supplied.global_batch,
        "micro_batch": supplied.micro_batch,
        "recompute": supplied.recompute,
    }
    stated |= {key: value for key, value in asked.items() if value is not None}
    assumed = []
    copies = _copies(recipe, gpus)
    if "micro_batch" not in stated:
        stated["micro_batch"], reason = _micro_batch(recipe, stated["global_batch"], copies)
        assumed.append(_unstated("job.training.micro_batch", stated["micro_batch"], reason))
    if "global_batch" not in stated:
        each = recipe.batch_per_replica or stated["micro_batch"]
        stated["global_batch"] = each * copies
        reason = f"{each} sequences for each of {copies} copies of the model"
        assumed.append(_unstated("job.training.global_batch", stated["global_batch"], reason))
    return {key: stated[key] for key in ORDER if key in stated}, tuple(assumed)


def _micro_batch(recipe: Recipe, global_batch: int, copies: int) -> tuple[int, str]:
    """Return what follows from the batch and how often it is accumulated, else one sequence."""
    times = recipe.micro_batches
    if times and global_batch % (copies * times) == 0:
        said = f"{global_batch} sequences over {copies} copies of the model, {times} times a step"
        return global_batch // (copies * times), said
    # All of a copy's where one sequence does not divide them.
    each = 1 if global_batch % copies == 0 else max(1, global_batch // copies)
    return each, "the file does not say; --micro-batch changes it"


def _copies(recipe: Recipe, gpus: int) -> int:
    ranks = 1
    for key in ("tensor", "pipeline", "context"):
        ranks *= recipe.parallel.get(key, 1)
    if gpus % ranks:
        raise InfeasibleError(
            option="--gpus",
            what=f"{gpus} GPUs are no multiple of tensor x pipeline x context = {ranks}",
            remedy=f"give a multiple of {ranks}",
        )
    return gpus // ranks


def _parallel(parallel: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parallel.items() if value is not None}


def _switches(recipe: Recipe, name: str | None) -> Mapping[str, Any]:
    """Return the software; of another one than the file's, with the switches that are stated."""
    if name is None:
        return recipe.software
    stated = " ".join(one.key for one in recipe.taken)
    kept = {key: value for key, value in recipe.software.items() if f"software.{key}" in stated}
    return {**kept, "name": name}


def _software(software: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``job.software`` as a file writes it: with units."""
    said = {key: value for key, value in software.items() if value is not None}
    if "bucket_bytes" in said:
        said["bucket"] = write_quantity(float(said.pop("bucket_bytes")), SIZE)
    if "optimizer_offload" in said:
        said["optimizer_offload"] = write_quantity(float(said["optimizer_offload"]), SHARE)
    return said


def _assumed(recipe: Recipe, supplied: Supplied, node: Node) -> Iterator[Unstated]:
    changed = {"job.training.recompute"} if supplied.recompute else set()
    yield from (one for one in recipe.assumed if one.key not in changed)
    if not (supplied.node or recipe.node):
        yield _unstated("cluster.node", node.name, "the file does not say; --node changes it")
    if not supplied.technology:
        reason = "the file does not say; --technology changes it"
        yield _unstated("cluster.fabric.technology", TECHNOLOGY, reason)
    if supplied.gpus is None and recipe.gpus_per_node and not (recipe.nodes or recipe.gpus):
        yield _unstated("cluster.gpus", recipe.gpus_per_node, "one node; --gpus changes it")
    stated = {one.key for one in recipe.taken}
    name = str(recipe.software.get("name", ""))
    if _RELEASED.search(name) and not supplied.software and "job.software.name" not in stated:
        reason = "the file does not say which release; --software changes it"
        yield _unstated("job.software.name", name, reason)
    if not recipe.parallel:
        reason = "nothing is divided; 'netloom plan' finds how to"
        yield _unstated("job.parallel", "data alone", reason)


def _unstated(key: str, value: object, reason: str) -> Unstated:
    return Unstated(key=key, value=value, reason=reason)


def _part_of_a_node(recipe: Recipe, node: Node, gpus: int) -> dict[str, Any]:
    """Return how many GPUs of each node are used, where that is not all of them."""
    per_node = recipe.gpus_per_node
    if per_node and node.num_hosts == 1 and per_node < node.num_gpus and gpus % per_node == 0:
        return {"gpus_per_node": per_node}
    return {}


def _unlike(recipe: Recipe, node: Node) -> Iterator[StatementOutcome]:
    """Yield that the job has more processes on a node than the cluster's has GPUs."""
    per_node, has = recipe.gpus_per_node, node.num_gpus // node.num_hosts
    if per_node and per_node not in {has, node.num_gpus} and (per_node > has or node.num_hosts > 1):
        reason = f"a {node.name} has {has}, which are filled in order; give another --node"
        sized = [one for one in recipe.taken if one.key == "cluster.gpus"]
        blank = StatementOutcome(name="GPUs of a node", value=str(per_node), line=0)
        first = next((one for one in sized if one.value == str(per_node)), blank)
        yield replace(first, key="", reason=reason)
