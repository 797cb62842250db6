"""Which layers of a Hugging Face ``config.json`` have attention, a window, a state or experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.parts.mixer import ATTENTION, EXPERTS, FEED_FORWARD, LINEAR

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PATTERN_KEYS", "layer_fields"]

# Keys that write a letter to each layer, newest first (NemotronHConfig).
PATTERN_KEYS: Final = ("hybrid_override_pattern", "hybrid_layer_pattern")
# Models whose transformers class lays windows out without a key for it: layers of every interval
# that have one, and the interval.
_WINDOWED: Final[Mapping[str, tuple[int, int]]] = {"gemma2": (1, 2), "gpt_oss": (1, 2)}
# Gemma 3 before layer_types: of every sliding_window_pattern layers the last has none.
_PATTERN_DEFAULT: Final = {"gemma3": 6, "gemma3_text": 6, "cohere2": 4}
_WINDOW, _FULL, _LINEAR = "sliding_attention", "full_attention", "linear_attention"
_CHUNKED: Final = "chunked_attention"
_GATED_DELTA: Final = {
    "num_heads": "linear_num_value_heads",
    "head_dim": "linear_value_head_dim",
    "num_groups": "linear_num_key_heads",
    "state": "linear_key_head_dim",
    "convolution": "linear_conv_kernel_dim",
}
_MAMBA: Final = {
    "num_heads": "mamba_num_heads",
    "head_dim": "mamba_head_dim",
    "num_groups": "n_groups",
    "state": "ssm_state_size",
    "convolution": "conv_kernel",
    "chunk": "chunk_size",
}
# flash-linear-attention's chunk_gated_delta_rule takes 64 tokens at a time.
_DELTA_CHUNK: Final = 64


def layer_fields(config: Mapping[str, object], *, num_layers: int, where: str) -> dict[str, Any]:
    """Return what *config* says of its layers, as fields of a catalogue's model.

    Raises:
        SpecError: layers are of a kind, or in an order, that netloom cannot describe.
    """
    pattern = _pattern(config, where)
    if pattern:
        return _one_part_layers(config, pattern, where)
    kinds = _layer_types(config, num_layers, where)
    if _LINEAR in kinds or config.get("linear_num_value_heads") is not None:
        return _linear_layers(config, kinds, where)
    return _windows(config, kinds, num_layers, where)


def _pattern(config: Mapping[str, object], where: str) -> str:
    key = next((key for key in PATTERN_KEYS if config.get(key) is not None), None)
    if key is None:
        return ""
    value = config[key]
    known = {LINEAR, ATTENTION, FEED_FORWARD, EXPERTS}
    if not isinstance(value, str) or not value or not set(value) <= known:
        raise SpecError(
            file=where,
            key=key,
            what="is no pattern of layers",
            remedy=f"write a letter of {' '.join(sorted(known))} to each layer",
        )
    return value


def _one_part_layers(config: Mapping[str, object], pattern: str, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"pattern": pattern, "num_layers": len(pattern)}
    if EXPERTS not in pattern:
        fields |= {"num_experts": 0, "experts_per_token": 0, "expert_hidden": 0}
        fields["num_shared_experts"] = 0
    if LINEAR in pattern:
        fields["linear"] = {"kind": "mamba-2", **_counts(config, _MAMBA, where)}
    latent = config.get("moe_latent_size")
    if latent is not None:
        fields["expert_latent"] = _whole(latent, "moe_latent_size", where)
    return fields


def _layer_types(config: Mapping[str, object], num_layers: int, where: str) -> tuple[str, ...]:
    """Return the kind of each layer as ``layer_types`` lists them; empty without the key."""
    value = config.get("layer_types")
    if value is None:
        return ()
    known = {_WINDOW, _FULL, _LINEAR, _CHUNKED}
    named = isinstance(value, list) and all(isinstance(one, str) for one in value)
    kinds: tuple[str, ...] = tuple(value) if named and isinstance(value, list) else ()
    if len(kinds) != num_layers or not set(kinds) <= known:
        raise SpecError(
            file=where,
            key="layer_types",
            what="does not name the kind of each layer",
            remedy=f"write {num_layers} of {', '.join(sorted(known))}",
        )
    return kinds


def _linear_layers(
    config: Mapping[str, object], kinds: tuple[str, ...], where: str
) -> dict[str, Any]:
    """Return the layers of Qwen3-Next and its like: attention in every n-th."""
    if kinds:
        interval = (*kinds, _FULL).index(_FULL) + 1
        regular = tuple(
            _FULL if (place + 1) % interval == 0 else _LINEAR for place in range(len(kinds))
        )
        if kinds != regular or _FULL not in kinds:
            raise SpecError(
                file=where,
                key="layer_types",
                what="has attention in other layers than every n-th",
                remedy="only every n-th can be",
            )
    else:
        interval = _whole(
            config.get("full_attention_interval", 4), "full_attention_interval", where
        )
    mixer = {"kind": "gated-delta", "chunk": _DELTA_CHUNK, **_counts(config, _GATED_DELTA, where)}
    # Qwen3NextAttention multiplies its output by a gate; later configurations have a key for it.
    gate = config.get("attn_output_gate", True)
    fields = {"linear": mixer, "attention_interval": interval, "gated_attention": gate is True}
    return fields if interval > 1 else {"gated_attention": gate is True}


def _windows(
    config: Mapping[str, object], kinds: tuple[str, ...], num_layers: int, where: str
) -> dict[str, Any]:
    """Return the sliding window and how many layers have it."""
    size = config.get("sliding_window")
    if size is None or config.get("use_sliding_window") is False:
        return {}
    window = _whole(size, "sliding_window", where)
    num, interval = _num_windowed(config, kinds, num_layers, where)
    if not window or not num:
        return {}
    return {"window": window, "num_windowed": num, "window_interval": interval}


def _num_windowed(
    config: Mapping[str, object], kinds: tuple[str, ...], num_layers: int, where: str
) -> tuple[int, int]:
    """Return how many of how many layers have the window."""
    kind = str(config.get("model_type", ""))
    if kinds:
        return kinds.count(_WINDOW), len(kinds)
    if kind in _WINDOWED:
        return _WINDOWED[kind]
    if kind in _PATTERN_DEFAULT:
        key = "sliding_window_pattern"
        interval = _whole(config.get(key) or _PATTERN_DEFAULT[kind], key, where)
        return max(0, interval - 1), max(1, interval)
    # Qwen2 and Qwen3: the layers from max_window_layers on.
    first = config.get("max_window_layers")
    if kind.startswith("qwen") and first is not None:
        from_layer = _whole(first, "max_window_layers", where)
        return max(0, num_layers - from_layer), num_layers
    return 1, 1


def _counts(config: Mapping[str, object], keys: Mapping[str, str], where: str) -> dict[str, int]:
    """Return what *keys* give; those with a default may be missing."""
    optional = {"convolution", "chunk"}
    found = {}
    for ours, theirs in keys.items():
        value = config.get(theirs)
        if value is None and ours in optional:
            continue
        if value is None:
            raise SpecError(
                file=where, what=f"{theirs} is missing", remedy="give the whole config.json"
            )
        found[ours] = _whole(value, theirs, where)
    return found


def _whole(value: object, key: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise SpecError(file=where, key=key, what="is not a count", remedy="write a whole number")
    return value
