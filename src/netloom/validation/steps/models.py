"""The model of a measured step: by its exact name, and by the shape that its columns give."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.workload.parameters import parameters

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["model_of_row"]

# A dense family's habits that the table has no columns for: gated blocks and rotary positions,
# or biases, learned positions and one matrix for embedding and logits.
_FAMILIES: Final = (
    ("gpt", "megatron-22b"),
    ("mpt", "mpt-7b"),
    ("nemotron", "nemotron-4-340b"),
    ("llama", "llama-3.1-8b"),
)
# What a mixture of a name that the catalogue does not have is taken after: gated, no biases.
_LIKE: Final = "qwen3-30b-a3b"
_SHAPE: Final = {
    "layers": "num_layers",
    "hidden": "hidden",
    "heads": "num_heads",
    "kv_heads": "num_kv_heads",
    "vocab": "vocabulary",
    "experts": "num_experts",
    "topk": "experts_per_token",
}
_FAR: Final = 0.15  # of the stated size; published sizes are rounded
_NEEDED: Final = frozenset({"layers", "hidden", "heads"})
_SIZE: Final = re.compile(r"\d+(\.\d+)?[bt](a\d+b)?")
# The parts of latent attention as the column ``mla`` has them.
_LATENT: Final = {
    "q": "query_rank",
    "kv": "kv_rank",
    "nope": "head_dim",
    "rope": "rope_head_dim",
    "v": "value_head_dim",
}


def model_of_row(row: MeasuredStep, catalog: Catalog) -> tuple[Model, tuple[str, ...]]:
    """Return the model that *row* ran, and what of it was assumed.

    The columns of the shape win over what is known of the name.

    Raises:
        SpecError: neither its name nor its columns say what it is.
    """
    if _is_mixture(row):
        return _mixture(row, catalog)
    text = row.model.lower()
    name = next((found for key, found in _FAMILIES if key in text), None)
    if name is None:
        raise _unknown(row)
    base = catalog.model(name)
    if not set(row.shape) >= _NEEDED:
        return _of_size(base, row, catalog)
    update: dict[str, Any] = {
        **_columns(row),
        "name": row.model,
        "ffn_hidden": row.shape.get("ffn_hidden", 4 * row.shape["hidden"]),
        "head_dim": row.shape["hidden"] // row.shape["heads"],
        "learned_positions": row.sequence if base.learned_positions else 0,
    }
    return base.model_copy(update=update), ()


def _is_mixture(row: MeasuredStep) -> bool:
    stated = row.text("arch") == "moe" or row.shape.get("experts", 0) > 0
    return stated or row.degrees.get("ep", 1) > 1


def _unknown(row: MeasuredStep) -> SpecError:
    return SpecError(
        what=f"row {row.row_id}: model {row.model!r} is not in the catalogue",
        remedy="write the columns layers, hidden, heads, ffn_hidden, experts and topk",
    )


def _mixture(row: MeasuredStep, catalog: Catalog) -> tuple[Model, tuple[str, ...]]:
    base, about = _named(row.model, catalog), []
    stated = set(row.shape) >= _NEEDED
    if base is None:
        if not (stated and {"experts", "topk"} <= set(row.shape)):
            raise _unknown(row)
        base = _plain(row, catalog)
        about.append("The catalogue has no such model; what its columns leave out is as in Qwen3.")
    if not stated:
        return base, (f"The shape is not stated; that of {base.name} assumed.",)
    update = {**_columns(row), **_experts(row, base), "name": row.model}
    if _contradicts(row, base, base.model_copy(update=update)):
        update = {"name": row.model}
        about.append(
            f"Its columns make another size than its {row.params_b:g}B; {base.name} assumed."
        )
    if row.text("mtp") == "yes":
        update["num_layers"] = update.get("num_layers", base.num_layers) + 1
        about.append("The extra prediction layer is taken as one more layer.")
    return base.model_copy(update=update), tuple(about)


def _contradicts(row: MeasuredStep, base: Model, stated: Model) -> bool:
    """Return whether the row's own size is the named model's, and not that of its columns."""
    if row.params_b is None:
        return False
    size = 1e9 * row.params_b
    return abs(parameters(stated) / size - 1) > _FAR and abs(parameters(base) / size - 1) <= _FAR


def _named(text: str, catalog: Catalog) -> Model | None:
    """Return the model whose whole name *text* is, but for a size at its end."""
    wanted = _letters(text)
    for name, model in catalog.models.items():
        for known in (_letters(name), _letters(model.title)):
            rest = wanted.removeprefix(known)
            ends = not rest or _SIZE.fullmatch(rest)
            if model.num_experts and wanted.startswith(known) and ends:
                return model
    return None


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.lower())


def _plain(row: MeasuredStep, catalog: Catalog) -> Model:
    hidden, heads = row.shape["hidden"], row.shape["heads"]
    update = {"head_dim": max(1, hidden // heads), "ffn_hidden": 4 * hidden, "head_norms": False}
    return catalog.model(_LIKE).model_copy(update=update)


def _columns(row: MeasuredStep) -> dict[str, Any]:
    return {ours: row.shape[theirs] for theirs, ours in _SHAPE.items() if theirs in row.shape}


def _experts(row: MeasuredStep, base: Model) -> dict[str, Any]:
    """Return what the columns say of experts.

    In rows of mixtures ``ffn_hidden`` is an expert's width, unless it is that of a dense layer.
    """
    given = row.shape.get("ffn_hidden")
    width = _number(row, "moe_ffn_hidden") or (None if given == base.ffn_hidden else given)
    found: dict[str, Any] = {"expert_hidden": width} if width else {}
    shared = _number(row, "shared_experts")
    if shared is not None:
        found["num_shared_experts"] = shared
    dense = _number(row, "first_dense_layers")
    if dense is not None:
        found["first_dense_layers"] = dense
    elif row.shape["layers"] < base.num_layers:
        # Models cut down for a benchmark: the memory that SimuMax measured fits one.
        found["first_dense_layers"] = min(base.first_dense_layers, 1)
    return {**found, **_latent(row)}


def _latent(row: MeasuredStep) -> dict[str, int]:
    """Return latent attention as the column ``mla`` writes it: q1536 kv512 nope128 rope64 v128."""
    parts = re.findall(r"\b(q|kv|nope|rope|v)(\d+)\b", row.text("mla"))
    return {_LATENT[name]: int(size) for name, size in parts}


def _number(row: MeasuredStep, column: str) -> int | None:
    text = row.text(column).strip()
    return int(text) if text.isdigit() else None


def _of_size(base: Model, row: MeasuredStep, catalog: Catalog) -> tuple[Model, tuple[str, ...]]:
    """Return the shape of the nearest model of *base*'s habits in size.

    Its layers are then as many as the row's parameters need.
    """
    if row.params_b is None:
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
