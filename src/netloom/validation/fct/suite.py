"""Score the packet engine against published flow completion times.

Two kinds: slowdown curves on the HPCC authors' fat tree (`validate_fct_hpcc`), for any table in the
columns of theirs, and single numbers of other sources (`validate_fct_cases`).
"""

from __future__ import annotations

import csv
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from statistics import mean, median
from threading import Event
from typing import TYPE_CHECKING, Final, TypeVar

from netloom.errors import SpecError
from netloom.spec.files import read_text
from netloom.validation.fct.cases import run_case
from netloom.validation.fct.hpcc import SCHEMES, WORKLOADS, TreeCase, run_tree
from netloom.validation.fct.rows import (
    CurveKey,
    FctCurve,
    FctPoint,
    FctRow,
    case_row,
    curve_of,
    curve_rows,
    curves_of,
    pairs_in_order,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from netloom.engines.packet import Progress
    from netloom.validation.fct.cases import FctCase
    from netloom.validation.fct.hpcc import Finished

__all__ = [
    "FctGroup",
    "FctSuite",
    "curves_min",
    "num_jobs",
    "read_points",
    "shipped_points",
    "validate_fct",
]

S = TypeVar("S")
T = TypeVar("T")
_COLUMNS: Final = (
    "workload",
    "load_pct",
    "fct_percentile",
    "scheme",
    "flow_size_cdf_percentile",
    "slowdown",
)
_LARGEST_FILE_BYTES: Final = 16 * 2**20
_MS: Final = 1_000_000_000
# At half load and over; at less as long as it takes for as many flows. A busy host stays busy for
# milliseconds: over ten parts of 9 ms of one run of 100, p95 of a tenth has a standard deviation of
# 3 to 10 %. FB_Hadoop's flows, and with them such times, are shorter.
_STOP_PS: Final = {"wb": 20 * _MS, "fb": 8 * _MS}
_HALF_PCT: Final = 50
_MAX_LOAD_PCT: Final = 80  # with headers and acknowledgements the network is full beyond
_SEED: Final = 1
_PACKET_S: Final = 3.2e-6  # of a core: FB_Hadoop at 50 and WebSearch at 70 %, four runs


@dataclass(frozen=True, slots=True, kw_only=True)
class FctGroup:
    """The counted rows of one curve or source."""

    name: str
    rows: int
    within: int
    median_abs_error_pct: float
    most_abs_error_pct: float
    bias_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FctSuite:
    """What the suite found; errors are over the counted rows inside.

    Attributes:
        within: Rows that keep their tolerance.
        pairs: Of schemes, tenth by tenth, that the publication tells apart by more than the
            tolerance.
        pairs_in_order: Of these, how many the runs put in the same order.
        bound_ok: Whether some row counts, every counted row inside keeps its bound, and every pair
            is in order.
    """

    suite: str
    rows: int
    inside: int
    within: int
    mean_abs_error_pct: float | None
    median_abs_error_pct: float | None
    p90_abs_error_pct: float | None
    most_abs_error_pct: float | None
    bias_pct: float | None
    pairs: int
    pairs_in_order: int
    bound_ok: bool
    groups: tuple[FctGroup, ...]
    per_row: tuple[FctRow, ...]
    curves: tuple[FctCurve, ...]


def shipped_points() -> tuple[FctPoint, ...]:
    """Return the HPCC authors' curves."""
    name = "hpcc_fct_slowdown.csv"
    text = resources.files("netloom.validation.fct").joinpath("data", name).read_text("utf-8")
    return _parse(text, where=name)


def read_points(path: Path) -> tuple[FctPoint, ...]:
    """Return the points of a CSV file in the columns of the shipped table.

    Raises:
        SpecError: the file cannot be read, is too large, or a row is wrong.
    """
    text = read_text(path, max_bytes=_LARGEST_FILE_BYTES, wanted="a CSV table of slowdowns")
    points = _parse(text, where=path.name)
    if not points:
        raise SpecError(
            file=str(path),
            what="has no rows",
            remedy="the first line names the columns, then one row a point",
        )
    return points


def _parse(text: str, *, where: str) -> tuple[FctPoint, ...]:
    reader = csv.DictReader(text.splitlines())
    missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise SpecError(
            what=f"{where}: has no column {missing[0]!r}",
            remedy=f"the columns are {', '.join(_COLUMNS)}",
        )
    return tuple(_point(row, where=f"{where}:{reader.line_num}") for row in reader)


def _point(row: Mapping[str, str | None], *, where: str) -> FctPoint:
    names = {name: name for name in WORKLOADS} | {own: name for name, own in WORKLOADS.items()}
    workload = _name(row, "workload", names, where)
    scheme = _name(row, "scheme", {name: name for name in SCHEMES}, where)
    return FctPoint(
        workload=workload,
        load_pct=_whole(row, "load_pct", _MAX_LOAD_PCT, where),
        fct_percentile=_whole(row, "fct_percentile", 99, where),
        scheme=scheme,
        size_percentile=round(_number(row, "flow_size_cdf_percentile", 1, 100, where)),
        slowdown=_number(row, "slowdown", 0.9, 1e6, where),
    )


def _name(row: Mapping[str, str | None], column: str, known: Mapping[str, str], where: str) -> str:
    """Return what is known by the name in *column*, however it is spelt in capitals."""
    value = (row[column] or "").strip()
    found = {name.casefold(): meant for name, meant in known.items()}.get(value.casefold())
    if found is None:
        raise SpecError(
            what=f"{where}: {column}: {value!r} is unknown", remedy=f"choose {', '.join(known)}"
        )
    return found


def _number(
    row: Mapping[str, str | None], name: str, least: float, most: float, where: str
) -> float:
    try:
        value = float(row[name] or "")
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        found = f"{where}: {name}: {row[name]!r}"
        raise SpecError(
            what=f"{found} is not a number from {least:g} to {most:g}", remedy="correct it"
        )
    return value


def _whole(row: Mapping[str, str | None], name: str, most: int, where: str) -> int:
    """Return a percentage: one that is not whole would be of another run or curve."""
    value = _number(row, name, 1, most, where)
    if value != round(value):
        raise SpecError(
            what=f"{where}: {name}: {row[name]!r} is no whole number",
            remedy=f"give one from 1 to {most}",
        )
    return round(value)


def num_jobs(points: Sequence[FctPoint], cases: Sequence[FctCase]) -> int:
    """Return how many runs `validate_fct` makes."""
    return len(_trees(points)) + len(cases)


def curves_min(points: Sequence[FctPoint]) -> float:
    """Return about how many minutes of a core the runs of *points* take."""
    host_bps, num_hosts, payload_bytes = 100e9, 320, 1000  # as validate_fct_hpcc has them
    packets = sum(
        num_hosts * host_bps * tree.load_pct / 100 * tree.stop_ps * 1e-12 / (8 * payload_bytes)
        for tree in _trees(points)
    )
    return packets * _PACKET_S / 60


def validate_fct(
    points: Sequence[FctPoint],
    cases: Sequence[FctCase] = (),
    *,
    num_workers: int = 1,
    on_progress: Callable[[int], None] = lambda _: None,
) -> FctSuite:
    """Return how near the packet engine comes to *points* and *cases*.

    Args:
        points: Of slowdown curves; one run for each workload, load and scheme.
        cases: Single numbers; one run each.
        num_workers: Threads that runs are spread over; the engine lets go of Python's lock.
        on_progress: Told of each percent of a run that is done; 100 for each of `num_jobs`.
    """
    trees = _trees(points)
    jobs = _Jobs(num_workers=num_workers, on_progress=on_progress, stopped=Event())
    runs = {_tree_key(tree): run for tree, run in zip(trees, jobs.curves(trees), strict=True)}
    numbers = jobs.numbers(cases)
    published = curves_of(points)
    rows = [
        row
        for key, curve in published.items()
        for row in curve_rows(key, curve, runs[_curve_run(key)])
    ]
    rows += [case_row(case, number) for case, number in zip(cases, numbers, strict=True)]
    curves = (curve_of(key, curve, runs[_curve_run(key)]) for key, curve in published.items())
    return _suite(rows, tuple(curves))


_Run = tuple[str, int, str]


def _tree_key(tree: TreeCase) -> _Run:
    return tree.workload, tree.load_pct, tree.scheme


def _curve_run(key: CurveKey) -> _Run:
    return key.workload, key.load_pct, key.scheme


def _trees(points: Iterable[FctPoint]) -> tuple[TreeCase, ...]:
    """Return the runs that *points* need, the longest first."""
    found = {
        TreeCase(
            workload=point.workload,
            load_pct=point.load_pct,
            scheme=point.scheme,
            stop_ps=_STOP_PS[point.workload] * _HALF_PCT // min(point.load_pct, _HALF_PCT),
        )
        for point in points
    }
    return tuple(sorted(found, key=lambda tree: (-tree.load_pct, tree.workload, tree.scheme)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Jobs:
    """Runs side by side, which end early when one fails or the user has enough."""

    num_workers: int
    on_progress: Callable[[int], None]
    stopped: Event

    def curves(self, trees: Sequence[TreeCase]) -> list[Finished]:
        def one(tree: TreeCase) -> Finished:
            return run_tree(tree, seed=_SEED, on_progress=self._told(tree))

        return self._all(one, trees)

    def numbers(self, cases: Sequence[FctCase]) -> list[float]:
        def one(case: FctCase) -> float:
            told = 0

            def tell(progress: Progress) -> bool:
                nonlocal told
                if case.expected_ps:
                    done = min(99, 100 * progress.simulated_ps // case.expected_ps)
                    self.on_progress(max(done - told, 0))
                    told = max(done, told)
                return not self.stopped.is_set()

            number = run_case(case, seed=_SEED, on_progress=tell)
            self.on_progress(100 - told)
            return number

        return self._all(one, cases)

    def _all(self, one: Callable[[S], T], subjects: Sequence[S]) -> list[T]:
        with ThreadPoolExecutor(self.num_workers) as pool:
            try:
                return list(pool.map(one, subjects))
            except BaseException:
                self.stopped.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _told(self, tree: TreeCase) -> Callable[[Progress], bool]:
        told = 0

        def tell(progress: Progress) -> bool:
            nonlocal told
            done = 100 * progress.simulated_ps // tree.stop_ps
            self.on_progress(done - told)
            told = done
            return not self.stopped.is_set()

        return tell


def _suite(rows: Sequence[FctRow], curves: tuple[FctCurve, ...]) -> FctSuite:
    judged = [row for row in rows if row.counted and row.inside]
    errors = sorted(abs(row.error_pct or 0.0) for row in judged)
    order = _order(rows)
    kept = all(abs(row.error_pct or 0.0) <= row.bound_pct for row in judged)
    return FctSuite(
        suite="fct",
        rows=len(rows),
        inside=len(judged),
        within=sum(row.within for row in judged),
        mean_abs_error_pct=mean(errors) if errors else None,
        median_abs_error_pct=median(errors) if errors else None,
        p90_abs_error_pct=errors[math.ceil(0.9 * len(errors)) - 1] if errors else None,
        most_abs_error_pct=errors[-1] if errors else None,
        bias_pct=mean(row.error_pct or 0.0 for row in judged) if judged else None,
        pairs=len(order),
        pairs_in_order=sum(order),
        bound_ok=bool(judged) and kept and all(order),
        groups=_groups(judged),
        per_row=tuple(rows),
        curves=curves,
    )


def _order(rows: Sequence[FctRow]) -> list[bool]:
    """Return whether schemes stand in the published order, pair by pair and tenth by tenth."""

    def place(row: FctRow) -> str:
        return " ".join(word for word in row.row_id.split() if word not in SCHEMES)

    curves = sorted((row for row in rows if row.unit == "slowdown"), key=place)
    found: list[bool] = []
    for _, some in groupby(curves, key=place):
        found += pairs_in_order(list(some))
    return found


def _groups(rows: Sequence[FctRow]) -> tuple[FctGroup, ...]:
    found = []
    for name, group in groupby(sorted(rows, key=lambda row: row.group), key=lambda row: row.group):
        some = list(group)
        errors = [row.error_pct or 0.0 for row in some]
        found.append(
            FctGroup(
                name=name,
                rows=len(some),
                within=sum(row.within for row in some),
                median_abs_error_pct=median(map(abs, errors)),
                most_abs_error_pct=max(map(abs, errors)),
                bias_pct=mean(errors),
            )
        )
    return tuple(found)
