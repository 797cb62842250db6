"""What the backward pass computes again: a job's ``recompute``, or modules in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from netloom.workload.flops import (
    core_flops_per_token,
    latent_up_flops_per_token,
    recomputed_flops_per_token,
)

if TYPE_CHECKING:
    from netloom.spec.scenario import Recompute, Training
    from netloom.spec.software import RecomputedModule
    from netloom.workload.flops import Operator
    from netloom.workload.transformer import Transformer

__all__ = [
    "Modules",
    "RepeatedTraffic",
    "again_flops",
    "is_again",
    "recompute_kind",
    "repeated_traffic",
]

# Megatron-Core's names; None where the job's 'recompute' decides.
Modules: TypeAlias = "tuple[RecomputedModule, ...] | None"

# Names of operators by module (transformer_config.py, recompute_modules). Checkpointed modules
# (mlp, moe, shared_experts, core_attn) run whole; of the others only their output is dropped. The
# activation function of dense blocks goes with that of experts, as in step.memory.
_OPERATORS: Final[dict[str, frozenset[str]]] = {
    "core_attn": frozenset({"attention", "softmax"}),
    "layernorm": frozenset({"norm"}),
    "mla_up_proj": frozenset({"latent norm", "query up", "key-value up"}),
    "moe_act": frozenset(
        {
            "ffn activation",
            "experts clamp",
            "experts joined",
            "experts activation",
            "shared experts activation",
        }
    ),
    "mlp": frozenset({"ffn in", "ffn activation", "ffn out"}),
    "shared_experts": frozenset(
        {"shared experts in", "shared experts activation", "shared experts out"}
    ),
    "moe": frozenset(
        {"router", "permute", "experts in", "experts clamp", "experts joined", "experts activation"}
        | {"experts out", "experts bias", "experts bias product", "latent in", "latent out"}
        | {"shared experts in", "shared experts activation", "shared experts out"}
    ),
}


_LIGHT: Final = frozenset({"layernorm", "moe_act", "mla_up_proj"})


class RepeatedTraffic(NamedTuple):
    """What runs once more in the backward pass.

    Attributes:
        blocks: Of a layer's two blocks, those whose tensor-parallel collectives do.
        attention: Whether context ranks exchange keys and values.
        experts: Whether tokens go to their experts and back.
    """

    blocks: int
    attention: bool
    experts: bool


def repeated_traffic(
    shape: Transformer, recompute: Recompute, modules: Modules = None
) -> RepeatedTraffic:
    """Return the communication that recomputation repeats.

    Of a model with both kinds of layers, the kind that most of them are decides on the blocks.
    """
    if modules is None:
        full = recompute == "full"
        return RepeatedTraffic(
            min(2, shape.num_halves) if full else 0, full or recompute == "selective", full
        )
    block = "moe" if shape.num_moe_layers > shape.num_dense_layers else "mlp"
    return RepeatedTraffic(int(block in modules), "core_attn" in modules, "moe" in modules)


def recompute_kind(recompute: Recompute, modules: Modules = None) -> Recompute:
    """Return the least kind of recomputation that computes all of *modules* again."""
    if modules is None:
        return recompute
    if not modules:
        return "none"
    if set(modules) <= {"core_attn"}:
        return "selective"
    return "light" if set(modules) <= _LIGHT else "full"


def is_again(operator: Operator, modules: tuple[RecomputedModule, ...]) -> bool:
    """Return whether an operator of a layer belongs to one of *modules*."""
    if operator.name == "rotary":  # of latent attention it belongs to what is projected up
        return operator.cheap and "mla_up_proj" in modules
    return any(operator.name in _OPERATORS[module] for module in modules)


def again_flops(shape: Transformer, training: Training, modules: Modules = None) -> float:
    """Return the FLOPs that recomputation adds to a step."""
    tokens = training.global_batch * training.sequence
    if modules is None:
        each = recomputed_flops_per_token(shape, training.span, training.recompute)
    else:
        each = _modules_flops(shape, training.span, modules)
    return each * tokens


def _modules_flops(shape: Transformer, sequence: int, modules: tuple[str, ...]) -> float:
    model = shape.model
    total = 0.0
    if "core_attn" in modules:
        total += shape.num_attention_layers * core_flops_per_token(shape, sequence)
    if "mla_up_proj" in modules:
        total += shape.num_attention_layers * latent_up_flops_per_token(shape)
    if "mlp" in modules:
        total += shape.num_dense_layers * _block_flops(shape, model.ffn_hidden)
    if "moe" in modules:
        router = 2.0 * model.hidden * (model.num_experts + 2 * model.expert_latent)
        wide = model.experts_per_token * model.expert_hidden
        chosen = _block_flops(shape, wide) * shape.expert_input / model.hidden
        total += shape.num_moe_layers * (router + chosen)
    if {"moe", "shared_experts"} & set(modules):
        always = _block_flops(shape, model.num_shared_experts * model.expert_hidden)
        total += shape.num_moe_layers * always
    return total


def _block_flops(shape: Transformer, width: int) -> float:
    return 2.0 * shape.num_ffn_matrices * shape.model.hidden * width
