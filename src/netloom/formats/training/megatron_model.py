"""The shape of the model that Megatron's settings describe, as a Hugging Face configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from netloom.errors import SpecError
from netloom.formats.training.arithmetic import layer_pattern
from netloom.parts.parts import Model

if TYPE_CHECKING:
    from netloom.formats.training.statements import Statements

__all__ = ["megatron_shape", "vocabulary_padding"]

KEY: Final = "job.model"
# What these tokenizers hold before padding (GPT-2's, Llama 2's).
_TOKENIZERS: Final = {"GPT2BPETokenizer": 50257, "Llama2Tokenizer": 32000}
_PLAIN: Final = {"gelu": "gelu", "relu": "relu", "squared-relu": "relu2", "squared_relu": "relu2"}


def megatron_shape(found: Statements, *, groups_switched: bool) -> dict[str, object]:
    """Return the model's shape with the keys of a Hugging Face config.json.

    What is left out has Megatron's own default (arguments.py, ``validate_args``). Empty when
    nothing of a shape is stated; without ``vocab_size`` where the tokenizer decides.

    Args:
        found: What is stated.
        groups_switched: Whether groups of queries count only with ``group_query_attention``.

    Raises:
        SpecError: a part of a shape is stated and another missing.
    """
    layers = found.count("num_layers", KEY)
    hidden = found.count("hidden_size", KEY)
    heads = found.count("num_attention_heads", KEY)
    if layers is None and hidden is None and heads is None:
        return {}
    for name, value in (
        ("num_layers", layers),
        ("hidden_size", hidden),
        ("num_attention_heads", heads),
    ):
        if value is None:
            raise _missing(found, name)
    assert layers
    assert hidden
    assert heads
    shape: dict[str, object] = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": _groups(found, heads, switched=groups_switched),
        "head_dim": found.count("kv_channels", KEY) or hidden // heads or 1,
    }
    shape |= _activation(found, hidden) | _positions(found)
    shape |= _experts(found, shape) | _latent(found)
    shape["tie_word_embeddings"] = _tied(found)
    vocabulary = _vocabulary(found)
    if vocabulary is not None:
        shape["vocab_size"] = vocabulary
    mtp = found.count("mtp_num_layers", KEY, least=0)
    if mtp:
        shape["num_nextn_predict_layers"] = mtp
        if not any("mtp" in name for name in Model.model_fields):
            found.refuse("mtp_num_layers", "prediction of further tokens is not modelled")
    return shape


def vocabulary_padding(found: Statements, tensor: int) -> int:
    """Return what the vocabulary is padded to a multiple of."""
    divisible = found.count("make_vocab_size_divisible_by", KEY) or 128
    return 1 if "padded_vocab_size" in found else divisible * tensor


def _groups(found: Statements, heads: int, *, switched: bool) -> int:
    """Return the heads of keys and values."""
    groups = found.count("num_query_groups", KEY)
    on = found.flag("group_query_attention", KEY, default=not switched)
    if not on:
        found.refuse("num_query_groups", "has no say without --group-query-attention")
        return heads
    return groups or (1 if switched else heads)


def _activation(found: Statements, hidden: int) -> dict[str, object]:
    name = found.word("activation", KEY) or found.word("activation_func", KEY)
    name = name.rsplit(".", 1)[-1].lower()
    gated = found.flag("swiglu", KEY) or found.flag("quick_geglu", KEY)
    gated = gated or found.flag("gated_linear_unit", KEY) or "glu" in name
    plain = "relu2" if found.flag("squared_relu", KEY) else _PLAIN.get(name, "gelu")
    found.flag("openai_gelu", KEY)
    # arguments.py: two thirds of four times the hidden size, in multiples of 64, where gated.
    width = int(4 * hidden * 2 / 3 / 64) * 64 if gated and found.flag("swiglu", KEY) else 4 * hidden
    return {
        "hidden_act": "silu" if gated else plain,
        "intermediate_size": found.count("ffn_hidden_size", KEY) or max(width, 1),
    }


def _positions(found: Statements) -> dict[str, object]:
    kind = found.word("position_embedding_type", KEY, "learned_absolute")
    rotary = found.flag("use_rotary_position_embeddings", KEY)
    added = found.flag("add_position_embedding", KEY, default=True)
    most = found.count("max_position_embeddings", KEY)
    biases = found.flag("add_bias_linear", KEY, default=True)
    if kind.startswith("learned") and not rotary and added and most:
        return {"model_type": "gpt2", "n_positions": most}
    more = {"attention_bias": True, "mlp_bias": True} if biases else {}
    return {"model_type": "llama", "max_position_embeddings": most, **more}


def _experts(found: Statements, shape: dict[str, object]) -> dict[str, object]:
    experts = found.count("num_moe_experts", KEY, least=0)
    if not experts:
        return {}
    width = found.count("moe_ffn_hidden_size", KEY) or shape["intermediate_size"]
    assert isinstance(width, int)
    more: dict[str, object] = {
        "num_experts": experts,
        "num_experts_per_tok": found.count("moe_router_topk", KEY) or 2,
        "moe_intermediate_size": width,
    }
    shared = found.count("moe_shared_expert_intermediate_size", KEY, least=0)
    if shared:
        more["n_shared_experts"] = _shared(found, shared, width)
    return more | _dense_layers(found, shape)


def _shared(found: Statements, total: int, width: int) -> int:
    if total % width:
        found.refuse(
            "moe_shared_expert_intermediate_size",
            f"no multiple of an expert's {width}; the nearest number of shared experts is taken",
        )
    return max(1, round(total / width))


def _dense_layers(found: Statements, shape: dict[str, object]) -> dict[str, object]:
    text = found.word("moe_layer_freq", KEY)
    if text in {"", "1"}:
        return {}
    listed = layer_pattern(text) if not text.isdecimal() else None
    if listed is None and text.isdecimal() and len(text) < 9:
        return {"moe_layer_freq": int(text)}
    if listed is None:
        _odd(found)
    dense = len(listed) - sum(listed)
    if listed != (0,) * dense + (1,) * (len(listed) - dense):
        _odd(found)
    if len(listed) != shape["num_hidden_layers"]:
        found.reject("moe_layer_freq", f"is no pattern of {shape['num_hidden_layers']} layers")
    return {"first_k_dense_replace": dense} if dense else {}


def _odd(found: Statements) -> NoReturn:
    found.reject("moe_layer_freq", "mixes dense and expert layers otherwise than dense ones first")


def _latent(found: Statements) -> dict[str, object]:
    """Return what multi-latent attention adds; its defaults are Megatron's."""
    if not found.flag("multi_latent_attention", KEY):
        return {}
    groups = found.count("moe_router_num_groups", KEY) or 1
    return {
        "model_type": "deepseek_v3",
        "n_group": groups,
        "topk_group": found.count("moe_router_group_topk", KEY) or groups,
        "q_lora_rank": found.count("q_lora_rank", KEY),
        "kv_lora_rank": found.count("kv_lora_rank", KEY) or 32,
        "qk_nope_head_dim": found.count("qk_head_dim", KEY) or 128,
        "qk_rope_head_dim": found.count("qk_pos_emb_head_dim", KEY) or 64,
        "v_head_dim": found.count("v_head_dim", KEY) or 128,
    }


def _tied(found: Statements) -> bool:
    if "untie_embeddings_and_output_weights" in found:
        return not found.flag("untie_embeddings_and_output_weights", KEY)
    return found.flag("share_embeddings_and_output_weights", KEY, default=True)


def _vocabulary(found: Statements) -> int | None:
    padded = found.count("padded_vocab_size", KEY)
    stated = found.count("vocab_size", KEY)
    kind = found.word("tokenizer_type", KEY)
    if padded is not None:
        return padded
    if stated is not None:
        return stated
    if not kind and "merge_file" in found:
        kind = "GPT2BPETokenizer"
        found.assume(f"{KEY} tokenizer", kind, "the only one that has a merge file")
    return _TOKENIZERS.get(kind)


def _missing(found: Statements, name: str) -> SpecError:
    return SpecError(
        file=found.file,
        what=f"{name} is missing",
        remedy="add it, or name the model: --model NAME or --model config.json",
    )
