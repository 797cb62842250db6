"""Jobs: step times, NCCL's log, nccl-tests, flight recorders; all from files they write."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.drivers.follow import Position, follow
from netloom.errors import LabError
from netloom.formats.benchmarks import nccl_tests
from netloom.formats.nccl import log as nccl_log
from netloom.formats.traces import flight_recorder, step_times
from netloom.ops.observe.observation import Event, Observation, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from netloom.formats.benchmarks.results import CollectiveTiming
    from netloom.formats.nccl.log import NcclWarning
    from netloom.formats.traces.flight_recorder import Dump

__all__ = ["FlightRecorders", "NcclLogFile", "NcclTestsFile", "StepTimeCollector", "job_of"]

MAX_FILES: Final = 65_536
MAX_BYTES: Final = 64 * 2**20
MAX_EVENTS: Final = 2000  # of one look


def job_of(path: Path) -> str:
    """Return what the job that writes *path* is called: ``job:`` and the file's name."""
    name = path.name.partition(".")[0] or path.name
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)
    return f"job:{plain[:64] or 'job'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeCollector:
    """A file of step times that grows, JSON lines or CSV with a heading."""

    path: Path

    @property
    def source(self) -> str:
        """Its name."""
        return f"steps {self.path}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Read the steps written since."""
        grown = follow(self.path, Position.from_text(cursor))
        found = step_times.parse_step_times(grown.text, heading=grown.position.state)
        job = job_of(self.path)
        seen = [
            Observation(
                # A microsecond apart, so that steps read together stay apart.
                row.time_s if row.time_s is not None else time_s + index * 1e-6,
                f"{job}/rank:{row.rank}",
                "step_s",
                row.step_s,
            )
            for index, row in enumerate(found.rows)
        ]
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=seen,
            cursor=replace(grown.position, state=found.heading[:1000]).to_text(),
            error=f"{found.num_odd} lines are no step times" if found.num_odd else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclLogFile:
    """A log of NCCL that grows: its warnings are events."""

    path: Path

    @property
    def source(self) -> str:
        """Its name."""
        return f"nccl-log {self.path}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Read what was logged since."""
        grown = follow(self.path, Position.from_text(cursor))
        log = nccl_log.parse_log(grown.text)
        job = job_of(self.path)
        events = [
            Event(
                time_s=time_s if one.time_s is None else one.time_s,
                part=f"{job}/host:{one.host}",
                kind="nccl-completion-error" if one.peer else "nccl-warning",
                text=_said(one),
                key=f"{grown.position.inode}:{grown.start}:{one.line}",
            )
            for one in log.warnings[:MAX_EVENTS]
        ]
        return Reading(
            source=self.source,
            time_s=time_s,
            events=events,
            cursor=grown.position.to_text(),
        )


def _said(warning: NcclWarning) -> str:
    about = f"{warning.adapter} to {warning.peer}: {warning.status}; " if warning.peer else ""
    return f"{about}{warning.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTestsFile:
    """What nccl-tests printed or wrote with ``-J``; read when it is new or has changed."""

    path: Path

    @property
    def source(self) -> str:
        """Its name."""
        return f"nccl-tests {self.path}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Read the file, unless it is as it was."""
        data = _whole(self.path)
        now = hashlib.sha256(data).hexdigest()
        if now == cursor:
            return Reading(source=self.source, time_s=time_s, cursor=cursor)
        job = job_of(self.path)
        seen: list[Observation] = []
        log = nccl_tests.parse(data.decode("utf-8", errors="replace"))
        for test in log.tests:
            for row in test.timings:
                part = f"{job}/{test.called or 'collective'}:{_place_of(row)}"
                seen += _observations(time_s, part, row)
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=seen,
            cursor=now,
            error=str(log.bad) if log.bad else "",
        )


def _place_of(row: CollectiveTiming) -> str:
    return f"{row.dtype}:{row.size_bytes}:{'in-place' if row.in_place else 'out-of-place'}"


def _observations(time_s: float, part: str, row: CollectiveTiming) -> Iterable[Observation]:
    yield Observation(time_s, part, "collective_s", row.time_s)
    if row.bus_bps is not None:
        yield Observation(time_s, part, "bus_bandwidth_bps", row.bus_bps)
    if row.num_wrong is not None:
        yield Observation(time_s, part, "wrong_values", float(row.num_wrong))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightRecorders:
    """A folder with the dumps of all ranks, read again when any of them has changed."""

    folder: Path

    @property
    def source(self) -> str:
        """Its name."""
        return f"flight-recorder {self.folder}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Read the dumps, unless they are as they were."""
        files = self._files()
        stamps = "\n".join(f"{p.name} {p.stat().st_mtime_ns} {p.stat().st_size}" for p in files)
        now = hashlib.sha256(stamps.encode(errors="surrogateescape")).hexdigest()
        if now == cursor:
            return Reading(source=self.source, time_s=time_s, cursor=cursor)
        dumps, wrong = _dumps(files)
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=list(self._progress(dumps, time_s)),
            events=list(self._laggards(dumps, time_s))[:MAX_EVENTS],
            cursor=now,
            error="; ".join(wrong[:3]),
        )

    def _files(self) -> list[Path]:
        try:
            found = sorted(path for path in self.folder.iterdir() if path.is_file())
        except OSError as error:
            raise LabError(
                file=str(self.folder), what=f"cannot be read ({error.strerror})"
            ) from error
        return [path for path in found if flight_recorder.rank_of(path.name) is not None][
            :MAX_FILES
        ]

    def _progress(self, dumps: dict[int, Dump], time_s: float) -> Iterable[Observation]:
        job = job_of(self.folder)
        for rank, dump in sorted(dumps.items()):
            for name, group in dump.groups.items():
                part = f"{job}/rank:{rank}/group:{name}"
                yield Observation(time_s, part, "last_collective", float(max(0, group.completed)))

    def _laggards(self, dumps: dict[int, Dump], time_s: float) -> Iterable[Event]:
        job = job_of(self.folder)
        for one in flight_recorder.lagging(dumps):
            what = one.name or "a collective"
            yield Event(
                time_s=time_s,
                part=f"{job}/rank:{one.rank}",
                kind="lagging-rank",
                text=f"rank {one.rank} has not called {what} number {one.sequence} of group "
                f"{one.group}; {one.num_waiting} ranks have",
                key=f"{one.group}:{one.sequence}:{one.rank}",
            )


def _dumps(files: list[Path]) -> tuple[dict[int, Dump], list[str]]:
    """Return the dumps by rank, and what was wrong with those that are none."""
    dumps: dict[int, Dump] = {}
    wrong: list[str] = []
    for path in files:
        rank = flight_recorder.rank_of(path.name)
        assert rank is not None
        try:
            dumps[rank] = flight_recorder.parse_dump(_whole(path))
        except LabError as error:
            wrong.append(f"{path.name}: {error}")
    return dumps, wrong


def _whole(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        raise LabError(file=str(path), what=f"cannot be read ({error.strerror})") from error
