"""DeepSpeed's configuration (JSON); the model is another file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.formats.training.documents import flat_document, keys_of_json
from netloom.formats.training.recipe import Recipe
from netloom.formats.training.statements import Statements, WithoutEffect, names_of

if TYPE_CHECKING:
    from netloom.formats.training.recipe import RecipeText

__all__ = ["is_deepspeed", "parse_deepspeed"]

KEYS: Final = names_of(
    "train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps "
    "zero_optimization zero_allow_untested_optimizer"
)
AUTO: Final = "auto"  # left to the trainer that reads the file
TRAINING: Final = "job.training"
_WITHOUT_EFFECT: Final = WithoutEffect(
    names=names_of(
        "steps_per_print wall_clock_breakdown gradient_clipping dump_state seed "
        "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer prescale_gradients "
        "gradient_predivide_factor memory_breakdown disable_allgather "
        "optimizer.params.lr optimizer.params.betas optimizer.params.eps "
        "optimizer.params.weight_decay optimizer.params.torch_adam "
        "optimizer.params.adam_w_mode checkpoint train_steps "
        "zero_optimization.stage3_gather_16bit_weights_on_model_save "
        "zero_optimization.stage3_gather_fp16_weights_on_model_save "
        "zero_optimization.load_from_fp32_weights zero_optimization.elastic_checkpoint "
        "zero_optimization.ignore_unused_parameters "
        "zero_optimization.log_trace_cache_warnings"
    ),
    prefixes=(
        "scheduler.",
        "tensorboard.",
        "wandb.",
        "csv_monitor.",
        "comet.",
        "flops_profiler.",
        "comms_logger.",
        "checkpoint.",
        "autotuning.",
        "elasticity.",
        "aio.",
        "fp16.loss_scale",
        "fp16.initial_scale",
        "fp16.hysteresis",
        "fp16.min_loss",
        "fp16.consecutive_",
        "fp16.auto_cast",
        "curriculum_learning.",
    ),
)
_ZERO: Final = "zero_optimization"
_COMPRESSED: Final = {
    "weights": f"{_ZERO}.zero_quantized_weights",
    "gradients": f"{_ZERO}.zero_quantized_gradients",
}
_UNMODELLED: Final = {
    f"{_ZERO}.offload_param.device": "weights on the host are not modelled",
    f"{_ZERO}.contiguous_gradients": "is not modelled",
    f"{_ZERO}.reduce_scatter": "gradients are reduced and scattered in the model",
    f"{_ZERO}.allgather_partitions": "is not modelled",
    f"{_ZERO}.allgather_bucket_size": "weights are gathered a layer at a time in the model",
    f"{_ZERO}.stage3_max_live_parameters": "one layer ahead is gathered in the model",
    f"{_ZERO}.stage3_max_reuse_distance": "one layer ahead is gathered in the model",
    f"{_ZERO}.stage3_prefetch_bucket_size": "one layer ahead is gathered in the model",
    f"{_ZERO}.stage3_param_persistence_threshold": "all weights are shared in the model",
    f"{_ZERO}.sub_group_size": "is not modelled",
    f"{_ZERO}.round_robin_gradients": "is not modelled",
    f"{_ZERO}.mics_hierarchical_params_gather": "a set gathers all at once here",
    f"{_ZERO}.zero_quantized_nontrainable_weights": "is not modelled",
    "optimizer.type": "Adam's state is counted",
    "tensor_parallel.autotp_size": "give job.parallel.tensor in the scenario",
    "sequence_parallel_size": "give job.parallel.context in the scenario",
    "pipeline.stages": "give job.parallel.pipeline in the scenario",
}


def is_deepspeed(head: str) -> bool:
    """Return whether a text begins as DeepSpeed's configuration does."""
    return head.lstrip()[:1] == "{" and bool(keys_of_json(head) & KEYS)


def parse_deepspeed(given: RecipeText) -> Recipe:
    """Return what DeepSpeed's configuration says of a job; it names no model and no sequence.

    Raises:
        SpecError: it is no JSON, or a value is wrong.
    """
    document = flat_document(given)
    found = Statements(document.statements, file=given.name)
    for problem in document.problems:
        found.add_not_taken(problem)
    whole = _count(found, "train_batch_size", f"{TRAINING}.global_batch")
    micro = _count(found, "train_micro_batch_size_per_gpu", f"{TRAINING}.micro_batch")
    accumulated = _count(found, "gradient_accumulation_steps", f"{TRAINING}.global_batch")
    training: dict[str, Any] = {
        "global_batch": whole,
        "micro_batch": micro,
        "precision": _precision(found),
        "recompute": _recompute(found),
    }
    return Recipe(
        gpus=_gpus(found, whole, micro, accumulated),
        training=training,
        parallel={"zero": _stage(found), **_sets(found), "sequence_parallel": False},
        software=_software(found),
        batch_per_replica=micro * (accumulated or 1) if micro else None,
        micro_batches=_accumulated(found, accumulated),
        **found.sorted(
            _WITHOUT_EFFECT, _UNMODELLED, on_by_default=frozenset({f"{_ZERO}.reduce_scatter"})
        ),
    )


