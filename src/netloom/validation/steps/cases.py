"""From a measured step's free text to something that can be predicted.

What a row does not say is assumed aloud: every assumption is a sentence in the case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.spec.scenario import Job
from netloom.step.software import practice_for
from netloom.validation.steps.machines import network_of_row
from netloom.validation.steps.software import software_of
from netloom.validation.steps.tuning import fine_tuning_of, tuned_training

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.step.practice import Practice
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["StepCase", "cases_of"]

# A model family's habits that the table has no columns for: gated blocks and rotary positions,
# or biases, learned positions and one matrix for embedding and logits.
_FAMILIES: Final = (
    ("gpt oss", "gpt-oss-120b"),
    ("gpt", "megatron-22b"),
    ("mpt", "mpt-7b"),
    ("deepseek-v2", "deepseek-v2"),
    ("deepseekv2", "deepseek-v2"),
    ("deepseek", "deepseek-v3"),
    ("kimi", "kimi-k2"),
    ("qwen3_30b", "qwen3-30b-a3b"),
    ("qwen3_235b", "qwen3-235b-a22b"),
    ("nemotron", "nemotron-4-340b"),
    ("mixtral", "mixtral-8x7b"),
    ("llama", "llama-3.1-8b"),
)
# Names that hold a family's word and are another model.
_OTHERS: Final = ("deepseekv4",)
_SHAPE: Final = {
    "layers": "num_layers",
    "hidden": "hidden",
    "heads": "num_heads",
    "kv_heads": "num_kv_heads",
    "vocab": "vocabulary",
    "experts": "num_experts",
    "topk": "experts_per_token",
}


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

    Where recomputation is not stated they differ in it, and the first that fits in memory is
    the one to predict.

    Raises:
        SpecError: the row's GPU, model or network is not one we know.
    """
    model, about_model = _model(row, catalog)
    network, about_network = network_of_row(row, catalog)
    parallel, about_parallel = _parallel(row)
    choices, about_recompute = _recompute(row)
    assumed = (*about_model, *about_network, *about_parallel, *about_recompute)
    return tuple(
        StepCase(
            row=row,
            job=_job(row, model, parallel, recompute),
            model=model,
            network=network,
            assumed=assumed,
            doubts=_doubts(row),
        )
        for recompute in choices
    )


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
    framework = row.text("framework")
    checks = (
        (fine_tuning_of(row) is not None, "fine-tuning is judged apart"),
        ("maverick" in row.model.lower(), "layers with and without experts in turn"),
        (
            "zero-3" in framework,
            "DeepSpeed's ZeRO-3 of 2021 gathered weights tensor by tensor, which is not modelled",
        ),
    )
    return tuple(doubt for holds, doubt in checks if holds)


def _model(row: MeasuredStep, catalog: Catalog) -> tuple[Model, tuple[str, ...]]:
    text = row.model.lower()
    name = next((found for key, found in _FAMILIES if key in text), None)
    if name is None or any(other in text for other in _OTHERS):
        raise SpecError(
            what=f"row {row.row_id}: model {row.model!r} is of no family we know",
            remedy="see _FAMILIES",
        )
    base = catalog.model(name)
    if not {"layers", "hidden", "heads"} <= set(row.shape):
        return _of_size(base, row, catalog)
    update: dict[str, Any] = {
        ours: row.shape[theirs] for theirs, ours in _SHAPE.items() if theirs in row.shape
    }
    ffn = row.shape.get("ffn_hidden", 4 * row.shape["hidden"])
    if base.num_experts:
        # In the rows of mixtures the column is an expert's width.
        update["expert_hidden"] = ffn
        if row.shape["layers"] < base.num_layers:
            # Models cut down for a benchmark: the memory that SimuMax measured fits one.
            update["first_dense_layers"] = min(base.first_dense_layers, 1)
    else:
        update["ffn_hidden"] = ffn
        update["head_dim"] = row.shape["hidden"] // row.shape["heads"]
        update["learned_positions"] = row.sequence if base.learned_positions else 0
    update["name"] = row.model
    return base.model_copy(update=update), ()


