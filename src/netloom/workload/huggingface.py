"""Read a model's shape from a Hugging Face ``config.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.parts.parts import Model
from netloom.provenance import Source
from netloom.spec.files import read_text
from netloom.workload.hybrid.config_layers import PATTERN_KEYS, layer_fields
from netloom.workload.parameters import parameters
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["parse_config", "read_config"]

MAX_CONFIG_BYTES = 1_000_000
# Names of transformers (src/transformers/models) whose attention is not causal.
ENCODERS: Final = frozenset(
    {
        "albert",
        "bert",
        "camembert",
        "deberta",
        "deberta-v2",
        "distilbert",
        "electra",
        "ernie",
        "modernbert",
        "roberta",
        "vit",
        "xlm-roberta",
    }
)
MAX_VALUE = 2**31
MAX_SHOWN = 60

# The same thing has a different key in each family of models; the first one present counts.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "num_layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "num_heads": ("num_attention_heads", "n_head", "n_heads"),
    "num_kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "head_dim": ("qk_nope_head_dim", "head_dim"),
    "ffn_hidden": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"),
    "vocabulary": ("vocab_size",),
    "num_experts": ("num_experts", "n_routed_experts", "num_local_experts"),
    "experts_per_token": ("num_experts_per_tok", "moe_topk", "num_experts_per_token"),
    "expert_hidden": ("moe_intermediate_size",),
    "num_shared_experts": ("n_shared_experts", "num_shared_experts"),
    "first_dense_layers": ("first_k_dense_replace",),
    "query_rank": ("q_lora_rank",),
    "kv_rank": ("kv_lora_rank",),
    "rope_head_dim": ("qk_rope_head_dim",),
    "value_head_dim": ("v_head_dim",),
}
# The width of all shared experts together; of Nemotron 3, of one of them.
SHARED_WIDTHS: Final = ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
NEEDED: Final = ("num_layers", "hidden", "num_heads", "vocabulary")
PLAIN_ACTIVATIONS = frozenset(
    {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "relu2"}
)
GATED_WITH_PLAIN_NAME = frozenset({"gemma", "gemma2", "gemma3", "gemma3_text"})
# Routers that choose groups of experts first, and how many there are where n_group is left out.
GROUPED_ROUTERS: Final = {"deepseek_v3": 8, "kimi_k2": 1}
# Every n-th layer has experts: Qwen's key, DeepSeek's, Llama 4's.
INTERVALS: Final = ("decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step")
LEARNED_POSITIONS = frozenset({"gpt2", "opt", "gpt_bigcode"})


def read_config(path: Path) -> Model:
    """Return the model that the ``config.json`` at *path* describes.

    Raises:
        SpecError: the file is missing, too large, not a JSON object, or not a transformer
            that netloom knows how to count.
    """
    text = read_text(path, max_bytes=MAX_CONFIG_BYTES, wanted="a model's config.json")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(
            file=str(path), what=f"is not JSON ({error})", remedy="give the model's config.json"
        ) from error
    if not isinstance(config, dict):
        raise SpecError(
            file=str(path), what="is not a JSON object", remedy="give the model's config.json"
        )
    return parse_config(config, where=str(path))


def parse_config(config: Mapping[str, object], *, where: str) -> Model:
    """Return the model that *config* describes.

    Args:
        config: The parsed ``config.json``; a ``text_config`` inside it is read in its place.
        where: The file; it opens error messages and names the model.

    Raises:
        SpecError: a needed key is missing, or a value is not a sensible count.
    """
    inner = config.get("text_config")
    if isinstance(inner, dict):
        config = inner
    read = {name: _count(config, name, where) for name in ALIASES}
    kind = str(config.get("model_type", ""))
    _refuse_encoders(config, kind, where)
    shape = _completed(read, config, where)
    shape |= _llama_4(config, shape, where)
    shape |= _shared_width(config, shape, where)
    shape |= _dense_between(config, shape, where)
    shape |= layer_fields(config, num_layers=read["num_layers"], where=where)
    more = {
        "name": where,
        "title": kind,
        "parameters": 1.0,
        "gated": _gated(config, kind, where),
        "biases": kind in LEARNED_POSITIONS or kind == "gpt_oss" or _biased(config),
        "learned_positions": _positions(config, kind, where),
        "tied_embeddings": _tied(config, kind, where),
        "head_norms": kind.startswith("qwen3"),
        "clamped": kind == "gpt_oss",
        "grouped_router": _grouped(config, kind, where),
        "sources": {"*": Source(citation=where, confidence="published")},
    }
    try:
        draft = Model.model_validate(shape | more)
    except ValidationError as error:
        raise _refusal(error, config, where) from error
    transformer(draft)
    return draft.model_copy(update={"parameters": float(parameters(draft))})


def _refuse_encoders(config: Mapping[str, object], kind: str, where: str) -> None:
    """Raise SpecError for a model in which a token attends to later ones, or to another input."""
    if config.get("is_encoder_decoder") is not True:
        if kind not in ENCODERS or config.get("is_decoder") is True:
            return
        key, what = "model_type", f"{kind} is an encoder: its tokens attend to later ones too"
    else:
        key, what = "is_encoder_decoder", f"{kind or 'it'} has an encoder beside its decoder"
    raise SpecError(
        file=where, key=key, what=what, remedy="give a model that decodes, such as llama or qwen3"
    )


def _count(config: Mapping[str, object], name: str, where: str) -> int:
    """Return the count that *config* gives for *name* under any of its keys, else 0."""
    key = _key(config, name)
    value = config.get(key)
    return 0 if value is None else _whole(value, key, where)


def _key(config: Mapping[str, object], name: str) -> str:
    """Return the key under which *config* gives *name*, or the most usual one."""
    known = ALIASES.get(name, (name,))
    given = [key for key in known if config.get(key) is not None]
    return (given or [key for key in known if key in config] or [known[0]])[0]


def _whole(value: object, key: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_VALUE:
        raise SpecError(
            file=where,
            key=key,
            what=f"{_shown(value)} is not a count",
            remedy="write a whole number",
        )
    return value


def _shown(value: object) -> str:
    # An int of many digits has no repr: Python refuses beyond 4,300.
    long = isinstance(value, int) and value.bit_length() > 3 * MAX_SHOWN
    text = "a very long number" if long else repr(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def _refusal(error: ValidationError, config: Mapping[str, object], where: str) -> SpecError:
    """Return what the catalogue's Model found wrong, under the key of the file."""
    found = error.errors(include_url=False)[0]
    key = _key(config, str(found["loc"][0])) if found["loc"] else "model_type"
    said = _shown(found["input"]) if found["loc"] else _shown(config.get(key))
    reason = found["msg"].removeprefix("Value error, ")
    return SpecError(
        file=where, key=key, what=f"{said} will not do ({reason})", remedy="correct it"
    )


