"""torchtitan's job configuration (TOML)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

from netloom.formats.training.documents import flat_toml
from netloom.formats.training.recipe import Recipe
from netloom.formats.training.statements import Statements, WithoutEffect, names_of
from netloom.spec.scenario import Precision

if TYPE_CHECKING:
    from netloom.formats.training.recipe import RecipeText

__all__ = ["is_torchtitan", "parse_torchtitan"]

TRAINING: Final = "job.training"
PARALLEL: Final = "job.parallel"
# Model and flavour of torchtitan (torchtitan/models/*/__init__.py) by the catalogue's name.
_FLAVORS: Final = {
    ("llama3", "8b"): "llama-3-8b",
    ("llama3", "70b"): "llama-3-70b",
    ("llama3", "405b"): "llama-3.1-405b",
    ("deepseek_v3", "671b"): "deepseek-v3",
    ("qwen3", "30b-a3b"): "qwen3-30b-a3b",
    ("qwen3", "235b-a22b"): "qwen3-235b-a22b",
    ("gpt_oss", "20b"): "gpt-oss-20b",
    ("gpt_oss", "120b"): "gpt-oss-120b",
}
_SCHEDULES: Final = {
    "1f1b": ("1f1b", 1),
    "gpipe": ("gpipe", 1),
    "interleaved1f1b": ("1f1b", 2),
    "interleavedzerobubble": ("zero-bubble", 2),
}
_WITHOUT_EFFECT: Final = WithoutEffect(
    names=names_of(
        "model.tokenizer_path model.hf_assets_path model.print_after_conversion "
        "model.tokenizer training.dataset training.dataset_path training.steps "
        "training.max_norm training.seed training.gc_debug training.data_parallel_type "
        "optimizer.name optimizer.lr optimizer.beta1 optimizer.beta2 optimizer.eps "
        "optimizer.weight_decay optimizer.implementation optimizer.fused "
        "debug.seed debug.print_config"
    ),
    prefixes=(
        "job.",
        "profiling.",
        "metrics.",
        "lr_scheduler.",
        "checkpoint.",
        "comm.",
        "validation.",
        "memory_estimation.",
        "experimental.",
    ),
)
# Sections of converters, as torchtitan has had them.
_CONVERTERS: Final = ("", "quantize.linear.")
_FLOAT8: Final = {
    "filter_fqns": "all products of layers have 8 bits in the model",
    "force_recompute_fp8_weight_in_bwd": "is not modelled",
    "precompute_float8_dynamic_scale_for_fsdp": "is not modelled",
    "emulate": "is not modelled",
}
_UNMODELLED: Final = {
    **{f"{at}float8.{name}": why for at in _CONVERTERS for name, why in _FLOAT8.items()},
    "training.enable_cpu_offload": "weights and gradients on the host are not modelled",
    "training.deterministic": "slower kernels than the model's",
    "training.mixed_precision_param": "is bf16 in the model",
    "optimizer.early_step_in_backward": "is not modelled",
    "parallelism.enable_compiled_autograd": "is not modelled",
    "parallelism.disable_loss_parallel": "is not modelled",
    "parallelism.pipeline_parallel_split_points": "stages of equal layers are modelled",
    "parallelism.module_fqns_per_model_part": "stages of equal layers are modelled",
    "parallelism.pipeline_parallel_schedule_csv": "is not modelled",
    "parallelism.expert_parallel_comm_backend": "is not modelled",
    "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns": "is not modelled",
    "activation_checkpoint.early_stop": "is not modelled",
    "fault_tolerance.enable": "is not modelled",
}


def is_torchtitan(head: str) -> bool:
    """Return whether a text begins as torchtitan's configuration does."""
    tables = set(re.findall(r"^\s*\[(\w+)\]", head, re.MULTILINE))
    return "training" in tables and bool(tables & {"parallelism", "model", "job", "metrics"})


def parse_torchtitan(given: RecipeText) -> Recipe:
    """Return the job that torchtitan's configuration describes; defaults are torchtitan's.

    Raises:
        SpecError: it is no TOML, or a value is wrong.
    """
    found = Statements(flat_toml(given).statements, file=given.name)
    parallel, replicas = _parallel(found)
    training, batch = _training(found, parallel)
    return Recipe(
        gpus=_gpus(parallel, replicas),
        model=_model(found),
        training=training,
        parallel=parallel,
        software=_software(found, training["precision"]),
        batch_per_replica=batch,
        **found.sorted(_without_effect(found), _UNMODELLED),
    )


