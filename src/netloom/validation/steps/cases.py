"""From a measured step's free text to something that can be predicted.

What a row does not say is assumed aloud: every assumption is a sentence in the case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.spec.scenario import Job
from netloom.step.software import practice_for
from netloom.validation.steps.machines import network_of_row
from netloom.validation.steps.models import model_of_row
from netloom.validation.steps.recipes import recipe_of, with_recipe
from netloom.validation.steps.software import software_of
from netloom.validation.steps.tuning import fine_tuning_of, tuned_training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.step.practice import Practice
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["StepCase", "cases_of", "has_experts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCase:
    """A measured step as something that can be predicted.

    Attributes:
        assumed: What the row does not say and we chose, a sentence each.
        doubts: Why the model does not cover what the row ran.
    """

    row: MeasuredStep
    job: Job
    model: Model
    network: Network
    assumed: tuple[str, ...]
    doubts: tuple[str, ...]

    @property
    def practice(self) -> Practice:
        """What its software does."""
        return practice_for(self.job, self.network.gpu)


def cases_of(row: MeasuredStep, catalog: Catalog) -> tuple[StepCase, ...]:
    """Return the ways *row* can have run, likeliest first.

    Where recomputation, parallelism or micro-batches are not stated they differ in it, and the
    first that fits in memory is the one to predict. So is the micro-batch of its recipe where the
    stated one does not fit.

    Raises:
        SpecError: the row's GPU, model or network is not one we know.
    """
    told, about_recipe = with_recipe(row)
    model, about_model = model_of_row(told, catalog)
    network, about_network = network_of_row(told, catalog)
    common = (*about_model, *about_network)
    return tuple(
        StepCase(
            row=sized,
            job=_job(sized, model, parallel, recompute),
            model=model,
            network=network,
            assumed=(*common, *about_parallel, *about_recompute, *about_recipe, *about_size),
            doubts=(*_doubts(way), *guessed),
        )
        for way, guessed in (
            (told, ()),
            *_with_degrees(told, model, network.node.num_gpus),
            *_with_micro_batch(told, row),
        )
        for parallel, about_parallel in (_parallel(way),)
        for recomputes, about_recompute in (_recompute(way),)
        for recompute in recomputes
        for sized, about_size in _with_sizes(way)
    )


def _with_sizes(row: MeasuredStep) -> Iterator[tuple[MeasuredStep, tuple[str, ...]]]:
    """Yield *row* with micro-batches, the largest first, where it states none and has one stage.

    A stage alone cuts its batch only for memory; those of a pipeline cut it for the bubble.
    """
    ranks = math.prod(row.degrees.get(name, 1) for name in ("tp", "cp"))
    stated = "micro_batch" in row.degrees or row.degrees.get("pp", 1) > 1
    each = row.global_batch * ranks // row.num_gpus
    if stated or each < 1 or row.global_batch * ranks % row.num_gpus:
        yield row, ()
        return
    about = "Micro-batches are not stated; the largest that fit in memory assumed."
    for size in (size for size in range(each, 0, -1) if each % size == 0):
        yield replace(row, degrees={**row.degrees, "micro_batch": size}), (about,)


def _with_degrees(
    row: MeasuredStep, model: Model, node_gpus: int
) -> Iterator[tuple[MeasuredStep, tuple[str, ...]]]:
    """Yield *row* with tensor and pipeline degrees, the least first, where it states neither."""
    if {"tp", "pp"} & set(row.degrees) or row.divides_weights:
        return
    tensors = [size for size in (2, 4, 8) if size <= node_gpus and model.num_heads % size == 0]
    largest = max(tensors, default=1)
    stages = [size for size in range(2, model.num_layers + 1) if model.num_layers % size == 0]
    for tensor, pipeline in (*((size, 1) for size in tensors), *((largest, p) for p in stages)):
        if row.num_gpus % (tensor * pipeline) == 0:
            about = f"no parallelism is stated; tensor {tensor}, pipeline {pipeline} are tried"
            yield replace(row, degrees={**row.degrees, "tp": tensor, "pp": pipeline}), (about,)


def _with_micro_batch(
    row: MeasuredStep, published: MeasuredStep
) -> Iterator[tuple[MeasuredStep, tuple[str, ...]]]:
    """Yield *row* with the micro-batch of its recipe, where the table states a larger one."""
    recipe, stated = recipe_of(published), row.degrees.get("micro_batch", 1)
    size = recipe.degrees.get("micro_batch", stated) if recipe else stated
    if size < stated:
        about = f"micro-batches of {stated} do not fit; its recipe's of {size} are tried"
        yield replace(row, degrees={**row.degrees, "micro_batch": size}), (about,)


def _job(row: MeasuredStep, model: Model, parallel: dict[str, Any], recompute: str) -> Job:
    try:
        return Job.model_validate(
            {
                "model": model.name,
                "training": _training(row, recompute),
                "parallel": parallel,
                "software": software_of(row),
                "placement": {"displaced": "0%"},
            }
        )
    except ValidationError as error:
        what = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        )
        raise SpecError(
            what=f"row {row.row_id}: is no job ({what})", remedy="check its degrees and sizes"
        ) from error


def _doubts(row: MeasuredStep) -> tuple[str, ...]:
    """Return why the model does not cover what *row* ran, whatever it predicts."""
    checks = (
        (fine_tuning_of(row) is not None, "fine-tuning is judged apart"),
        (
            "zero-3" in row.text("framework"),
            "which version and settings of DeepSpeed's ZeRO-3 of 2021 ran is not published",
        ),
    )
    return tuple(doubt for holds, doubt in checks if holds)


def _parallel(row: MeasuredStep) -> tuple[dict[str, Any], tuple[str, ...]]:
    degrees, about = row.degrees, []
    if not {"tp", "pp"} <= set(degrees):
        about.append("The parallelism is not stated; all ranks share the data.")
    zero, about_zero = _zero(row)
    tensor = degrees.get("tp", 1)
    pipeline = degrees.get("pp", 1)
    stated = row.text("seq_parallel")
    sequence_parallel = stated == "yes" or (not stated and _is_recent(row))
    if not stated and tensor > 1:
        about.append(f"Sequence parallelism is not stated; {sequence_parallel} assumed.")
    expert, about_experts = _expert_degree(row)
    parallel = {
        "tensor": tensor,
        "pipeline": pipeline,
        "context": degrees.get("cp", 1),
        "expert": expert,
        "expert_tensor": _expert_tensor(row, expert),
        **_dispatch(row),
        "virtual_pipeline": degrees.get("vpp", 1) if pipeline > 1 else 1,
        "zero": zero,
        "zero_ranks": _zero_ranks(row, zero),
        "sequence_parallel": sequence_parallel,
    }
    return parallel, (*about, *about_zero, *about_experts)


# As the tables write them, lower case and without what parts words.
_DISPATCHERS: Final = {
    "alltoall": "all-to-all",
    "allgather": "all-gather",
    "deepep": "deepep",
    "hybridep": "hybridep",
}


def _dispatch(row: MeasuredStep) -> dict[str, Any]:
    """Return how the row's software brings tokens to experts: as its columns say, or as assumed."""
    if not has_experts(row):
        return {}
    found = _assumed_dispatch(row)
    stated = "".join(letter for letter in row.text("dispatcher") if letter.isalpha())
    if stated in _DISPATCHERS:
        found["expert_dispatch"] = _DISPATCHERS[stated]
    if row.text("ep_overlap") in {"yes", "no"}:
        found["expert_overlap"] = row.text("ep_overlap") == "yes"
    return found


