"""Score netloom against measurements: published ones, or anyone's in the same columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from statistics import mean, median
from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError
from netloom.study.expect.curve import TestRun, algorithm_called, bus_gbps, outcome_of
from netloom.validation.collectives import left_out
from netloom.validation.collectives.cells import (
    GOALS,
    MIN_MACHINES,
    TableCell,
    cells_of,
    goal_of,
    shipped_bounds,
)
from netloom.validation.collectives.machines import machine_of
from netloom.validation.collectives.measured import MeasuredCase, case_of
from netloom.validation.collectives.tables import BOUND_TABLES, shipped_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netloom.parts.load import Catalog
    from netloom.validation.collectives.cells import CellBound, CellKey, CellRow
    from netloom.validation.collectives.left_out import Refit
    from netloom.validation.collectives.measurement import Measurement
    from netloom.validation.collectives.tables import SkippedRow

__all__ = [
    "BOUND_PCT",
    "FAR_OFF_PCT",
    "RowResult",
    "SourceResult",
    "SuiteResult",
    "validate_collectives",
    "validate_shipped",
]

# Median absolute error of the bus bandwidth over sizes of 1 MiB and more of each older table,
# which the constants inside a node were taken from.
BOUND_PCT: Final = 15.0
_SMALLEST_BYTES: Final = 2.0**20
FAR_OFF_PCT: Final = 50.0
# Its 896 rows of two machines would decide every cell of one node; it has a bound of its own.
_APART_TABLE: Final = "allreduce_a100_v100_node.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """One row, measured and predicted.

    Attributes:
        num_nodes: As the row says where it could not be predicted; 0 when it does not say.
        size_bytes: None where the row does not say and nothing was assumed.
        predicted_gbps: None where nothing could be predicted; the reason says why.
        error_pct: Predicted bus bandwidth over measured, less 1, in percent; None where there is no
            prediction.
        counted: Whether it is judged and of 1 MiB or more, as the sums over all rows are.
        judged: Whether it counts in the table of groups and size bands.
        machine: Where it ran, all library versions together.
        technology: What joins the nodes; empty within one node.
        node: The node of the catalogue; empty where it could not be predicted.
        fitted: Whether a constant of the model was taken from it.
        inside: Whether the model claims to be valid there.
        reason: Why it does not count, or what is in doubt; empty otherwise.
    """

    row_id: int
    table: str
    source: str
    collective: str
    gpu: str
    num_nodes: int
    num_ranks: int
    size_bytes: float | None
    measured_gbps: float
    predicted_gbps: float | None
    error_pct: float | None
    algorithm: str
    protocol: str
    counted: bool
    fitted: bool
    inside: bool
    reason: str
    judged: bool = False
    machine: str = ""
    technology: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """The counted rows of one source or table."""

    source: str
    rows: int
    median_abs_error_pct: float
    bias_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """What a suite found.

    The errors are over the counted rows; ``held_out_*`` leave out the rows that constants were
    taken from, and ``apart_*`` are the rows that do not count, predicted or not. An error over
    no rows is None. ``by_source`` leaves out fitted rows, ``by_table`` does not.

    Attributes:
        bound_pct: Of the median of each older shipped table.
        bound_ok: Whether every held cell is within its bound and each older table within
            *bound_pct*; never where no row is judged.
        judged: Rows in the table of cells.
        cells: Groups of rows by size band; fitted rows are left out.
        inside_over_50: Of the judged rows called inside, those over 50 % off.
        skipped: The rows that could not be read.
    """

    suite: str
    rows: int
    counted: int
    inside: int
    mean_abs_error_pct: float | None
    median_abs_error_pct: float | None
    p90_abs_error_pct: float | None
    bias_pct: float | None
    held_out_rows: int
    held_out_median_abs_error_pct: float | None
    apart_rows: int
    apart_median_abs_error_pct: float | None
    bound_pct: float
    bound_ok: bool
    by_table: tuple[SourceResult, ...]
    by_source: tuple[SourceResult, ...]
    per_row: tuple[RowResult, ...]
    judged: int = 0
    judged_inside: int = 0
    inside_over_50: int = 0
    cells: tuple[TableCell, ...] = ()
    by_collective: tuple[TableCell, ...] = ()
    by_technology: tuple[TableCell, ...] = ()
    skipped_rows: int = 0
    skipped: tuple[SkippedRow, ...] = ()


def validate_shipped(catalog: Catalog) -> SuiteResult:
    """Return how well the analytic engine predicts the shipped rows."""
    table = shipped_table()
    return validate_collectives(
        table.rows, catalog, skipped=table.skipped, bounds=shipped_bounds(), fit=left_out.FIT
    )


def validate_collectives(
    rows: Sequence[Measurement],
    catalog: Catalog,
    *,
    skipped: tuple[SkippedRow, ...] = (),
    bounds: Mapping[CellKey, CellBound] | None = None,
    fit: Refit | None = None,
) -> SuiteResult:
    """Return how well the analytic engine predicts *rows*, on parts of *catalog*.

    Rows whose status is not ``ok``, rows that leave out what decides their speed, and rows whose
    own source calls them anomalous are predicted too, but reported apart; so are rows that cannot
    be predicted, for the catalogue does not have the machine.

    Args:
        rows: What was measured.
        catalog: Where the machines are from.
        skipped: What could not be read, for the record.
        bounds: What cells are held to; the goals by default. A file of a single machine is about
            that machine, and all its cells are held.
        fit: Refits the model without a machine, for the column of machines left out.
    """
    results = tuple(_score(row, catalog) for row in rows)
    counted = [row for row in results if row.counted]
    apart = [row for row in results if not row.counted]
    held_out = [row for row in counted if not row.fitted]
    tables = _split(counted, lambda row: row.table)
    judged = [row for row in results if row.judged]
    celled = [row for row in judged if _is_in_cells(row)]
    unseen = () if fit is None else _left_out(rows, catalog, fit)
    table = partial(
        cells_of,
        celled,
        bounds=bounds or {key: goal_of(key) for key in GOALS},
        min_machines=min(MIN_MACHINES, len({row.machine for row in celled})),
        left_out=unseen,
    )
    cells = table()
    inside = [row for row in celled if row.inside]
    return SuiteResult(
        suite="collectives",
        rows=len(results),
        counted=len(counted),
        inside=sum(row.inside for row in counted),
        mean_abs_error_pct=mean(_errors(counted)) if counted else None,
        median_abs_error_pct=_median_or_none(counted),
        p90_abs_error_pct=_quantile(_errors(counted), 0.9),
        bias_pct=_bias(counted) if counted else None,
        held_out_rows=len(held_out),
        held_out_median_abs_error_pct=_median_or_none(held_out),
        apart_rows=len(apart),
        apart_median_abs_error_pct=_median_or_none(apart),
        bound_pct=BOUND_PCT,
        bound_ok=bool(judged) and _is_within(cells, tables),
        by_table=tables,
        by_source=_split(held_out, _source_key),
        per_row=results,
        judged=len(celled),
        judged_inside=len(inside),
        inside_over_50=sum(error > FAR_OFF_PCT for error in _errors(inside)),
        cells=cells,
        by_collective=table(key_of=_collective),
        by_technology=table(key_of=_technology),
        skipped_rows=len(skipped),
        skipped=skipped,
    )


def _is_within(cells: Sequence[TableCell], tables: Sequence[SourceResult]) -> bool:
    older = [table for table in tables if table.source in BOUND_TABLES]
    return all(cell.bound_ok for cell in cells) and all(
        table.median_abs_error_pct <= BOUND_PCT for table in older
    )


def _is_in_cells(row: RowResult) -> bool:
    """Return whether a judged row stands in the table of cells: no constant was taken from it."""
    return not row.fitted and row.table != _APART_TABLE


def _left_out(rows: Sequence[Measurement], catalog: Catalog, fit: Refit) -> tuple[RowResult, ...]:
    scored = left_out.each_left_out(rows, catalog, fit, _score)
    return tuple(row for row in scored if row.judged and _is_in_cells(row))


def _collective(row: CellRow) -> str:
    return row.collective


def _technology(row: CellRow) -> str:
    assert isinstance(row, RowResult), row
    return row.technology or row.node


def _score(row: Measurement, catalog: Catalog) -> RowResult:
    try:
        return _predicted(row, case_of(row, catalog))
    except NetloomError as error:
        return _unpredicted(row, str(error))


def _unpredicted(row: Measurement, reason: str) -> RowResult:
    return RowResult(
        row_id=row.row_id,
        table=row.table,
        source=row.source,
        collective=row.kind.value,
        gpu=row.gpu,
        num_nodes=row.num_nodes or 0,
        num_ranks=row.num_ranks,
        size_bytes=row.size_bytes,
        measured_gbps=row.bus_gbps,
        predicted_gbps=None,
        error_pct=None,
        algorithm="",
        protocol="",
        counted=False,
        fitted=False,
        inside=False,
        reason=f"Not predicted: {reason}.",
        machine=machine_of(row),
    )


def _predicted(row: Measurement, case: MeasuredCase) -> RowResult:
    forced = algorithm_called(row.algorithm)
    run = TestRun(kind=row.kind, group=case.collective.group, network=case.network)
    outcome = outcome_of(run, case.collective.size_bytes, forced)
    predicted = bus_gbps(outcome)
    unmodelled = f"The algorithm {row.algorithm!r} is not modelled; the library's choice assumed."
    unsure = (unmodelled,) if row.algorithm and forced is None else ()
    apart = _apart(row, (*case.assumed, *unsure))
    size_bytes = case.collective.size_bytes
    small = () if size_bytes >= _SMALLEST_BYTES else ("Under 1 MiB.",)
    group = case.collective.group
    return RowResult(
        row_id=row.row_id,
        table=row.table,
        source=row.source,
        collective=row.kind.value,
        gpu=row.gpu,
        num_nodes=group.num_nodes,
        num_ranks=row.num_ranks,
        size_bytes=size_bytes,
        measured_gbps=row.bus_gbps,
        predicted_gbps=predicted,
        error_pct=100 * (predicted / row.bus_gbps - 1),
        algorithm=outcome.algorithm,
        protocol=outcome.protocol,
        counted=not (apart or small),
        fitted=_is_fitted(row),
        inside=outcome.validity.inside,
        reason=" ".join((*apart, *small, *outcome.validity.doubts)),
        judged=not apart,
        machine=machine_of(row),
        technology=case.network.technology.name if group.num_nodes > 1 else "",
        node=case.network.node.name,
    )


def _apart(row: Measurement, assumed: tuple[str, ...]) -> tuple[str, ...]:
    """Return why *row* is not judged; empty when it is."""
    size = row.size_bytes or _SMALLEST_BYTES
    status = (f"Status {row.status}: not judged.",) if row.status not in {"", "ok"} else ()
    below = re.search(r"anomaly below (\d{1,9})\s*MiB", row.notes)
    odd = below is not None and size < int(below[1]) * 2**20
    return (*status, *(("Its source calls it an anomaly.",) if odd else ()), *assumed)


def _is_fitted(row: Measurement) -> bool:
    """Return whether a constant in engines.analytic.profile was taken from this row."""
    size = row.size_bytes or 0.0
    if "vTrain" in row.source:
        return row.num_ranks == 2
    if "dgxc-benchmarking" in row.source:
        return size >= _SMALLEST_BYTES
    peak = "ml-engineering" in row.source and "A100" in row.gpu and size >= 2.0**34
    return peak or ("ml-engineering" in row.source and "MI300X" in row.gpu and row.num_ranks == 2)


def _split(
    rows: Sequence[RowResult], key_of: Callable[[RowResult], str]
) -> tuple[SourceResult, ...]:
    found = []
    for key, group in groupby(sorted(rows, key=key_of), key=key_of):
        some = list(group)
        bias = _bias(some)
        found.append(
            SourceResult(
                source=key,
                rows=len(some),
                median_abs_error_pct=median(_errors(some)),
                bias_pct=bias,
            )
        )
    return tuple(found)


def _source_key(row: RowResult) -> str:
    nodes = "" if row.num_nodes == 1 else f", {row.num_nodes} nodes"
    return f"{row.source}: {row.collective}, {row.gpu}{nodes}"


def _errors(rows: Sequence[RowResult]) -> list[float]:
    """Return the absolute errors of the rows that could be predicted."""
    return [abs(row.error_pct) for row in rows if row.error_pct is not None]


def _bias(rows: Sequence[RowResult]) -> float:
    return mean(row.error_pct for row in rows if row.error_pct is not None)


def _median_or_none(rows: Sequence[RowResult]) -> float | None:
    errors = _errors(rows)
    return median(errors) if errors else None


def _quantile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least *share* of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else None
