"""Rows of mixture and diffusion blocks as kernels, and what such a row says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from netloom.compute.attention_blocks import GroupedQueryBlock, LatentBlock
from netloom.compute.diffusion import DiffusionBlock
from netloom.compute.grouped import balanced, skewed
from netloom.compute.kernels import Kernel
from netloom.compute.layers import LlamaLayer
from netloom.compute.mixtures import Mixture
from netloom.parts.load import load_catalog
from netloom.validation.layers.timed import is_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.validation.layers.timed import Timed

__all__ = ["block_kernels", "stated_doubts"]

EXPERTS: Final = ("grouped_mm", "loop", "bmm", "fp8_rowwise")
ROUTERS: Final = ("softmax", "sigmoid_group")
KINDS: Final = ("dit", "mmdit", "single", "video")
# What a row says of its own columns, by the column.
HOST_BOUND: Final = {
    "fwd_ms": "host_bound_fwd",
    "fwd_bwd_ms": "host_bound_fwd_bwd",
    "fwd_bwd_recompute_ms": "host_bound_recompute",
}
SUSPECT: Final = {"fwd_ms": "suspect_fwd", "fwd_bwd_ms": "suspect_fwd_bwd"}


def stated_doubts(row: Timed) -> tuple[str, ...]:
    """Return what the row's own ``status`` says against it."""
    stated = (row.values.get("status") or "").split("+")
    doubts = []
    if HOST_BOUND.get(row.column) in stated:
        doubts.append("The row says that the pace of the host decided.")
    if SUSPECT.get(row.column) in stated:
        doubts.append("The row says that it is suspect.")
    return tuple(doubts)


def block_kernels(row: Timed) -> list[Kernel] | str:
    """Return the kernels of a row's measured call, or why it cannot be run."""
    if row.kind == "dit_block":
        return _diffusion(row)
    part = row.values["part"]
    found = _attention(row) if part.startswith("attention") else _mixture(row)
    if isinstance(found, str):
        return found
    forward, backward = found
    return forward if row.column == "fwd_ms" else [*forward, *backward]


Passes = tuple[list[Kernel], list[Kernel]]
Yields = Callable[[], Iterable[Kernel]]


def _nothing() -> Iterable[Kernel]:
    return ()


def _number(values: Mapping[str, str], name: str, default: int) -> int:
    text = (values.get(name) or "").strip()
    return int(text) if is_count(text, least=0) else default


def _diffusion(row: Timed) -> list[Kernel] | str:
    values = row.values
    kind = values["kind"]
    if kind not in KINDS:
        return f"No block of the kind {kind!r} is modelled; it is one of {', '.join(KINDS)}."
    block = DiffusionBlock(
        kind=kind,  # type: ignore[arg-type]
        hidden=int(values["hidden"]),
        num_heads=int(values["heads"]),
        ffn_hidden=int(values["ffn"]),
        micro_batch=int(values["micro_batch"]),
        tokens=int(values["tokens"]),
        text_tokens=int(values["text_tokens"]),
        mode="compiled" if values["mode"] == "compiled" else "eager",
    )
    calls = [block.forward()]
    if row.column == "fwd_bwd_recompute_ms":
        calls.append(block.again())
    if row.column != "fwd_ms":
        calls.append(block.backward())
    return [kernel for one in calls for kernel in one]


