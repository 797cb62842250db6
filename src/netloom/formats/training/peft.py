"""Low-rank fine-tuning in recipes (``peft``) and in Hugging Face's adapter_config.json."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

from netloom.formats.training.documents import flat_document, keys_of_json
from netloom.formats.training.recipe import Recipe
from netloom.formats.training.statements import Statements, WithoutEffect, names_of
from netloom.spec.tuning import AdaptedModule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.formats.training.recipe import RecipeStatement, RecipeText

__all__ = ["PEFT_NAMES", "is_peft", "parse_peft", "tuning_of"]

KEY: Final = "job.training.tuning"
KIND, RANK, MODULES = "peft.kind", "peft.dim", "peft.target_modules"
# Where recipes of NeMo 1, NeMo 2 and Megatron-Bridge say it, by one name each.
PEFT_NAMES: Final = {
    "peft": KIND,
    "peft._target_": KIND,
    "peft.name": KIND,
    "peft.dim": RANK,
    "peft.target_modules": MODULES,
    "model.peft": KIND,
    "model.peft.peft_scheme": KIND,
    "model.peft.lora_tuning.adapter_dim": RANK,
    "model.peft.lora_tuning.target_modules": MODULES,
}
_ATTENTION: Final[tuple[AdaptedModule, ...]] = ("linear_qkv", "linear_proj")
_BLOCK: Final[tuple[AdaptedModule, ...]] = ("linear_fc1", "linear_fc2")
# Names of modules in Megatron-Core, NeMo 1 and the models of Hugging Face, by Megatron-Core's.
_NAMED: Final[Mapping[str, frozenset[str]]] = {
    "linear_qkv": names_of(
        "linear_qkv attention_qkv q_proj k_proj v_proj qkv_proj c_attn query_key_value Wqkv "
        "linear_q linear_k linear_v to_q to_k to_v"
    ),
    "linear_proj": names_of("linear_proj attention_dense o_proj out_proj dense to_out"),
    "linear_fc1": names_of(
        "linear_fc1 mlp_fc1 gate_proj up_proj gate_up_proj w1 w3 dense_h_to_4h linear_fc1_up "
        "linear_fc1_gate"
    ),
    "linear_fc2": names_of("linear_fc2 mlp_fc2 down_proj w2 dense_4h_to_h"),
}
_SEVERAL: Final[Mapping[str, tuple[AdaptedModule, ...]]] = {
    "attention": _ATTENTION,
    "mlp": _BLOCK,
    "all": get_args(AdaptedModule),
    "all-linear": get_args(AdaptedModule),
}
# Queries, keys and values apart.
_THREES: Final = (
    names_of("q_proj k_proj v_proj"),
    names_of("linear_q linear_k linear_v"),
    names_of("to_q to_k to_v"),
)
_OFF: Final = frozenset({"", "none", "null", "false"})
_DEFAULT_RANK: Final = 32  # Megatron-Bridge peft/lora.py, NeMo 2 llm/peft/lora.py
_HUGGINGFACE_RANK: Final = 8  # peft LoraConfig
_WITHOUT_EFFECT: Final = WithoutEffect(
    names=names_of(
        "lora_alpha lora_dropout task_type inference_mode init_lora_weights auto_mapping revision "
        "fan_in_fan_out peft_version corda_config eva_config loftq_config megatron_core "
        "megatron_config alpha_pattern use_rslora"
    ),
)
_UNMODELLED: Final = {
    "bias": "biases stay frozen in the model",
    "modules_to_save": "whole matrices trained beside the low-rank ones are not modelled",
    "layers_to_transform": "every layer has them in the model",
    "layers_pattern": "every layer has them in the model",
    "rank_pattern": "every matrix has the same rank in the model",
    "exclude_modules": "is not modelled",
    "use_dora": "magnitudes (DoRA) are not modelled",
    "layer_replication": "is not modelled",
    "target_parameters": "is not modelled",
    "trainable_token_indices": "is not modelled",
}


def tuning_of(found: Statements, *, default_rank: int = _DEFAULT_RANK) -> dict[str, Any]:
    """Return ``tuning`` of ``job.training``; nothing where every weight is trained."""
    kind = found.word(KIND, f"{KEY}.method").rpartition(".")[2].lower()
    if kind in _OFF:
        return {}
    if kind not in {"lora", "qlora", "canonicallora", "canonical_lora"}:
        found.refuse(KIND, "is no LoRA; every weight is trained here")
        return {}
    tuning: dict[str, Any] = {"method": "lora"}
    tuning["rank"] = found.count(RANK, f"{KEY}.rank") or default_rank
    modules = _modules(found)
    if modules:
        tuning["modules"] = list(modules)
    return {"tuning": tuning}


def _modules(found: Statements) -> tuple[str, ...]:
    """Return the adapted modules in Megatron-Core's words; none where the file names none."""
    stated = [name.rpartition(".")[2] for name in found.words(MODULES, f"{KEY}.modules")]
    found_names = {name for name in stated if name in _SEVERAL}
    named: set[str] = {module for one in found_names for module in _SEVERAL[one]}
    named |= {module for module, names in _NAMED.items() if names & set(stated)}
    known = frozenset().union(*_NAMED.values()) | _SEVERAL.keys()
    unknown = sorted(set(stated) - known)
    if unknown:
        found.refuse(MODULES, f"{', '.join(unknown[:3])}: no such matrix in the model")
    parts = frozenset().union(*_THREES) & set(stated)
    if parts and not any(parts >= three for three in _THREES):
        reason = f"{', '.join(sorted(parts))} alone; all three are one matrix in the model"
        found.assume(f"{KEY}.modules", "linear_qkv", reason)
    return tuple(module for module in get_args(AdaptedModule) if module in named)


def is_peft(head: str) -> bool:
    """Return whether a text begins as an adapter_config.json does."""
    keys = keys_of_json(head)
    return head.lstrip()[:1] == "{" and bool(keys & {"peft_type", "base_model_name_or_path"})


def parse_peft(given: RecipeText) -> Recipe:
    """Return how an adapter_config.json tunes a model, which it names and does not describe.

    Raises:
        SpecError: it is no JSON, or a value is wrong.
    """
    document = flat_document(given)
    names = {"peft_type": KIND, "r": RANK, "target_modules": MODULES}
    found = Statements([_renamed(one, names) for one in document.statements], file=given.name)
    for problem in document.problems:
        found.add_not_taken(problem)
    found.refuse("base_model_name_or_path", "give --model, by the catalogue's name")
    return Recipe(
        training=tuning_of(found, default_rank=_HUGGINGFACE_RANK),
        **found.sorted(_WITHOUT_EFFECT, _UNMODELLED),
    )


def _renamed(one: RecipeStatement, names: Mapping[str, str]) -> RecipeStatement:
    return replace(one, canonical=names[one.name]) if one.name in names else one
