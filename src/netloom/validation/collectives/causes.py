"""Score how often the cause of a slow collective is named, on logs whose source says what it was.

The sources are rows that are marked ``untuned`` for their own source calls the setting wrong, logs
of a cluster in which something was wrong (``collectives_suspect.csv``), and single values that were
posted with their cause (``collectives_posted.csv``). Rows of status ``ok`` say how often a cluster
is blamed that nothing is known to be wrong with.
"""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING, Final

from netloom.engines.base import bus_factor
from netloom.errors import NetloomError
from netloom.formats.benchmarks.nccl_run import DIP
from netloom.study.expect.curve import TestRun, expected
from netloom.study.expect.diagnosis import MeasuredPoint, diagnose
from netloom.validated.collectives import collective_groups
from netloom.validation.collectives.machines import machine_of, with_machines
from netloom.validation.collectives.measured import case_of, read_measurement
from netloom.validation.collectives.tables import shipped_rows
from netloom.workload.collective import Collective

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.parts.load import Catalog
    from netloom.validation.collectives.measurement import Measurement

__all__ = [
    "DiagnosedLog",
    "blamed",
    "diagnosed",
    "listed_right",
    "named_right",
    "untuned_logs",
    "wrong_logs",
]

_LISTED: Final = 0.1
OTHER: Final = "other"  # a cause that is none of the known signatures


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosedLog:
    """One log, or one curve of it.

    Attributes:
        truth: The cause as the source says; empty where nothing is wrong, ``other`` where it is
            none that netloom knows.
        verdict: Of the diagnosis.
        named: The cause that was named; empty where none was.
        listed: Causes of a probability of 10 % and more.
        inside: Whether most of its sizes are inside what was validated.
    """

    cluster: str
    collective: str
    num_nodes: int
    num_rows: int
    truth: str
    verdict: str
    named: str
    listed: tuple[str, ...]
    how: str
    probability: float | None
    inside: bool

    @property
    def is_right(self) -> bool:
        """Whether the stated cause was named."""
        return bool(self.truth) and self.named == self.truth


def untuned_logs(catalog: Catalog, *, min_bytes: float = 0.0) -> tuple[DiagnosedLog, ...]:
    """Return the shipped logs whose own source calls the setting wrong.

    Args:
        catalog: The parts.
        min_bytes: Look at sizes from here on. The start-up of sockets was taken from rows under
            1 MiB of these very logs, their rate was not.
    """
    rows = [row for row in shipped_rows() if row.status == "untuned"]
    return diagnosed([row for row in rows if (row.size_bytes or 0) >= min_bytes], catalog)


def wrong_logs(catalog: Catalog) -> tuple[DiagnosedLog, ...]:
    """Return the logs that were posted because something was wrong."""
    posted, truths = _table("collectives_posted.csv")
    suspect, _ = _table("collectives_suspect.csv")
    found = [
        replace(one, truth=truth)
        for row, truth in zip(posted, truths, strict=True)
        for one in diagnosed((row,), catalog)
    ]
    return (*found, *diagnosed([_at_full_rate(row) for row in suspect], catalog))


def blamed(catalog: Catalog, *, left_out: bool = False) -> tuple[DiagnosedLog, ...]:
    """Return the logs of status ``ok``; with *left_out* the intervals do not know their machine."""
    rows = [row for row in shipped_rows() if row.status == "ok"]
    return diagnosed(rows, catalog, left_out=left_out)


def listed_right(logs: Iterable[DiagnosedLog]) -> int:
    """Return how many of *logs* have their stated cause among those of 10 % and more."""
    return sum(bool(one.truth) and one.truth in one.listed for one in logs)


def named_right(logs: Iterable[DiagnosedLog]) -> int:
    """Return how many of *logs* have their stated cause named."""
    return sum(one.is_right for one in logs)


