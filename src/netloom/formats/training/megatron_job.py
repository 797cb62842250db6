"""A job as Megatron-LM, NeMo and Megatron-Bridge describe it: one set of settings, three files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from netloom.formats.training.launch import launch_size
from netloom.formats.training.megatron_arguments import NEGATED, UNMODELLED, WITHOUT_EFFECT
from netloom.formats.training.megatron_model import megatron_shape, vocabulary_padding
from netloom.formats.training.megatron_software import megatron_software
from netloom.formats.training.peft import tuning_of
from netloom.formats.training.recipe import Recipe, StatementOutcome
from netloom.spec.scenario import ExpertDispatch, Precision

if TYPE_CHECKING:
    from netloom.formats.training.statements import Statements

__all__ = ["MegatronDialect", "megatron_recipe"]

TRAINING: Final = "job.training"
PARALLEL: Final = "job.parallel"
_LIGHT: Final = frozenset({"layernorm", "moe_act", "mla_up_proj"})
_SHARDED: Final = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
_EXCHANGES: Final = {"p2p": "ring", "allgather": "all-gather"}
MAX_LAYOUT: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MegatronDialect:
    """In what the files of this family differ where they state nothing.

    Attributes:
        software: The practice that runs them.
        complete: Whether what is left out has Megatron-LM's default; else that is not known.
        groups_switched: Whether groups of queries count only with ``group_query_attention``.
        dispatcher: How tokens reach their experts.
    """

    software: str
    complete: bool
    groups_switched: bool
    dispatcher: str


def megatron_recipe(found: Statements, dialect: MegatronDialect) -> Recipe:
    """Return the job that the statements describe.

    Raises:
        SpecError: a value that is needed is wrong, or cannot be expanded.
    """
    shape = megatron_shape(found, groups_switched=dialect.groups_switched)
    layers = shape.get("num_hidden_layers")
    tensor = found.count("tensor_model_parallel_size", f"{PARALLEL}.tensor") or 1
    pipeline = found.count("pipeline_model_parallel_size", f"{PARALLEL}.pipeline") or 1
    parallel = _parallel(found, dialect, tensor=tensor, pipeline=pipeline)
    virtual = _virtual(found, pipeline, layers if isinstance(layers, int) else 0)
    training = _training(found)
    software = megatron_software(
        found,
        dialect.software,
        complete=dialect.complete,
        sharded=parallel["zero"] > 0,
        tensor=tensor,
        virtual=virtual,
    )
    if "adam" in found.peek("optimizer").lower():
        found.word("optimizer", "job.software")
    nodes, per_node, gpus = launch_size(found)
    return Recipe(
        nodes=nodes,
        gpus_per_node=per_node,
        gpus=gpus,
        shape=shape,
        vocabulary_padding=vocabulary_padding(found, tensor),
        training=training,
        parallel=parallel | {"virtual_pipeline": virtual},
        software=software,
        **found.sorted(WITHOUT_EFFECT, UNMODELLED, on_by_default=frozenset(NEGATED.values())),
    )


def _training(found: Statements) -> dict[str, Any]:
    return {
        "sequence": found.count("seq_length", f"{TRAINING}.sequence"),
        "global_batch": found.count("global_batch_size", f"{TRAINING}.global_batch"),
        "micro_batch": found.count("micro_batch_size", f"{TRAINING}.micro_batch"),
        "precision": _precision(found),
        "recompute": _recompute(found),
        "expert_capacity": _capacity(found),
        **tuning_of(found),
    }


def _capacity(found: Statements) -> float | None:
    """Return the tokens that an expert takes at most, over the mean; None where none is dropped."""
    name = "moe_expert_capacity_factor"
    if not found.count("num_moe_experts", "job.model", least=0):
        found.refuse(name, "has no say without experts")
        return None
    return found.number(name, f"{TRAINING}.expert_capacity")


def _precision(found: Statements) -> str:
    """Return the format of matrix products; 32 bits are not modelled, and named."""
    key = f"{TRAINING}.precision"
    stated = found.word("precision", key).lower() or found.word("mixed_precision", key).lower()
    bf16 = found.flag("bf16", key) or "bf16" in stated
    fp16 = found.flag("fp16", key) or stated.startswith(("16", "fp16"))
    eight = found.word("fp8", key)
    recipe = found.word("fp8_recipe", key)
    four = found.word("fp4", key) or ("nvfp4" if "nvfp4" in stated else "")
    if four and four.lower() not in {"false", "none"}:
        return _named(found, "nvfp4", "fp4")
    if (eight and eight.lower() not in {"false", "none"}) or "fp8" in stated:
        kind = "mxfp8" if "mxfp8" in (recipe + stated) else "fp8"
        return _named(found, kind, "fp8_recipe")
    if bf16 or fp16:
        return "bf16" if bf16 else "fp16"
    reason = "no 16-bit format is asked for; 32-bit products are not modelled, bf16 stands here"
    found.add_not_taken(
        StatementOutcome(name="precision", value=stated or "fp32", line=0, reason=reason)
    )
    return "bf16"


def _named(found: Statements, kind: str, name: str) -> str:
    if kind in get_args(Precision):
        return kind
    found.refuse(name, f"{kind} is not modelled; 8-bit products stand here")
    return "fp8"


def _recompute(found: Statements) -> str:
    key = f"{TRAINING}.recompute"
    granularity = found.word("recompute_granularity", key)
    modules = found.words("recompute_modules", f"{key} and job.software.recompute_modules")
    if found.flag("checkpoint_activations", key):
        granularity = granularity or "full"
    if found.flag("recompute_activations", key):
        granularity = granularity or "selective"
    if granularity == "full":
        _note_partial(found)
        return "full"
    if granularity != "selective":
        found.refuse("recompute_modules", "has no say without --recompute-granularity selective")
        return "none"
    return "light" if modules and set(modules) <= _LIGHT else "selective"


def _note_partial(found: Statements) -> None:
    method = found.word("recompute_method", f"{TRAINING}.recompute")
    number = found.count("recompute_num_layers", f"{TRAINING}.recompute", least=0)
    if method == "block":
        reason = f"{number} layers of a stage are computed again; all are in the model"
        found.refuse("recompute_num_layers", reason)
    elif number is not None and number > 1:
        reason = "one input a layer is kept in the model, not one in several layers"
        found.refuse("recompute_num_layers", reason)


def _parallel(
    found: Statements, dialect: MegatronDialect, *, tensor: int, pipeline: int
) -> dict[str, Any]:
    on = found.flag("sequence_parallel", f"{PARALLEL}.sequence_parallel")
    stated = {
        "tensor": tensor,
        "pipeline": pipeline,
        "context": found.count("context_parallel_size", f"{PARALLEL}.context") or 1,
        "expert": found.count("expert_model_parallel_size", f"{PARALLEL}.expert") or 1,
        "zero": _zero(found, complete=dialect.complete),
        "sequence_parallel": on and tensor > 1,
    }
    return stated | _exchanges(found) | _experts(found, dialect, tensor)


def _exchanges(found: Statements) -> dict[str, Any]:
    kinds = found.words("cp_comm_type", f"{PARALLEL}.context_exchange")
    if not kinds:
        return {}
    if len(set(kinds)) > 1 or kinds[0] not in _EXCHANGES:
        found.refuse("cp_comm_type", "only p2p and allgather are modelled; a ring stands here")
        return {}
    return {"context_exchange": _EXCHANGES[kinds[0]]}


def _experts(found: Statements, dialect: MegatronDialect, tensor: int) -> dict[str, Any]:
    if not found.count("num_moe_experts", "job.model", least=0):
        return {}
    key = f"{PARALLEL}.expert_dispatch"
    kind = found.word("moe_token_dispatcher_type", key, dialect.dispatcher)
    backend = found.word("moe_flex_dispatcher_backend", key)
    deepep = found.flag("moe_enable_deepep", key)
    wanted = {"allgather": "all-gather", "alltoall": "all-to-all"}.get(kind, "")
    if kind == "flex":
        wanted = backend or "deepep"
    if deepep and kind != "flex":
        found.refuse("moe_enable_deepep", "has no say without the flex dispatcher")
    if not found.flag("moe_grouped_gemm", "job.software"):
        reason = "experts one by one are asked for; products of all of a rank's are in the model"
        found.assume("job.software", "grouped experts", reason)
    more = {
        "expert_dispatch": _dispatch(found, wanted),
        "expert_overlap": found.flag(
            "overlap_moe_expert_parallel_comm", f"{PARALLEL}.expert_overlap"
        ),
    }
    return more | _expert_tensor(found, tensor)


def _dispatch(found: Statements, wanted: str) -> str:
    if wanted in get_args(ExpertDispatch):
        return wanted
    reason = f"{wanted or 'that dispatcher'} is not modelled; an all-to-all stands here"
    if "moe_token_dispatcher_type" in found:
        found.refuse("moe_token_dispatcher_type", reason)
    else:
        found.assume(f"{PARALLEL}.expert_dispatch", "all-to-all", reason)
    return "all-to-all"


def _expert_tensor(found: Statements, tensor: int) -> dict[str, Any]:
    """Return the tensor ranks of an expert: those of the rest of the model where left out."""
    stated = found.count("expert_tensor_parallel_size", f"{PARALLEL}.expert_tensor")
    return {"expert_tensor": stated or tensor}


def _zero(found: Statements, *, complete: bool) -> int:
    key = f"{PARALLEL}.zero"
    fsdp = found.flag("use_megatron_fsdp", key)
    torch = found.flag("use_torch_fsdp2", key)
    strategy = found.word("data_parallel_sharding_strategy", key)
    shares = found.flag("use_distributed_optimizer", key)
    if torch:
        return 3 if found.flag("torch_fsdp2_reshard_after_forward", key, default=True) else 2
    if fsdp:
        return _SHARDED.get(strategy, 0)
    if strategy and _SHARDED.get(strategy, 0) > 0:
        found.refuse("data_parallel_sharding_strategy", "has no say without Megatron's FSDP")
    if not complete and not found.peek("use_distributed_optimizer"):
        found.assume(key, 1, "recipes share the optimizer's state unless they say otherwise")
        return 1
    return 1 if shares else 0


def _virtual(found: Statements, pipeline: int, layers: int) -> int:
    """Return the chunks of layers in each stage."""
    key = f"{PARALLEL}.virtual_pipeline"
    chunks = found.count("virtual_pipeline_model_parallel_size", key)
    chunks = found.count("num_virtual_stages_per_pipeline_rank", key) or chunks
    each = found.count("num_layers_per_virtual_pipeline_stage", key)
    layout = found.word("pipeline_model_parallel_layout", key)
    if each and layers and pipeline > 1:
        if layers % (pipeline * each):
            found.reject(
                "num_layers_per_virtual_pipeline_stage",
                f"does not divide {layers} layers in {pipeline} stages",
            )
        chunks = layers // pipeline // each
    if layout:
        stages = _stages(layout)
        found.refuse(
            "pipeline_model_parallel_layout",
            "stages of unequal layers are not modelled; the number of chunks is taken",
        )
        chunks = max(1, stages // pipeline) if stages else chunks
    return (chunks or 1) if pipeline > 1 else 1


def _stages(layout: str) -> int:
    """Return how many stages a layout such as ``Et*3|(tt|)*29m|L`` has; 0 if it cannot be read."""
    text = layout.replace(",", "").replace(" ", "")
    if not re.fullmatch(r"[A-Za-z0-9|()*]{1,400}", text):
        return 0
    while found := re.search(r"\(([^()]*)\)(?:\*([0-9]{1,4}))?|([^()*])\*([0-9]{1,4})", text):
        inside, times = (found[1], found[2]) if found[3] is None else (found[3], found[4])
        repeated = inside * int(times or 1)
        if len(text) + len(repeated) > MAX_LAYOUT:
            return 0
        text = text[: found.start()] + repeated + text[found.end() :]
    return text.count("|") + 1 if "*" not in text else 0