def _without_effect(found: Statements) -> WithoutEffect:
    """Return what does not matter; without a converter, how it would convert."""
    if found.peek("model.converters") or found.peek("float8.enable_float8_linear") == "true":
        return _WITHOUT_EFFECT
    return replace(
        _WITHOUT_EFFECT, prefixes=(*_WITHOUT_EFFECT.prefixes, "float8.", "mx.", "quantize.")
    )


def _model(found: Statements) -> str:
    name = found.word("model.name", "job.model", "llama3").lower()
    flavor = found.word("model.flavor", "job.model", "debugmodel").lower()
    known = _FLAVORS.get((name, flavor), "")
    if not known:
        for key in ("model.name", "model.flavor"):
            found.refuse(key, f"{name} {flavor} is no model of the catalogue; give --model")
    return known


def _training(found: Statements, parallel: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return ``job.training``, and the sequences of one copy of the model in a step."""
    local = found.count("training.local_batch_size", f"{TRAINING}.micro_batch")
    local = local or found.count("training.batch_size", f"{TRAINING}.micro_batch") or 8
    whole = found.plain("training.global_batch_size", f"{TRAINING}.global_batch")
    micro = local
    each = found.count("parallelism.pipeline_parallel_microbatch_size", f"{TRAINING}.micro_batch")
    if parallel["pipeline"] > 1:
        micro = each or 1
    training: dict[str, Any] = {
        "sequence": found.count("training.seq_len", f"{TRAINING}.sequence") or 2048,
        "global_batch": whole if isinstance(whole, int) and whole > 0 else None,
        "micro_batch": micro,
        "precision": _precision(found),
        "recompute": _recompute(found),
    }
    return training, local


def _precision(found: Statements) -> str:
    key = f"{TRAINING}.precision"
    converters = found.words("model.converters", key)
    older = found.flag("float8.enable_float8_linear", key)
    if any(one.rsplit(".", 1)[-1] == "mx" for one in converters):
        return _blocks(found, key)
    if older or any("float8" in one for one in converters):
        for at in _CONVERTERS:
            found.word(f"{at}float8.recipe_name", key)
        return "fp8"
    return "bf16"


def _blocks(found: Statements, key: str) -> str:
    """Return the format of a converter to blocks: ``mxfp8_cublas`` is mxfp8 by one library."""
    for name in (f"{at}mx.recipe_name" for at in _CONVERTERS):
        kind = found.word(name, key).split("_")[0]
        if kind and kind not in get_args(Precision):
            found.refuse(name, "is not modelled; mxfp8 stands here")
        elif kind:
            return kind
    return "mxfp8"


def _recompute(found: Statements) -> str:
    key = f"{TRAINING}.recompute"
    mode = found.word("activation_checkpoint.mode", key, "selective")
    option = found.word("activation_checkpoint.selective_ac_option", key)
    if mode not in {"none", "selective", "full"}:
        found.refuse("activation_checkpoint.mode", "is not known; selective stands here")
        return "selective"
    if mode == "selective" and option and option != "op":
        reason = f"whole layers, one in {option}, are computed again; attention is in the model"
        found.refuse("activation_checkpoint.selective_ac_option", reason)
    return mode


def _parallel(found: Statements) -> tuple[dict[str, Any], int | None]:
    """Return ``job.parallel``, and the copies of the model where they are stated."""
    pipeline = found.count("parallelism.pipeline_parallel_degree", f"{PARALLEL}.pipeline") or 1
    pipeline = (
        found.count("experimental.pipeline_parallel_degree", f"{PARALLEL}.pipeline") or pipeline
    )
    tensor = found.count("parallelism.tensor_parallel_degree", f"{PARALLEL}.tensor")
    tensor = tensor or found.count("training.tensor_parallel_degree", f"{PARALLEL}.tensor") or 1
    parallel: dict[str, Any] = {
        "tensor": tensor,
        "pipeline": pipeline,
        "context": found.count("parallelism.context_parallel_degree", f"{PARALLEL}.context") or 1,
        "expert": found.count("parallelism.expert_parallel_degree", f"{PARALLEL}.expert") or 1,
        "sequence_parallel": tensor > 1,
    }
    name = "parallelism.expert_tensor_parallel_degree"
    each = found.count(name, f"{PARALLEL}.expert_tensor")
    if each is not None:
        parallel["expert_tensor"] = each
    if parallel["context"] > 1:
        parallel["context_exchange"] = _exchange(found)
    shared, replicas = _sharding(found, pipeline)
    return parallel | _schedule(found, pipeline) | shared, replicas


def _exchange(found: Statements) -> str:
    name = "parallelism.context_parallel_rotate_method"
    kind = found.word(name, f"{PARALLEL}.context_exchange", "allgather")
    return "ring" if kind == "alltoall" else "all-gather"


def _schedule(found: Statements, pipeline: int) -> dict[str, Any]:
    name = "parallelism.pipeline_parallel_schedule"
    kind = found.word(name, f"{PARALLEL}.schedule", "1F1B").lower()
    if pipeline == 1:
        return {}
    if kind not in _SCHEDULES:
        found.refuse(name, "is not modelled; 1F1B stands here")
        return {}
    order, chunks = _SCHEDULES[kind]
    stages = found.count("parallelism.pipeline_parallel_layers_per_stage", f"{PARALLEL}.pipeline")
    if stages:
        reason = f"stages are cut evenly, with {chunks} chunks each"
        found.refuse("parallelism.pipeline_parallel_layers_per_stage", reason)
    return {"schedule": order, "virtual_pipeline": chunks}


def _sharding(found: Statements, pipeline: int) -> tuple[dict[str, Any], int | None]:
    """Return what ZeRO divides and over which ranks, and the copies of the model where stated."""
    key = f"{PARALLEL}.zero"
    shard = found.plain("parallelism.data_parallel_shard_degree", key)
    shard = found.plain("training.data_parallel_shard_degree", key) if shard is None else shard
    copies = found.count("parallelism.data_parallel_replicate_degree", key) or 1
    reshard = found.word("parallelism.fsdp_reshard_after_forward", key, "default")
    shard = shard if isinstance(shard, int) and shard > 0 else -1
    if shard == 1:
        return {"zero": 0}, copies
    # With a pipeline weights stay whole between passes unless that is asked for.
    kept = reshard == "never" or (reshard == "default" and pipeline > 1)
    divided = {"zero": 2 if kept else 3}
    if copies == 1:
        return divided, (shard if shard > 0 else None)
    if shard < 0:
        reason = "how many ranks share weights (HSDP) follows from it; give the shard degree too"
        found.refuse("parallelism.data_parallel_replicate_degree", reason)
        return divided, None
    found.plain("parallelism.data_parallel_shard_degree", f"{PARALLEL}.zero_ranks")
    return divided | {"zero_ranks": shard}, copies * shard


def _gpus(parallel: dict[str, Any], replicas: int | None) -> int | None:
    if replicas is None:
        return None
    return int(parallel["tensor"] * parallel["pipeline"] * parallel["context"] * replicas)


def _software(found: Statements, precision: str) -> dict[str, Any]:
    key = "job.software"
    compiled = found.flag("training.compile", key) or found.flag("compile.enable", key)
    parts = found.words("compile.components", key)
    compiled = compiled and (not parts or "model" in parts)
    wanted = found.flag("parallelism.enable_async_tensor_parallel", f"{key}.tensor_overlap")
    if not compiled:
        found.refuse("parallelism.enable_async_tensor_parallel", "has no say without compile")
    reduced = found.word("training.mixed_precision_reduce", f"{key}.gradient_type")
    interval = found.count("training.gc_freq", f"{key}.manual_gc", least=0)
    more = {"gradient_type": "bf16"} if reduced == "bfloat16" else {}
    names = [f"{at}float8.enable_fsdp_float8_all_gather" for at in _CONVERTERS]
    if precision == "fp8" and any(found.flag(name, f"{key}.parameter_type") for name in names):
        more["parameter_type"] = "fp8"
    return {
        "name": "torchtitan",
        "tensor_overlap": wanted and compiled,
        "manual_gc": interval != 0,
        **more,
    }