def diagnosed(
    rows: Iterable[Measurement], catalog: Catalog, *, left_out: bool = False
) -> tuple[DiagnosedLog, ...]:
    """Return what is wrong with each curve of *rows*, on the network as it was designed."""
    curves: defaultdict[tuple[object, ...], list[Measurement]] = defaultdict(list)
    for row in rows:
        if row.size_bytes:
            key = (row.cluster, row.kind, row.num_nodes, row.num_ranks, row.technology, row.notes)
            curves[*key, row.algorithm].append(row)
    found = (_diagnosed(curve, catalog, left_out=left_out) for curve in curves.values())
    return tuple(one for one in found if one is not None)


def _diagnosed(
    rows: Sequence[Measurement], catalog: Catalog, *, left_out: bool
) -> DiagnosedLog | None:
    """Return the diagnosis of one curve; None where the machine cannot be predicted."""
    ordered = sorted(rows, key=lambda row: row.size_bytes or 0.0)
    first = _designed(ordered[0])
    try:
        case = case_of(first, catalog)
    except NetloomError:
        return None
    run = TestRun(kind=first.kind, group=case.collective.group, network=case.network)
    known = collective_groups()
    groups = [one for one in known if not left_out or one.machine != machine_of(first)]
    points = expected(run, [row.size_bytes or 0.0 for row in ordered], groups=groups)
    result = diagnose(run, points, _measured(run, ordered), catalog=catalog)
    cause = result.named
    return DiagnosedLog(
        cluster=first.cluster,
        collective=first.kind.value,
        num_nodes=case.collective.group.num_nodes,
        num_rows=len(ordered),
        truth=_truth(ordered[0]),
        verdict=result.verdict,
        named="" if cause is None else cause.name,
        listed=tuple(one.name for one in result.causes if one.probability >= _LISTED),
        how="" if cause is None else cause.how,
        probability=None if cause is None else cause.probability,
        inside=2 * sum(one.inside for one in points) >= len(points),
    )


def _measured(run: TestRun, rows: Sequence[Measurement]) -> list[MeasuredPoint]:
    """Return *rows*, ascending, with dips marked as the reader of logs marks them."""
    found: list[MeasuredPoint] = []
    quickest_s = math.inf
    for row in reversed(rows):
        size = row.size_bytes or 0.0
        asked = Collective(kind=run.kind, size_bytes=size, group=run.group)
        time_s = bus_factor(asked) * size / row.bus_gbps / 1e9
        dip = time_s >= DIP * quickest_s
        found.append(MeasuredPoint(size_bytes=size, time_s=time_s, bus_gbps=row.bus_gbps, dip=dip))
        quickest_s = min(quickest_s, time_s)
    return found[::-1]


def _truth(row: Measurement) -> str:
    """Return what the row's own source says was wrong."""
    if row.status == "ok":
        return ""
    said = f"{row.technology} {row.scale_out} {row.notes}".upper()
    return "sockets" if "TCP" in said and "TCPX" not in said else OTHER


def _designed(row: Measurement) -> Measurement:
    """Return *row* on the network that it should have run over, as its source names it."""
    said = row.scale_out.upper()
    if "TCP" not in row.technology.upper() or "TCPX" in row.technology.upper():
        return row
    if "SLINGSHOT" in said:
        return replace(row, technology="Slingshot-11", scale_out="Slingshot-11")
    return replace(row, technology="InfiniBand", scale_out="InfiniBand") if "IPOIB" in said else row


def _at_full_rate(row: Measurement) -> Measurement:
    """Return a row of the suspect cluster as its GPUs are sold: a NIC of 400 Gb/s each."""
    return replace(row, scale_out="InfiniBand", technology="InfiniBand", num_nics=8, nic_gbps=400.0)


def _table(name: str) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    folder = resources.files("netloom.validation.collectives")
    text = folder.joinpath("data", name).read_text("utf-8")
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    rows = [read_measurement(line, at, where=name) for at, line in enumerate(lines, start=1)]
    return with_machines(rows), tuple(line.get("cause") or "" for line in lines)