def _mixture(row: Timed) -> Passes | str:
    values = row.values
    part, impl, model = values["part"], values["impl"], _model(values.get("model", ""))
    top_k = int(values["top_k"])
    tokens = _number(values, "tokens", 0)
    rows = _number(values, "rows", tokens * top_k)
    if rows == 0:
        return "The row gives neither tokens nor rows."
    block = Mixture(
        hidden=int(values["hidden"]),
        expert_hidden=int(values["ffn"]),
        num_experts=int(values["experts"]),
        top_k=top_k,
        tokens=tokens or -(-rows // top_k),
        counts=_counts(values, rows),
        shared_hidden=_shared(values, model),
        router=impl if impl in ROUTERS else _router(model),  # type: ignore[arg-type]
        experts=impl if impl in EXPERTS else "grouped_mm",  # type: ignore[arg-type]
        mode=values["mode"],  # type: ignore[arg-type]
    )
    return _part(block, part, impl)


def _part(block: Mixture, part: str, impl: str) -> Passes | str:
    """Return the passes of one part; the empty ones of a part are not measured."""
    parts: dict[str, tuple[tuple[str, ...], Yields, Yields]] = {
        "router": (ROUTERS, block.router_forward, block.router_backward),
        "sort": (("argsort",), block.sort, _nothing),
        "permute": (
            ("gather", "index_add"),
            block.permute_forward,
            partial(block.permute_backward, index_add=impl == "index_add"),
        ),
        "unpermute": (("gather",), block.unpermute_forward, block.unpermute_backward),
        "experts": (EXPERTS, block.experts_forward, block.experts_backward),
        "grouped_gemm_up": (EXPERTS, block.up_forward, block.up_backward),
        "moe_block": (EXPERTS, block.forward, block.backward),
    }
    impls, forward, backward = parts.get(part, ((), _nothing, _nothing))
    if impl not in impls:
        return f"No kernels of {part!r} as {impl!r} are modelled."
    if impls is EXPERTS and not block.counts:
        return "The row does not say how many experts are here (local_experts)."
    return list(forward()), list(backward())


def _counts(values: Mapping[str, str], rows: int) -> tuple[float, ...]:
    num = _number(values, "local_experts", 0)
    if num == 0:
        return ()
    return skewed(rows, num) if values.get("load") == "skewed" else balanced(rows, num)


def _shared(values: Mapping[str, str], model: Model | None) -> int:
    if values["part"] != "moe_block":
        return 0
    num = 0 if model is None else model.num_shared_experts
    return _number(values, "shared_experts", num) * int(values["ffn"])


def _router(model: Model | None) -> str:
    return "sigmoid_group" if model is not None and model.grouped_router else "softmax"


def _attention(row: Timed) -> Passes | str:
    values = row.values
    impl, model = values["impl"], _model(values.get("model", ""))
    tokens, sequence = _number(values, "tokens", 0), _number(values, "seq", 0)
    if not (tokens and sequence):
        return "The row gives no tokens or no sequence."
    if model is None and not (values.get("heads") and impl == "gqa"):
        return f"No model {values.get('model')!r} is in the catalogue, so its heads are not known."
    if impl == "gqa":
        block = _grouped_query(values, model, tokens, sequence)
        return list(block.forward()), list(block.backward())
    if model is None or not model.kv_rank:
        return f"{values['model']} has no latent attention."
    return _latent_part(_latent(values, model, tokens, sequence), values["part"], impl)


def _latent_part(block: LatentBlock, part: str, impl: str) -> Passes | str:
    if part == "attention_block" and impl in {"mla", "mla_pad_v"}:
        return list(block.forward()), list(block.backward())
    if part == "attention_kernel" and impl.startswith("cudnn_attention"):
        return [block.core("forward")], [block.core("backward")]
    return f"The kernel {impl!r} was not measured; cuDNN's is modelled."


def _grouped_query(
    values: Mapping[str, str], model: Model | None, tokens: int, sequence: int
) -> GroupedQueryBlock:
    heads = _number(values, "heads", model.num_heads if model else 1)
    layer = LlamaLayer(
        hidden=int(values["hidden"]),
        num_heads=heads,
        num_kv_heads=_number(values, "kv_heads", model.num_kv_heads if model else heads),
        ffn_hidden=int(values["ffn"]),
        tensor=_number(values, "tp", 1),
        micro_batch=max(1, tokens // sequence),
        sequence=sequence,
        mode="compiled" if values["mode"] == "compiled" else "eager",
        head_dim=_number(values, "head_dim", model.head_dim if model else 128),
    )
    return GroupedQueryBlock(layer=layer, head_norms=model is not None and model.head_norms)


def _latent(values: Mapping[str, str], model: Model, tokens: int, sequence: int) -> LatentBlock:
    return LatentBlock(
        hidden=int(values["hidden"]),
        num_heads=_number(values, "heads", model.num_heads) / _number(values, "tp", 1),
        query_rank=model.query_rank or model.hidden,
        kv_rank=model.kv_rank,
        head_dim=model.head_dim,
        rope_head_dim=model.rope_head_dim,
        value_head_dim=model.value_head_dim,
        tokens=tokens,
        sequence=sequence,
        pads_values=values["impl"].endswith("pad_v"),
        compiled=values["mode"] == "compiled",
    )


@cache
def _catalog() -> Catalog:
    return load_catalog()


def _model(name: str) -> Model | None:
    return _catalog().models.get(name)