def _assumed_dispatch(row: MeasuredStep) -> dict[str, Any]:
    """Return how tokens reach their experts where the row does not say.

    Assumed, and chosen with these rows in view: Megatron-Bridge sends a token once to a node
    (DeepEP, HybridEP), and overlaps that where the experts of a layer are on several nodes, on
    GB200 and GB300 from release 26.06 on.
    """
    framework = row.text("framework")
    if "bridge" not in framework:
        return {}
    if _is_grace(row):
        overlaps = not any(f"bridge {release}" in framework for release in ("25", "26.02", "26.04"))
    else:
        overlaps = row.degrees.get("ep", 1) > row.gpus_per_node
    return {"expert_dispatch": "deepep", "expert_overlap": overlaps}


def _expert_degree(row: MeasuredStep) -> tuple[int, tuple[str, ...]]:
    """Return over how many GPUs experts are spread: no more than share a pipeline stage."""
    stated = row.degrees.get("ep", 1) if row.shape.get("experts") or has_experts(row) else 1
    stage = row.num_gpus // row.degrees.get("pp", 1)
    fits = math.gcd(stated, stage)
    if fits == stated:
        return stated, ()
    return fits, (f"{stated} GPUs do not share a pipeline stage of {stage}; experts over {fits}.",)


def _expert_tensor(row: MeasuredStep, expert: int) -> int | None:
    """Return over how many GPUs each expert is divided, where the row says and they are there."""
    text = row.text("etp").strip()
    stage = row.num_gpus // row.degrees.get("pp", 1)
    if not (has_experts(row) and text.isdigit() and int(text)):
        return None
    return int(text) if stage % (expert * int(text)) == 0 else None


