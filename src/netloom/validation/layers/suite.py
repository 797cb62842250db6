"""Score the operator model against whole layers and whole steps measured on one GPU."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from statistics import mean, median
from typing import TYPE_CHECKING, Final, Literal

from netloom.compute.calls import paces
from netloom.compute.device import h200
from netloom.compute.layers import GptLayer, GptStep, LlamaLayer
from netloom.errors import SpecError
from netloom.spec.files import read_text
from netloom.validation.layers.loop_runs import loop_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

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

TimedSuite = Literal["layers", "gpu-steps"]
_TABLES: Final = {
    "layers": ("h200_gpt_layer_shard_bf16.csv", "h200_llama_layer_shard_bf16.csv"),
    "gpu-steps": ("h200_gpt_step_bf16.csv",),
}
_LARGEST_FILE_BYTES: Final = 64 * 2**20
# With less work than this for the GPU, over the host's launches, pauses of the host decide.
_MIN_BUSY: Final = 1.3
# The widths and lengths of the measured operators (docs/models/compute.md).
_HIDDEN: Final = (1024, 25600)
_SEQUENCE: Final = (1024, 32768)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBound:
    """What a suite's errors are held to, in percent."""

    median_pct: float = math.inf
    p90_pct: float = math.inf
    most_pct: float = math.inf


# A group of fewer rows has no tenth to speak of; it counts in the total alone.
_MIN_JUDGED: Final = 5

