"""Score the operator model against whole layers and whole steps measured on one GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from statistics import mean, median
from typing import TYPE_CHECKING, Final

from netloom.compute.calls import paces
from netloom.compute.device import h200
from netloom.compute.layers import GptLayer, GptStep, LlamaLayer
from netloom.validation.layers.blocks import block_kernels, stated_doubts
from netloom.validation.layers.loop_runs import loop_runs
from netloom.validation.layers.timed import Timed, TimedKind, TimedSuite, read_timed, shipped_timed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from netloom.compute.calls import Call, Paces
    from netloom.compute.device import GpuDevice

__all__ = [
    "BOUNDS",
    "LayerBound",
    "LayerGroup",
    "LayerRow",
    "LayerSuite",
    "Timed",
    "read_timed",
    "shipped_timed",
    "validate_timed",
]

# With less work than this for the GPU, over the host's launches, pauses of the host decide.
_MIN_BUSY: Final = 1.3
# The widths and lengths of the measured operators (docs/models/compute.md).
_HIDDEN: Final = (1024, 25600)
_SEQUENCE: Final = (1024, 32768)
_LATENT_TOKENS: Final = (256, 131072)  # without a mask; beyond 16,384 by the long-run rate


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBound:
    """What a suite's errors are held to, in percent."""

    median_pct: float = math.inf
    p90_pct: float = math.inf
    most_pct: float = math.inf


# A group of fewer rows has no tenth to speak of; it counts in the total alone.
_MIN_JUDGED: Final = 5

