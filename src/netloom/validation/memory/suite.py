"""Score the memory model against what allocators showed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import mean, median
from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError, SpecError
from netloom.provenance import Source
from netloom.spec.scenario import Parallel, Placement, Training
from netloom.step.memory import fits, memory, stage_memory, step_memory
from netloom.step.practice import Practice
from netloom.validation.memory.measured import LocalStep
from netloom.validation.steps.cases import cases_of
from netloom.workload.placement import layout
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.step.memory import StepMemory
    from netloom.step.model import Memory
    from netloom.validation.memory.measured import LoggedPeak, MeasuredMemory
    from netloom.validation.steps.cases import StepCase

__all__ = [
    "BOUNDS",
    "MemoryBound",
    "MemoryGroup",
    "MemoryResult",
    "MemorySuite",
    "validate_memory",
]

# The models whose rows told which tensors PyTorch's layers keep; they are not judged.
_TOLD: Final = ("llama-1b-like", "llama-8b-8", "qwen3-30b-a3b-6")
_QUANTITIES: Final = {
    "static_bytes": "static_bytes",
    "forward_end_bytes": "forward_end_bytes",
    "peak_allocated_bytes": "peak_bytes",
}
_EAGER: Final = Practice(
    name="pytorch",
    title="PyTorch 2.11",
    released="2026-01",
    attention="fused",
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=False,
    fused=False,
    kernels="torch",
    source=Source(citation="PyTorch 2.11, fused AdamW, one GPU", confidence="measured"),
)
# Parameters, gradients and both states in bf16; or all of them in fp32, with autocast.
_PRECISIONS: Final = {
    "bf16": replace(_EAGER, parameter_bytes=2, gradient_bytes=2, state_bytes=4),
    "mixed": replace(_EAGER, parameter_bytes=4, gradient_bytes=4, state_bytes=8, autocast=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBound:
    """What a group's errors are held to, in percent."""

    median_pct: float = math.inf
    p90_pct: float = math.inf
    most_pct: float = math.inf