def _shared_width(
    config: Mapping[str, object], shape: Mapping[str, Any], where: str
) -> dict[str, int]:
    """Return the shared experts counted in routed ones, where the file has their width."""
    wide = [key for key in SHARED_WIDTHS if config.get(key) is not None]
    width = _whole(config[wide[0]], wide[0], where) if wide else 0
    routed = shape["expert_hidden"]
    if not (width and routed):
        return {}
    if width % routed:
        raise SpecError(
            file=where,
            key=wide[0],
            what=f"{_shown(width)} is no multiple of an expert's {routed}",
            remedy="only shared experts as wide as some of the others together can be",
        )
    return {"num_shared_experts": width // routed * max(1, shape["num_shared_experts"])}


def _completed(read: Mapping[str, int], config: Mapping[str, object], where: str) -> dict[str, Any]:
    for name in ("hidden", "num_heads", "vocabulary") if _has_pattern(config) else NEEDED:
        if not read[name]:
            is_given = any(config.get(alias) is not None for alias in ALIASES[name])
            raise SpecError(
                file=where,
                what=f"{ALIASES[name][0]} is {'0' if is_given else 'missing'}",
                remedy="is this a transformer's config.json?",
            )
    shape: dict[str, Any] = dict(read)
    shape["num_kv_heads"] = read["num_kv_heads"] or read["num_heads"]
    shape["head_dim"] = read["head_dim"] or max(1, read["hidden"] // read["num_heads"])
    # GPT-2's n_inner may be null: four times the hidden size (transformers, GPT2Config).
    shape["ffn_hidden"] = read["ffn_hidden"] or 4 * read["hidden"]
    if read["num_experts"] and not 1 <= read["experts_per_token"] <= read["num_experts"]:
        key, most = _key(config, "experts_per_token"), read["num_experts"]
        found = "is missing" if config.get(key) is None else _shown(config[key])
        raise SpecError(
            file=where,
            key=key,
            what=f"{found}",
            remedy=f"write how many experts a token visits, 1 to {most}",
        )
    if read["num_experts"] and not read["expert_hidden"]:
        shape["expert_hidden"] = shape["ffn_hidden"]
    if not read["num_experts"]:
        zeros = ("experts_per_token", "expert_hidden", "num_shared_experts", "first_dense_layers")
        shape.update(dict.fromkeys(zeros, 0))
    if not read["kv_rank"] and config.get("qk_nope_head_dim") is not None:
        raise SpecError(
            file=where, what="qk_nope_head_dim without kv_lora_rank", remedy="both belong to MLA"
        )
    return shape


def _has_pattern(config: Mapping[str, object]) -> bool:
    return any(config.get(key) is not None for key in PATTERN_KEYS)


def _llama_4(config: Mapping[str, object], shape: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return what Llama 4 has without a key: a shared expert, and another width of dense layers."""
    wide = config.get("intermediate_size_mlp")
    if wide is None or not shape["num_experts"]:
        return {}
    return {
        "num_shared_experts": 1,
        "ffn_hidden": _whole(wide, "intermediate_size_mlp", where),
        "expert_hidden": shape["ffn_hidden"],
    }


def _dense_between(
    config: Mapping[str, object], shape: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Return which layers stay dense: the leading ones, or all but every n-th.

    Raises:
        SpecError: others, which the catalogue's Model cannot say.
    """
    if not shape["num_experts"]:
        return {}
    key = next((key for key in INTERVALS if config.get(key) not in (None, 1)), INTERVALS[0])
    interval = 1 if config.get(key) is None else _whole(config[key], key, where)
    dense = config.get("mlp_only_layers") or []
    leading = shape["first_dense_layers"]
    if isinstance(dense, list) and dense and dense == list(range(len(dense))) and not leading:
        leading, dense = len(dense), []
    if dense or not interval or (shape["num_layers"] - leading) % interval:
        key = "mlp_only_layers" if dense else key
        raise SpecError(
            file=where,
            key=key,
            what=f"{_shown(config[key])} mixes dense and MoE layers in a way "
            "that netloom cannot describe",
            remedy="only leading dense layers, or experts in every n-th of the layers, can be",
        )
    return {"first_dense_layers": leading, "expert_interval": interval}


def _grouped(config: Mapping[str, object], kind: str, where: str) -> bool:
    """Return whether the router chooses some of several groups first."""
    if kind not in GROUPED_ROUTERS:
        return False
    value = config.get("n_group")
    return (GROUPED_ROUTERS[kind] if value is None else _whole(value, "n_group", where)) > 1


def _gated(config: Mapping[str, object], kind: str, where: str) -> bool:
    if kind in GATED_WITH_PLAIN_NAME:
        return True
    keys = ("mlp_hidden_act", "hidden_act")
    key = next((key for key in keys if key in config), "activation_function")
    activation = config.get(key, "silu")
    if not isinstance(activation, str):
        raise SpecError(
            file=where,
            key=key,
            what=f"{_shown(activation)} is no name",
            remedy="write one, such as 'silu'",
        )
    return activation not in PLAIN_ACTIVATIONS


def _biased(config: Mapping[str, object]) -> bool:
    """Return whether all products have biases, as LlamaConfig can say."""
    return config.get("attention_bias") is True and config.get("mlp_bias") is True


def _positions(config: Mapping[str, object], kind: str, where: str) -> int:
    if kind not in LEARNED_POSITIONS:
        return 0
    for key in ("n_positions", "max_position_embeddings"):
        value = config.get(key)
        if value is not None and _whole(value, key, where) > 0:
            return _whole(value, key, where)
    raise SpecError(
        file=where, what="n_positions is missing", remedy=f"{kind} has learned positions"
    )


def _tied(config: Mapping[str, object], kind: str, where: str) -> bool:
    # transformers leaves the key out where it has the class's default: tied for these.
    default = kind in LEARNED_POSITIONS or kind in GATED_WITH_PLAIN_NAME
    value = config.get("tie_word_embeddings")
    if value is None or isinstance(value, bool):
        return default if value is None else value
    raise SpecError(
        file=where,
        key="tie_word_embeddings",
        what=f"{_shown(value)} is no truth value",
        remedy="write true or false",
    )