BOUNDS: Final[Mapping[str, LayerBound]] = {
    "layers": LayerBound(median_pct=4.0, p90_pct=10.0),  # each of its dense groups
    "gpu-steps": LayerBound(most_pct=6.0),
}
# Blocks are judged over all their parts together; the groups are shown.
BLOCK_BOUNDS: Final[Mapping[TimedKind, LayerBound]] = {
    "moe_block": LayerBound(median_pct=6.0, p90_pct=15.0),
    "dit_block": LayerBound(median_pct=6.0, p90_pct=15.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """One measured time and its prediction, in seconds.

    Attributes:
        quantity: The column of the row that was measured.
        predicted: None where the row cannot be run; the reason says why.
        error_pct: Predicted over measured, less 1, in percent.
        inside: Whether the model claims to be valid there.
        fitted: Whether it told how its table was repeated; such rows are not judged.
        reason: Why not; empty inside.
    """

    row_id: str
    quantity: str
    group: str
    measured: float
    predicted: float | None
    error_pct: float | None
    inside: bool
    fitted: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGroup:
    """The rows judged, of one kind and column."""

    name: str
    rows: int
    median_abs_error_pct: float
    p90_abs_error_pct: float
    most_abs_error_pct: float
    bias_pct: float
    bound: LayerBound
    bound_ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSuite:
    """What a suite found; errors are over the rows inside that were not fitted, None without any.

    Attributes:
        loop_runs: Calls before the timed one, by kind of row.
    """

    suite: str
    rows: int
    inside: int
    mean_abs_error_pct: float | None
    median_abs_error_pct: float | None
    p90_abs_error_pct: float | None
    most_abs_error_pct: float | None
    bias_pct: float | None
    bound_ok: bool
    loop_runs: Mapping[str, float]
    groups: tuple[LayerGroup, ...]
    per_row: tuple[LayerRow, ...]


def validate_timed(
    rows: Sequence[Timed], suite: TimedSuite, device: GpuDevice | None = None
) -> LayerSuite:
    """Return how well the operator model predicts *rows* on *device*, the shipped H200."""
    where = device or h200()
    timed = [(row, _paces(row, where)) for row in rows]
    kinds = sorted({row.kind for row in rows})
    loops = {kind: _loop(kind, timed) for kind in kinds}
    results = tuple(_score(row, found, loops[row.kind]) for row, found in timed)
    scored = [
        (row.kind, result)
        for row, result in zip(rows, results, strict=True)
        if result.inside and not result.fitted
    ]
    judged = [result for _, result in scored]
    total = _group(suite, judged, LayerBound()) if judged else None
    groups, bound_ok = _judged(scored, BOUNDS[suite])
    return LayerSuite(
        suite=suite,
        rows=len(results),
        inside=sum(row.inside for row in results),
        mean_abs_error_pct=mean(_errors(judged)) if judged else None,
        median_abs_error_pct=None if total is None else total.median_abs_error_pct,
        p90_abs_error_pct=None if total is None else total.p90_abs_error_pct,
        most_abs_error_pct=None if total is None else total.most_abs_error_pct,
        bias_pct=None if total is None else total.bias_pct,
        bound_ok=bound_ok,
        loop_runs={kind: runs for kind, (runs, _) in loops.items()},
        groups=groups,
        per_row=results,
    )


def _judged(
    scored: Sequence[tuple[TimedKind, LayerRow]], bound: LayerBound
) -> tuple[tuple[LayerGroup, ...], bool]:
    """Return the groups, and whether what was judged keeps its bounds: nothing does not.

    Layers and steps do so together and in each group that is large enough, blocks all together.
    """
    dense = [row for kind, row in scored if kind not in BLOCK_BOUNDS]
    wholes = [_group("dense", dense, bound)] if dense else []
    groups = _groups(dense, bound)
    wholes += [group for group in groups if group.rows >= _MIN_JUDGED]
    for kind, of_blocks in BLOCK_BOUNDS.items():
        if some := [row for other, row in scored if other == kind]:
            groups += _groups(some, LayerBound())
            groups += (_group(f"{kind}, all", some, of_blocks),)
            wholes.append(groups[-1])
    return groups, bool(wholes) and all(group.bound_ok for group in wholes)


def _loop(
    kind: TimedKind, timed: Iterable[tuple[Timed, Paces | str]]
) -> tuple[float, frozenset[int]]:
    """Return how often the calls of a kind of table were repeated, and the rows that told it."""
    return loop_runs(
        kind,
        [
            (row.number, row.measured_s, found)
            for row, found in timed
            if row.kind == kind and not isinstance(found, str) and not stated_doubts(row)
        ],
    )


def _groups(rows: Sequence[LayerRow], bound: LayerBound) -> tuple[LayerGroup, ...]:
    ordered = sorted(rows, key=lambda row: row.group)
    return tuple(
        _group(name, list(some), bound)
        for name, some in groupby(ordered, key=lambda row: row.group)
    )


def _errors(rows: Iterable[LayerRow]) -> list[float]:
    return [abs(row.error_pct) for row in rows if row.error_pct is not None]


def _group(name: str, rows: Sequence[LayerRow], bound: LayerBound) -> LayerGroup:
    errors = sorted(_errors(rows))
    middle, tenth = median(errors), _quantile(errors, 0.9)
    ok = middle <= bound.median_pct and tenth <= bound.p90_pct and errors[-1] <= bound.most_pct
    return LayerGroup(
        name=name,
        rows=len(rows),
        median_abs_error_pct=middle,
        p90_abs_error_pct=tenth,
        most_abs_error_pct=errors[-1],
        bias_pct=mean(row.error_pct for row in rows if row.error_pct is not None),
        bound=bound,
        bound_ok=ok,
    )


def _score(row: Timed, at: Paces | str, loop: tuple[float, frozenset[int]]) -> LayerRow:
    runs, telling = loop
    found = None if isinstance(at, str) else at.after(runs)
    doubts = (str(at),) if found is None else _doubts(row, found)
    predicted_s = None if found is None else found.duration_s
    return LayerRow(
        row_id=row.row_id,
        quantity=row.column,
        group=_group_name(row),
        measured=row.measured_s,
        predicted=predicted_s,
        error_pct=None if predicted_s is None else 100 * (predicted_s / row.measured_s - 1),
        inside=not doubts,
        fitted=row.number in telling,
        reason=" ".join(doubts),
    )


def _group_name(row: Timed) -> str:
    """Return what a row is shown with: of blocks a part and mode, of layers a column as well."""
    names = {"moe_block": ("part", "mode"), "dit_block": ("kind", "mode")}
    words = [row.values[key] for key in names.get(row.kind, ("mode",)) if row.values.get(key)]
    return " ".join([row.kind, *words, *(() if row.kind in BLOCK_BOUNDS else (row.column,))])


def _paces(row: Timed, device: GpuDevice) -> Paces | str:
    """Return how long *row* takes, or why it cannot be run."""
    values = row.values
    match row.kind:
        case "moe_block" | "dit_block":
            blocks = block_kernels(row)
            if isinstance(blocks, str):
                return blocks
            return paces(blocks, device, launched=values["mode"] == "eager")
        case "gpt_layer_shard":
            gpt = _gpt(values, tensor=int(values["tp"]))
            kernels = gpt.forward() if row.column == "fwd_ms" else gpt.backward()
            return paces(kernels, device, launched=True)
        case "gpt_step":
            step = GptStep(
                layer=_gpt(values, tensor=1),
                num_layers=int(values["layers"]),
                vocabulary=int(values["vocab"]),
                accumulate=int(values["accumulate"]),
                parameters=_parameters(values),
            )
            return paces(step.kernels(), device, launched=True)
        case "llama_layer_shard":
            llama = _llama(values)
            calls = [llama.forward()]
            if row.column == "fwd_bwd_recompute_ms":
                calls.append(llama.again())
            if row.column != "fwd_ms":
                calls.append(llama.backward())
            kernels = (kernel for one in calls for kernel in one)
            return paces(kernels, device, launched=llama.mode == "eager")


def _gpt(values: Mapping[str, str], *, tensor: int) -> GptLayer:
    return GptLayer(
        hidden=int(values["hidden"]),
        num_heads=int(values["heads"]),
        tensor=tensor,
        micro_batch=int(values["micro_batch"]),
        sequence=int(values["seq"]),
    )


def _llama(values: Mapping[str, str]) -> LlamaLayer:
    return LlamaLayer(
        hidden=int(values["hidden"]),
        num_heads=int(values["heads"]),
        num_kv_heads=int(values["kv_heads"]),
        ffn_hidden=int(values["ffn"]),
        tensor=int(values["tp"]),
        micro_batch=int(values["micro_batch"]),
        sequence=int(values["seq"]),
        mode="compiled" if values["mode"] == "compiled" else "eager",
    )


def _parameters(values: Mapping[str, str]) -> int:
    """Return all parameters: given, or 12 h^2 + 13 h a layer, embeddings and the last norm."""
    given = (values.get("params") or "").strip()
    if given.isdigit():
        return int(given)
    hidden, layers = int(values["hidden"]), int(values["layers"])
    ends = (int(values["vocab"]) + int(values["seq"]) + 2) * hidden
    return layers * (12 * hidden**2 + 13 * hidden) + ends


def _doubts(row: Timed, found: Call) -> tuple[str, ...]:
    """Return why *row* lies outside; only inputs and the prediction decide."""
    doubts = []
    hidden = int(row.values["hidden"])
    if not _HIDDEN[0] <= hidden <= _HIDDEN[1]:
        doubts.append(f"Operators were measured {_HIDDEN[0]} to {_HIDDEN[1]} wide, not {hidden}.")
    (low, high), sequence = _attended(row)
    if not low <= sequence <= high:
        doubts.append(f"Attention was measured on {low} to {high} tokens, not {sequence}.")
    if found.busy_s < _MIN_BUSY * found.host_s:
        doubts.append("So little work that the pace of the host decides.")
    return (*doubts, *stated_doubts(row))


def _attended(row: Timed) -> tuple[tuple[int, int], int]:
    """Return the lengths that attention was measured on, and that of *row*."""
    if row.kind == "dit_block":
        return _LATENT_TOKENS, int(row.values["tokens"])
    text = row.values.get("seq") or ""
    return _SEQUENCE, int(text) if text.strip() else _SEQUENCE[0]


def _quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least *share* of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