BOUNDS: Final[Mapping[str, MemoryBound]] = {
    "one GPU": MemoryBound(median_pct=4.0, p90_pct=10.0),
    "logged peaks": MemoryBound(median_pct=10.0, most_pct=20.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResult:
    """One measured size and its prediction, in bytes.

    Attributes:
        quantity: Which of the row's sizes.
        predicted: None where the row could not be predicted; ``reason`` says why.
        error_pct: Predicted over measured, less 1, in percent.
        inside: Whether the model claims to be valid there.
        fitted: Whether its model told what layers keep; such rows are not judged.
        refused: Whether netloom would have refused the run for memory.
        reason: What is in doubt; empty inside.
        assumed: What the row leaves open and we chose.
    """

    row_id: str
    quantity: str
    group: str
    model: str
    measured: float
    predicted: float | None
    error_pct: float | None
    inside: bool
    fitted: bool
    refused: bool
    reason: str
    assumed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGroup:
    """The rows judged, of one kind."""

    name: str
    rows: int
    median_abs_error_pct: float
    p90_abs_error_pct: float
    most_abs_error_pct: float
    bias_pct: float
    bound: MemoryBound
    bound_ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySuite:
    """What the suite found; errors are over rows inside that are not fitted, None without any.

    Attributes:
        refused: Runs that took place and would be refused.
        groups: One GPU's steps by quantity and together, and logged peaks.
    """

    suite: str
    rows: int
    inside: int
    refused: int
    mean_abs_error_pct: float | None
    median_abs_error_pct: float | None
    p90_abs_error_pct: float | None
    most_abs_error_pct: float | None
    bias_pct: float | None
    bound_ok: bool
    groups: tuple[MemoryGroup, ...]
    per_row: tuple[MemoryResult, ...]


def validate_memory(rows: Sequence[MeasuredMemory], catalog: Catalog) -> MemorySuite:
    """Return how well what *rows* held is predicted."""
    results = tuple(result for row in rows for result in _score(row, catalog))
    judged = [row for row in results if row.inside and not row.fitted]
    if not judged:  # a file of nothing but models that told: they are all there is
        judged = [row for row in results if row.inside]
    total = _group("all", judged) if judged else None
    groups = _groups(judged)
    refused = sum(row.refused for row in results)
    return MemorySuite(
        suite="memory",
        rows=len(results),
        inside=sum(row.inside for row in results),
        refused=refused,
        mean_abs_error_pct=mean(map(_error, judged)) if judged else None,
        median_abs_error_pct=None if total is None else total.median_abs_error_pct,
        p90_abs_error_pct=None if total is None else total.p90_abs_error_pct,
        most_abs_error_pct=None if total is None else total.most_abs_error_pct,
        bias_pct=None if total is None else total.bias_pct,
        bound_ok=bool(judged) and not refused and all(group.bound_ok for group in groups),
        groups=groups,
        per_row=results,
    )


def _score(row: MeasuredMemory, catalog: Catalog) -> Iterator[MemoryResult]:
    if isinstance(row, LocalStep):
        yield from _score_local(row, catalog)
    else:
        yield _score_logged(row, catalog)


def _score_local(row: LocalStep, catalog: Catalog) -> Iterator[MemoryResult]:
    """Yield a result for each measured size of a step on one GPU."""
    texts, found, reason = row.texts, None, ""
    try:
        found = _local_memory(row, catalog)
    except NetloomError as error:
        reason = str(error)
    for name, measured in row.measured_bytes.items():
        predicted = None if found is None else getattr(found, _QUANTITIES[name])
        yield MemoryResult(
            row_id=row.row_id,
            quantity=name,
            group="one GPU",
            model=texts["model"],
            measured=measured,
            predicted=predicted,
            error_pct=None if predicted is None else 100 * (predicted / measured - 1),
            inside=found is not None,
            fitted=texts["model"] in _TOLD,
            refused=False,
            reason=reason,
            assumed="",
        )


def _local_memory(row: LocalStep, catalog: Catalog) -> StepMemory:
    texts, shape = row.texts, row.shape
    if texts["mode"] not in {"", "eager", "compiled"}:
        raise SpecError(key="mode", what=f"{texts['mode']!r} is unknown")
    if texts["precision"] not in _PRECISIONS:
        raise SpecError(key="precision", what=f"{texts['precision']!r} is unknown")
    if texts["recompute"] not in {"none", "selective", "full"}:
        raise SpecError(key="recompute", what=f"{texts['recompute']!r} is unknown")
    practice = replace(_PRECISIONS[texts["precision"]], fused=texts["mode"] == "compiled")
    node = catalog.node("dgx-h200").model_copy(update={"num_gpus": 1})
    training = Training.model_validate(
        {
            "sequence": shape["seq"],
            "global_batch": shape["micro_batch"],
            "micro_batch": shape["micro_batch"],
            "recompute": texts["recompute"],
        }
    )
    return step_memory(
        transformer(_local_model(row, catalog)),
        layout(
            Parallel(zero=0, sequence_parallel=False),
            node=node,
            num_gpus=1,
            placement=Placement(),
        ),
        training,
        gpu=catalog.gpu(node.gpu),
        practice=practice,
    )


def _local_model(row: LocalStep, catalog: Catalog) -> Model:
    shape = row.shape
    base = catalog.model("qwen3-30b-a3b" if shape["experts"] else "llama-3.1-8b")
    update: dict[str, object] = {
        "name": row.texts["model"] or row.row_id,
        "num_layers": shape["layers"],
        "hidden": shape["hidden"],
        "num_heads": shape["heads"],
        "num_kv_heads": shape["kv_heads"],
        "head_dim": shape["head_dim"],
        "vocabulary": shape["vocab"],
        "tied_embeddings": False,
    }
    if shape["experts"]:
        update |= {
            "num_experts": shape["experts"],
            "experts_per_token": max(1, shape["top_k"]),
            "expert_hidden": shape["ffn"],
            "num_shared_experts": 0,
            "first_dense_layers": 0,
        }
    else:
        update["ffn_hidden"] = shape["ffn"]
    return base.model_copy(update=update)


def _score_logged(row: LoggedPeak, catalog: Catalog) -> MemoryResult:
    blank = MemoryResult(
        row_id=row.row_id,
        quantity="peak_memory_gb",
        group="logged peaks",
        model=row.step.model,
        measured=row.peak_bytes,
        predicted=None,
        error_pct=None,
        inside=False,
        fitted=False,
        refused=False,
        reason="",
        assumed=row.assumed,
    )
    try:
        case, held, fit = _logged_memory(row, catalog)
    except NetloomError as error:
        return replace(blank, reason=str(error))
    return replace(
        blank,
        predicted=held.total_bytes,
        error_pct=100 * (held.total_bytes / row.peak_bytes - 1),
        inside=not case.doubts,
        refused=not fit and not case.doubts,
        reason=" ".join(f"{doubt}." for doubt in case.doubts),
        assumed=" ".join((row.assumed, *case.assumed)).strip(),
    )


def _logged_memory(row: LoggedPeak, catalog: Catalog) -> tuple[StepCase, Memory, bool]:
    """Return the likeliest way the run went that fits, what it held, and whether it fits."""
    cases = cases_of(row.step, catalog)
    tried = ((case, _held(case)) for case in cases)
    case, held = next((one for one in tried if fits(one[1])), (cases[-1], _held(cases[-1])))
    return case, _held(case, first=row.first_stage), fits(held)


def _held(case: StepCase, *, first: bool = False) -> Memory:
    """Return what a GPU of the fullest stage holds, or of the *first*."""
    network, shape, training = case.network, transformer(case.model), case.job.trained
    plan = layout(
        case.job.parallel,
        node=network.node,
        num_gpus=network.design.num_gpus,
        placement=case.job.placement,
    )
    if not first:
        return memory(shape, plan, training, gpu=network.gpu, practice=case.practice)
    return stage_memory(shape, plan, training, stage=0, gpu=network.gpu, practice=case.practice)


def _groups(rows: Sequence[MemoryResult]) -> tuple[MemoryGroup, ...]:
    """Return each group, and one GPU's steps by quantity besides, which have no bound of theirs."""
    ordered = sorted(rows, key=lambda row: row.group)
    found = [_group(name, list(some)) for name, some in groupby(ordered, key=lambda row: row.group)]
    local = sorted((row for row in rows if row.group == "one GPU"), key=lambda row: row.quantity)
    found += [
        _group(f"one GPU, {name}", list(some))
        for name, some in groupby(local, key=lambda row: row.quantity)
    ]
    return tuple(found)


def _error(row: MemoryResult) -> float:
    return abs(row.error_pct or 0.0)


def _group(name: str, rows: Sequence[MemoryResult]) -> MemoryGroup:
    errors = sorted(map(_error, rows))
    bound = BOUNDS.get(name, MemoryBound())
    middle, tenth = median(errors), errors[math.ceil(0.9 * len(errors)) - 1]
    return MemoryGroup(
        name=name,
        rows=len(rows),
        median_abs_error_pct=middle,
        p90_abs_error_pct=tenth,
        most_abs_error_pct=errors[-1],
        bias_pct=mean(row.error_pct or 0.0 for row in rows),
        bound=bound,
        bound_ok=middle <= bound.median_pct
        and tenth <= bound.p90_pct
        and errors[-1] <= bound.most_pct,
    )