def _of_size(base: Model, row: MeasuredStep, catalog: Catalog) -> tuple[Model, tuple[str, ...]]:
    """Return the shape of *base*, or for dense models that of the nearest of its habits in size.

    Its layers are then as many as the row's parameters need.
    """
    if base.num_experts or row.params_b is None:
        return base, (f"The shape is not stated; that of {base.name} assumed.",)
    wanted = 1e9 * row.params_b
    alike = [
        model
        for model in catalog.models.values()
        if not model.num_experts and (model.gated, model.biases) == (base.gated, base.biases)
    ]
    near = min(alike, key=lambda model: abs(math.log(model.parameters / wanted)))
    num_layers = max(1, round(near.num_layers * wanted / near.parameters))
    update = {"num_layers": num_layers, "name": row.model}
    about = f"The shape is not stated; that of {near.name} with {num_layers} layers assumed."
    return near.model_copy(update=update), (about,)


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
    parallel = {
        "tensor": tensor,
        "pipeline": pipeline,
        "context": degrees.get("cp", 1),
        "expert": degrees.get("ep", 1) if row.shape.get("experts") or _has_experts(row) else 1,
        **_dispatch(row),
        "virtual_pipeline": degrees.get("vpp", 1) if pipeline > 1 else 1,
        "zero": zero,
        "sequence_parallel": sequence_parallel,
    }
    return parallel, (*about, *about_zero)


def _dispatch(row: MeasuredStep) -> dict[str, Any]:
    """Return how the row's software brings tokens to experts.

    Assumed, and chosen with these rows in view: Megatron-Bridge sends a token once to a node
    (DeepEP, HybridEP), and overlaps that where the experts of a layer are on several nodes, on
    GB200 and GB300 from release 26.06 on.
    """
    framework = row.text("framework")
    if not (_has_experts(row) and "bridge" in framework):
        return {}
    if _is_grace(row):
        overlaps = not any(f"bridge {release}" in framework for release in ("25", "26.02", "26.04"))
    else:
        overlaps = row.degrees.get("ep", 1) > row.gpus_per_node
    return {"expert_dispatch": "deepep", "expert_overlap": overlaps}


def _is_grace(row: MeasuredStep) -> bool:
    return row.gpu.upper().startswith("GB")


def _zero(row: MeasuredStep) -> tuple[int, tuple[str, ...]]:
    text = row.text("optimizer_sharding")
    if not text:
        if row.degrees.get("fsdp", 0) > 1 or row.text("fsdp") == "yes":
            return 3, ()
        assumed = int(_is_recent(row))
        return assumed, (f"Sharding is not stated; ZeRO {assumed} assumed.",)
    if text.startswith("no"):
        return 0, ()
    if "grad_op" in text:
        return 2, ()
    return (3, ()) if "full" in text or "fsdp" in text or "zero-3" in text else (1, ())


def _is_recent(row: MeasuredStep) -> bool:
    old = ("deepspeed", "2020", "2021", "2022", "6985e589")
    return not any(word in row.text("framework") for word in old)


def _has_experts(row: MeasuredStep) -> bool:
    return row.text("arch") == "moe" or row.degrees.get("ep", 1) > 1


def _recompute(row: MeasuredStep) -> tuple[tuple[str, ...], tuple[str, ...]]:
    text = row.text("recompute")
    for how in ("none", "selective", "full"):
        if text.startswith(how):
            return (how,), ()
    about = "Recomputation is not stated; the least that fits in memory assumed."
    # Assumed: Megatron-Bridge recomputes mixtures module by module.
    light = _has_experts(row) and "bridge" in row.text("framework")
    return ("none", "light" if light else "selective", "full"), (about,)


def _training(row: MeasuredStep, recompute: str) -> dict[str, Any]:
    return {
        "sequence": row.sequence,
        "global_batch": row.global_batch,
        "micro_batch": _micro_batch(row),
        "precision": _precision(row),
        "recompute": recompute,
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
    text = row.text("precision")
    for name in ("mxfp8", "nvfp4", "fp8", "fp16", "bf16"):
        if name in text:
            return name
    return "bf16"