def _gpus(
    found: Statements, whole: int | None, micro: int | None, accumulated: int | None
) -> int | None:
    """Return the ranks that the three batch sizes imply; None where one is not stated."""
    if not (whole and micro and accumulated):
        return None
    if whole % (micro * accumulated):
        found.reject(
            "train_batch_size",
            f"is no multiple of {micro} sequences in each of {accumulated} steps",
        )
    return whole // (micro * accumulated)


def _count(found: Statements, name: str, key: str) -> int | None:
    if found.peek(name) == AUTO:
        found.refuse(name, "left to the trainer; give --global-batch, --micro-batch or --gpus")
        return None
    return found.count(name, key)


def _accumulated(found: Statements, stated: int | None) -> int | None:
    """Return the micro-batches of a step: one where nothing says more (runtime/config.py)."""
    names = ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    return None if AUTO in map(found.peek, names) else stated or 1


def _precision(found: Statements) -> str:
    key = f"{TRAINING}.precision"
    for kind, names in (("bf16", ("bf16", "bfloat16")), ("fp16", ("fp16",))):
        for name in names:
            switch = f"{name}.enabled"
            if found.peek(switch) == AUTO:
                found.refuse(switch, "left to the trainer; bf16 stands here")
            elif found.flag(switch, key):
                return kind
    found.assume(key, "bf16", "no 16-bit format is switched on; 32-bit products are not modelled")
    return "bf16"


def _recompute(found: Statements) -> str:
    section = "activation_checkpointing."
    for option in ("partition_activations", "cpu_checkpointing", "number_checkpoints"):
        found.refuse(section + option, "says how, not whether; give --recompute")
    reason = "the trainer decides, not this file; --recompute changes it"
    found.assume(f"{TRAINING}.recompute", "none", reason)
    return "none"


def _stage(found: Statements) -> int:
    key = "job.parallel.zero"
    stage = found.count(f"{_ZERO}.stage", key, least=0)
    stage = found.count(_ZERO, key, least=0) if stage is None else stage
    if stage is not None and stage > 3:
        found.reject(f"{_ZERO}.stage", "is no stage from 0 to 3")
    return stage or 0


def _sets(found: Statements) -> dict[str, Any]:
    """Return over which ranks weights are shared (MiCS, ZeRO++) and what is compressed."""
    key = "job.parallel"
    names = {
        "zero_ranks": f"{_ZERO}.mics_shard_size",
        "zero_backward_ranks": f"{_ZERO}.zero_hpz_partition_size",
    }
    if _stage(found) < 3:
        for name in (*names.values(), *_COMPRESSED.values()):
            found.refuse(name, "has no say below stage 3")
        return {}
    # -1 (MiCS) and 1 (hpZ) switch them off.
    found_sets = {
        to: ranks
        for to, name in names.items()
        if isinstance(ranks := found.plain(name, f"{key}.{to}"), int) and ranks > 1
    }
    sent = [what for what, name in _COMPRESSED.items() if found.flag(name, f"{key}.zero_compress")]
    return found_sets | ({"zero_compress": sent} if sent else {})


def _software(found: Statements) -> dict[str, Any]:
    key = "job.software"
    stage = _stage(found)
    said: dict[str, Any] = {"name": "deepspeed"}
    if found.peek("optimizer.type").lower() in {"adam", "adamw", "cpuadam", "fusedadam"}:
        found.word("optimizer.type", key)
    # zero/config.py: overlap_comm is on when left out with stage 3 alone.
    overlap = f"{_ZERO}.overlap_comm"
    said["data_overlap"] = found.flag(overlap, f"{key}.data_overlap", default=stage == 3)
    gradients = _gradient_type(found)
    if gradients:
        said["gradient_type"] = gradients
    bucket = f"{_ZERO}.reduce_bucket_size"
    if found.peek(bucket) == AUTO:
        found.refuse(bucket, "left to the trainer")
    elif elements := found.count(bucket, f"{key}.bucket_bytes"):
        said["bucket_bytes"] = elements * (4 if gradients == "fp32" else 2)
    return said | _offload(found)


def _gradient_type(found: Statements) -> str:
    """Return what gradients are reduced in: 16 bits as the products, unless it is stated."""
    name = "data_types.grad_accum_dtype"
    kind = found.word("communication_data_type", "job.software.gradient_type").lower()
    kind = kind or found.word(name, "job.software.gradient_type").lower()
    return "fp32" if kind in {"fp32", "float32"} else "bf16"


def _offload(found: Statements) -> dict[str, Any]:
    key = "job.software.optimizer_offload"
    device = found.word(f"{_ZERO}.offload_optimizer.device", key).lower()
    share = found.number(f"{_ZERO}.offload_optimizer.ratio", key)
    older = found.flag(f"{_ZERO}.cpu_offload", key)
    if device == "nvme":
        found.refuse(
            f"{_ZERO}.offload_optimizer.device", "disks are not modelled; the host stands here"
        )
    for name in (
        "pin_memory",
        "buffer_count",
        "fast_init",
        "nvme_path",
        "pipeline_read",
        "pipeline_write",
    ):
        found.refuse(f"{_ZERO}.offload_optimizer.{name}", "is not modelled")
    if device in {"cpu", "nvme"} or older:
        return {"optimizer_offload": 1.0 if share is None else min(share, 1.0)}
    return {}