BOUNDS: Final[Mapping[str, LayerBound]] = {
    "layers": LayerBound(median_pct=4.0, p90_pct=10.0),  # and each of its groups
    "gpu-steps": LayerBound(most_pct=6.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One measured time: a row of a table, and which of its columns."""

    row_id: str
    number: int
    kind: Literal["gpt_layer_shard", "llama_layer_shard", "gpt_step"]
    column: str
    values: Mapping[str, str]
    measured_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """One measured time and its prediction, in seconds.

    Attributes:
        error_pct: Predicted over measured, less 1, in percent.
        inside: Whether the model claims to be valid there.
        fitted: Whether it told how its table was repeated; such rows are not judged.
        reason: Why not; empty inside.
    """

    row_id: str
    group: str
    measured: float
    predicted: float
    error_pct: float
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


def shipped_timed(suite: TimedSuite) -> tuple[Timed, ...]:
    """Return the measurements of *suite* that netloom ships."""
    found: list[Timed] = []
    for name in _TABLES[suite]:
        text = (
            resources.files("netloom.validation.layers").joinpath("data", name).read_text("utf-8")
        )
        found += _parse(text.splitlines(), where=name)
    return tuple(found)


def read_timed(path: Path, suite: TimedSuite) -> tuple[Timed, ...]:
    """Return the measurements of a CSV file in the columns of the shipped tables.

    Raises:
        SpecError: the file cannot be read, belongs to another suite, or a row is wrong.
    """
    text = read_text(path, max_bytes=_LARGEST_FILE_BYTES, wanted="a CSV table of results")
    found = tuple(_parse(text.splitlines(), where=path.name))
    if not found:
        raise SpecError(
            file=str(path),
            what="has no rows",
            remedy="the first line names the columns, then one row a result",
        )
    other = "gpu-steps" if suite == "layers" else "layers"
    if (found[0].kind == "gpt_step") != (suite == "gpu-steps"):
        raise SpecError(
            file=str(path),
            what=f"its columns are those of suite {other!r}",
            remedy="name that suite",
        )
    return found


_KINDS: Final = {
    "gpt_step": ("layers", "hidden", "heads", "seq", "micro_batch", "accumulate", "vocab"),
    "llama_layer_shard": ("mode", "hidden", "heads", "kv_heads", "ffn", "tp", "micro_batch", "seq"),
    "gpt_layer_shard": ("hidden", "heads", "tp", "micro_batch", "seq"),
}
_TIMES: Final = {
    "gpt_step": ("ms",),
    "llama_layer_shard": ("fwd_ms", "fwd_bwd_ms", "fwd_bwd_recompute_ms"),
    "gpt_layer_shard": ("fwd_ms", "bwd_ms"),
}


def _parse(lines: Iterable[str], *, where: str) -> Iterator[Timed]:
    reader = csv.DictReader(lines)
    names = set(reader.fieldnames or ())
    kind = next(
        (k for k, needed in _KINDS.items() if names >= {*needed, *_TIMES[k][:1]}),
        None,
    )
    if kind is None:
        raise SpecError(
            what=f"{where}: its columns are those of no suite",
            remedy=(
                "the first line is such as "
                f"{','.join((*_KINDS['gpt_layer_shard'], *_TIMES['gpt_layer_shard']))}"
            ),
        )
    for number, values in enumerate(reader, start=1):
        _check(values, kind, f"{where}:{number + 1}")
        for column in _TIMES[kind]:
            measured_s = _time_s(values.get(column), f"{where}:{number + 1}: {column}")
            if measured_s is not None:
                yield Timed(
                    row_id=f"{kind}-{number}.{column}",
                    number=number,
                    kind=kind,  # type: ignore[arg-type]
                    column=column,
                    values=values,
                    measured_s=measured_s,
                )


def _check(values: Mapping[str, str], kind: str, where: str) -> None:
    for name in _KINDS[kind]:
        text = (values.get(name) or "").strip()
        if name == "mode":
            if text not in {"eager", "compiled"}:
                raise SpecError(
                    what=f"{where}: mode: {text!r} is unknown", remedy="write eager or compiled"
                )
        elif not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
            raise SpecError(
                what=f"{where}: {name}: {text!r} is not a whole number of 1 and more",
                remedy="correct it",
            )
    tensor = int(values.get("tp") or 1)
    if int(values["heads"]) % tensor:
        raise SpecError(
            what=f"{where}: tp: {values['heads']} heads do not divide by {tensor}",
            remedy="correct one",
        )


def _time_s(text: str | None, where: str) -> float | None:
    """Return a time in seconds; None where nothing was measured."""
    if text is None or text.strip().lower() in {"", "nan"}:
        return None
    try:
        time_ms = float(text)
    except ValueError:
        time_ms = math.nan
    if not (math.isfinite(time_ms) and time_ms > 0):
        raise SpecError(
            what=f"{where}: {text!r} is not a positive number of milliseconds", remedy="correct it"
        )
    return time_ms * 1e-3


def validate_timed(
    rows: Sequence[Timed], suite: TimedSuite, device: GpuDevice | None = None
) -> LayerSuite:
    """Return how well the operator model predicts *rows* on *device*, the shipped H200."""
    where = device or h200()
    timed = [(row, _paces(row, where)) for row in rows]
    kinds = sorted({row.kind for row in rows})
    loops = {
        kind: loop_runs(kind, [(r.number, r.measured_s, at) for r, at in timed if r.kind == kind])
        for kind in kinds
    }
    results = tuple(_score(row, found, loops[row.kind]) for row, found in timed)
    judged = [row for row in results if row.inside and not row.fitted]
    total = _group(suite, judged, BOUNDS[suite]) if judged else None
    groups = _groups(judged, BOUNDS[suite])
    return LayerSuite(
        suite=suite,
        rows=len(results),
        inside=sum(row.inside for row in results),
        mean_abs_error_pct=mean(abs(row.error_pct) for row in judged) if judged else None,
        median_abs_error_pct=None if total is None else total.median_abs_error_pct,
        p90_abs_error_pct=None if total is None else total.p90_abs_error_pct,
        most_abs_error_pct=None if total is None else total.most_abs_error_pct,
        bias_pct=None if total is None else total.bias_pct,
        bound_ok=total is not None
        and total.bound_ok
        and all(group.bound_ok for group in groups if group.rows >= _MIN_JUDGED),
        loop_runs={kind: runs for kind, (runs, _) in loops.items()},
        groups=groups,
        per_row=results,
    )


def _groups(rows: Sequence[LayerRow], bound: LayerBound) -> tuple[LayerGroup, ...]:
    ordered = sorted(rows, key=lambda row: row.group)
    return tuple(
        _group(name, list(some), bound)
        for name, some in groupby(ordered, key=lambda row: row.group)
    )


def _group(name: str, rows: Sequence[LayerRow], bound: LayerBound) -> LayerGroup:
    errors = sorted(abs(row.error_pct) for row in rows)
    middle, tenth = median(errors), _quantile(errors, 0.9)
    ok = middle <= bound.median_pct and tenth <= bound.p90_pct and errors[-1] <= bound.most_pct
    return LayerGroup(
        name=name,
        rows=len(rows),
        median_abs_error_pct=middle,
        p90_abs_error_pct=tenth,
        most_abs_error_pct=errors[-1],
        bias_pct=mean(row.error_pct for row in rows),
        bound=bound,
        bound_ok=ok,
    )


def _score(row: Timed, at: Paces, loop: tuple[float, frozenset[int]]) -> LayerRow:
    runs, telling = loop
    found = at.after(runs)
    predicted_s = found.duration_s
    doubts = _doubts(row, found)
    mode = f"{row.values['mode']} " if "mode" in row.values else ""
    return LayerRow(
        row_id=row.row_id,
        group=f"{row.kind} {mode}{row.column}",
        measured=row.measured_s,
        predicted=predicted_s,
        error_pct=100 * (predicted_s / row.measured_s - 1),
        inside=not doubts,
        fitted=row.number in telling,
        reason=" ".join(doubts),
    )


def _paces(row: Timed, device: GpuDevice) -> Paces:
    values = row.values
    match row.kind:
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
    hidden, sequence = int(row.values["hidden"]), int(row.values["seq"])
    if not _HIDDEN[0] <= hidden <= _HIDDEN[1]:
        doubts.append(f"Operators were measured {_HIDDEN[0]} to {_HIDDEN[1]} wide, not {hidden}.")
    if not _SEQUENCE[0] <= sequence <= _SEQUENCE[1]:
        low, high = _SEQUENCE
        doubts.append(f"Attention was measured on {low} to {high} tokens, not {sequence}.")
    if found.busy_s < _MIN_BUSY * found.host_s:
        doubts.append("So little work that the pace of the host decides.")
    return tuple(doubts)


def _quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least *share* of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