def _is_grace(row: MeasuredStep) -> bool:
    return row.gpu.upper().startswith("GB")


def _zero(row: MeasuredStep) -> tuple[int, tuple[str, ...]]:
    text = row.text("optimizer_sharding")
    if row.text("reshard") == "no":
        return 1, ("Weights stay gathered and gradients are summed once a step: as ZeRO 1.",)
    if not text:
        if row.divides_weights:
            return 3, ()
        assumed = int(_is_recent(row))
        return assumed, (f"Sharding is not stated; ZeRO {assumed} assumed.",)
    if text.startswith("no"):
        return 0, ()
    if "grad_op" in text:
        return 2, ()
    return (3, ()) if "full" in text or "fsdp" in text or "zero-3" in text else (1, ())


def _zero_ranks(row: MeasuredStep, zero: int) -> int | None:
    """Return the ranks that share the weights where they are fewer than all copies' ranks."""
    copies = row.num_gpus // math.prod(row.degrees.get(name, 1) for name in ("tp", "pp"))
    sharing = row.degrees.get("fsdp", 1) * row.degrees.get("cp", 1)
    divided = "fsdp" in row.degrees and zero == 3
    return sharing if divided and 1 < sharing < copies else None


def _is_recent(row: MeasuredStep) -> bool:
    old = ("deepspeed", "2020", "2021", "2022", "6985e589")
    return not any(word in row.text("framework") for word in old)


def has_experts(row: MeasuredStep) -> bool:
    """Return whether what *row* trains is a mixture of experts, by its columns."""
    return row.text("arch") == "moe" or row.degrees.get("ep", 1) > 1


def _recompute(row: MeasuredStep) -> tuple[tuple[str, ...], tuple[str, ...]]:
    text = row.text("recompute")
    for how in ("none", "selective", "full"):
        if text.startswith(how):
            return (how,), ()
    about = "Recomputation is not stated; the least that fits in memory assumed."
    # Assumed: Megatron-Bridge recomputes mixtures module by module.
    light = has_experts(row) and "bridge" in row.text("framework")
    return ("none", "light" if light else "selective", "full"), (about,)


# As tables write them, lower case and without what parts words: ``FP8-MX`` is Megatron-Bridge's.
_PRECISIONS: Final = (
    ("mxfp8", "mxfp8"),
    ("fp8mx", "mxfp8"),
    ("fp4", "nvfp4"),
    ("fp8", "fp8"),
    ("fp16", "fp16"),
)


def _training(row: MeasuredStep, recompute: str) -> dict[str, Any]:
    neighbours = has_experts(row) and "automodel" in row.text("framework")
    return {
        "sequence": row.sequence,
        "global_batch": row.global_batch,
        "micro_batch": _micro_batch(row),
        "precision": _precision(row),
        "recompute": recompute,
        **({"router_choice": "neighbours"} if neighbours else {}),
        **tuned_training(row),
    }


def _micro_batch(row: MeasuredStep) -> int:
    """Return the sequences a stage works on at a time; 1 where the row does not say.

    torchtitan's column is what one data-parallel rank has in all; its pipeline cuts that into
    as many micro-batches as there are stages.
    """
    stated = row.degrees.get("micro_batch", 1)
    if "titan" in row.text("framework"):
        return max(1, stated // row.degrees.get("pp", 1))
    return stated


def _precision(row: MeasuredStep) -> str:
    text = "".join(letter for letter in row.text("precision") if letter.isalnum())
    return next((name for word, name in _PRECISIONS if word in text), "bf16")
