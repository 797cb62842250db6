"""A network calibrated: its constants, what stays open, and errors before, after and left out."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from netloom.engines.base import bus_factor
from netloom.errors import SpecError
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.calibrate.network import fit_network
from netloom.study.calibrate.open_constants import open_constants
from netloom.study.calibrate.series import without_repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.fabric.network import Network
    from netloom.study.calibrate.fitting import TimedCollective
    from netloom.study.calibrate.messages import TimedMessage
    from netloom.study.calibrate.network import FittedConstant, NetworkFit
    from netloom.study.calibrate.open_constants import OpenConstant

__all__ = ["CalibratedRow", "GroupErrors", "NetworkCalibration", "SkippedLines", "calibrated"]

_LARGE_BYTES: Final = 2.0**20  # from where on an error counts as that of bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedRow:
    """One measured collective, and what was predicted of it.

    Attributes:
        left_out_s: Predicted by constants that rows of its size had no part in.
        where: File and line.
    """

    collective: str
    num_nodes: int
    num_ranks: int
    size_bytes: float
    bus_factor: float
    measured_s: float
    before_s: float
    after_s: float
    left_out_s: float
    where: str

    def bus_bps(self, time_s: float) -> float:
        """Return the bus bandwidth at which it would take *time_s*."""
        return self.bus_factor * self.size_bytes * 8 / time_s

    def error_pct(self, predicted_s: float) -> float:
        """Return the error of the bus bandwidth, above 0 where it is predicted too fast."""
        return 100 * (self.measured_s / predicted_s - 1)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "collective": self.collective,
            "num_nodes": self.num_nodes,
            "num_ranks": self.num_ranks,
            "size_bytes": self.size_bytes,
            "measured_s": self.measured_s,
            "before_s": self.before_s,
            "after_s": self.after_s,
            "left_out_s": self.left_out_s,
            "where": self.where,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupErrors:
    """Median absolute errors of the bus bandwidth, in percent.

    Attributes:
        collective: Of which; empty for all.
        num_nodes: On how many nodes; 0 for all.
        large: Whether of messages of 1 MiB and more, or of smaller ones.
        left_out_pct: Of each size by constants that it had no part in.
    """

    collective: str
    num_nodes: int
    large: bool
    num_rows: int
    before_pct: float
    after_pct: float
    left_out_pct: float

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedLines:
    """Rows of a log that were not used.

    Attributes:
        file: The log.
        why: The reason they share.
        num_rows: How many.
    """

    file: str
    why: str
    num_rows: int

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {"file": self.file, "why": self.why, "num_rows": self.num_rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCalibration(Tabular):
    """What ``calibrate network`` found.

    Attributes:
        fit: The constants, and the parts that have them.
        open_constants: What stays as shipped.
        rows: Every collective between nodes, repeats together.
        errors: By collective and nodes; all together first.
        skipped: Rows that were not used.
        notes: What to know of the result.
        files: The logs.
        num_nodes: Of the cluster.
        catalog: The file that was written; empty for none.
    """

    fit: NetworkFit
    open_constants: tuple[OpenConstant, ...]
    rows: tuple[CalibratedRow, ...]
    errors: tuple[GroupErrors, ...]
    skipped: tuple[SkippedLines, ...]
    notes: tuple[str, ...]
    files: tuple[str, ...]
    num_nodes: int
    catalog: str = ""

    def table(self) -> Table:
        """Return the errors by collective and nodes."""
        return Table.from_rows([one.to_json() for one in self.errors])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "node": self.fit.node.name,
            "technology": self.fit.technology.name,
            "num_nodes": self.num_nodes,
            "files": list(self.files),
            "catalog": self.catalog,
            "constants": [_constant(one) for one in self.fit.constants],
            "ring_hops": [
                {"size_bytes": hop.size_bytes, "time_s": hop.time_s} for hop in self.ring_hops
            ],
            "open": [
                {"key": one.key, "why": one.why, "measure": one.measure}
                for one in self.open_constants
            ],
            "errors": [one.to_json() for one in self.errors],
            "skipped": [one.to_json() for one in self.skipped],
            "notes": list(self.notes),
            "rows": [row.to_json() for row in self.rows],
        }

    @property
    def ring_hops(self) -> tuple[Any, ...]:
        """The table of hops; empty where rows do not decide it."""
        costs = self.fit.technology.collectives
        return () if costs is None else costs.ring_hops


def _constant(one: FittedConstant) -> dict[str, Any]:
    return {
        "key": one.key,
        "kind": one.kind,
        "part": one.part,
        "value": one.value,
        "shipped": one.shipped,
        "num_rows": one.num_rows,
        "smallest_bytes": one.sizes[0],
        "largest_bytes": one.sizes[1],
    }


def calibrated(
    rows: Sequence[TimedCollective],
    messages: Sequence[TimedMessage],
    *,
    network: Network,
    num_nodes: int,
    files: Sequence[str],
    skipped: Sequence[SkippedLines] = (),
) -> NetworkCalibration:
    """Return the constants that *rows* and *messages* decide, with errors before and after.

    Args:
        rows: Collectives on one node and one technology.
        messages: What was measured between two ends.
        network: Of the cluster, as shipped.
        num_nodes: Of the cluster.
        files: The logs, for people.
        skipped: What was not used of them.

    Raises:
        SpecError: nothing at all is decided; it says why, and what to measure.
    """

    def fitted(some: Sequence[TimedCollective]) -> NetworkFit:
        return fit_network(some, num_nodes=num_nodes, network=network, messages=messages)

    between = without_repeats([row for row in rows if row.collective.group.num_nodes > 1])
    fit = fitted(between)
    missing = open_constants(between, fit, num_nodes=num_nodes)
    if not fit.constants:
        raise _nothing(missing, skipped)
    judged = _judged(between, fit, fitted)
    return NetworkCalibration(
        fit=fit,
        open_constants=missing,
        rows=judged,
        errors=_errors(judged),
        skipped=tuple(skipped),
        notes=_notes(rows, between, num_nodes),
        files=tuple(files),
        num_nodes=num_nodes,
    )


def _nothing(missing: Sequence[OpenConstant], skipped: Sequence[SkippedLines]) -> SpecError:
    first = missing[0]
    left = "".join(f"; {one.num_rows} rows of {one.file} not used: {one.why}" for one in skipped)
    return SpecError(
        what=f"the logs decide no constant: {first.key}: {first.why}{left}",
        remedy=f"run {first.measure}",
    )


def _judged(
    rows: Sequence[TimedCollective],
    fit: NetworkFit,
    fitted: Callable[[Sequence[TimedCollective]], NetworkFit],
) -> tuple[CalibratedRow, ...]:
    """Return each row with its predictions; of the third, its size had no part in the constants."""
    powers: defaultdict[int, list[TimedCollective]] = defaultdict(list)
    for row in rows:
        powers[_power(row)].append(row)
    found: list[CalibratedRow] = []
    for power in sorted(powers):
        others = [row for row in rows if _power(row) != power]
        without = fitted(others)
        found.extend(_judge(row, fit, without) for row in powers[power])
    return tuple(found)


def _power(row: TimedCollective) -> int:
    return round(math.log2(row.collective.size_bytes))


def _judge(row: TimedCollective, fit: NetworkFit, without: NetworkFit) -> CalibratedRow:
    collective = row.collective
    return CalibratedRow(
        collective=collective.kind.value,
        num_nodes=collective.group.num_nodes,
        num_ranks=collective.group.size,
        size_bytes=collective.size_bytes,
        bus_factor=bus_factor(collective),
        measured_s=row.time_s,
        before_s=row.predicted_s(),
        after_s=row.predicted_s(fit.on(row.network)),
        left_out_s=row.predicted_s(without.on(row.network)),
        where=row.where,
    )


def _errors(rows: Sequence[CalibratedRow]) -> tuple[GroupErrors, ...]:
    groups: defaultdict[tuple[str, int, bool], list[CalibratedRow]] = defaultdict(list)
    for row in rows:
        large = row.size_bytes >= _LARGE_BYTES
        groups["", 0, large].append(row)
        groups[row.collective, row.num_nodes, large].append(row)
    return tuple(_group(key, groups[key]) for key in sorted(groups))


def _group(key: tuple[str, int, bool], rows: Sequence[CalibratedRow]) -> GroupErrors:
    collective, num_nodes, large = key
    return GroupErrors(
        collective=collective,
        num_nodes=num_nodes,
        large=large,
        num_rows=len(rows),
        before_pct=median(abs(row.error_pct(row.before_s)) for row in rows),
        after_pct=median(abs(row.error_pct(row.after_s)) for row in rows),
        left_out_pct=median(abs(row.error_pct(row.left_out_s)) for row in rows),
    )


def _notes(
    rows: Sequence[TimedCollective], between: Sequence[TimedCollective], num_nodes: int
) -> tuple[str, ...]:
    inside = sum(row.collective.group.num_nodes == 1 for row in rows)
    counts = sorted({row.collective.group.num_nodes for row in between})
    said = []
    if inside:
        said.append(f"{inside} rows inside one node are not about the network and were not used.")
    if len(counts) == 1 and num_nodes > counts[0]:
        said.append(
            f"All rows are of {counts[0]} nodes; what {num_nodes} take follows from the model's"
            " form. A second node count shows how far it holds."
        )
    return tuple(said)
