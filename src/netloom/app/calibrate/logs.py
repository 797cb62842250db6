"""Logs of measuring programs, as rows that a network can be calibrated by."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from netloom.errors import LabError, SpecError
from netloom.formats.benchmarks import iperf3, nccl_tests, osu, perftest, sockperf
from netloom.formats.nccl.setup import parse_setup
from netloom.study.calibrate.calibration import SkippedLines
from netloom.study.calibrate.cluster import ClusterFacts
from netloom.study.calibrate.messages import TimedMessage
from netloom.workload.collective import CollectiveKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from netloom.formats.benchmarks.results import CollectiveTiming, PointToPoint, PointToPointLog
    from netloom.formats.log_lines import LogSource
    from netloom.formats.nccl.setup_facts import NcclSetup

__all__ = ["LoggedTiming", "NetworkLogs", "read_logs"]

Parsed = TypeVar("Parsed")
_ONE_WAY: Final = frozenset({"write", "send", "mpi", "tcp", "udp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTiming:
    """One measured collective of a log; *num_hosts* is 0 where the log does not say."""

    collective: str
    size_bytes: int
    time_s: float
    num_ranks: int
    num_hosts: int
    where: str


@dataclass(slots=True, kw_only=True)
class NetworkLogs:
    """What some logs hold.

    Attributes:
        timings: Collectives, those with wrong values and dips apart.
        messages: Between two ends.
        skipped: What was not used, and why.
        facts: What they say of the cluster.
        versions: Of the library.
    """

    timings: list[LoggedTiming] = field(default_factory=list)
    messages: list[TimedMessage] = field(default_factory=list)
    skipped: list[SkippedLines] = field(default_factory=list)
    facts: ClusterFacts = field(default_factory=ClusterFacts)
    versions: set[str] = field(default_factory=set)

    @property
    def num_rows(self) -> int:
        """Rows of all kinds."""
        skipped = sum(one.num_rows for one in self.skipped)
        return len(self.timings) + len(self.messages) + skipped

    def skip(self, path: Path, why: str, num_rows: int = 1) -> None:
        """Count rows that are not used; those of a file and a reason together."""
        for at, one in enumerate(self.skipped):
            if (one.file, one.why) == (path.name, why):
                self.skipped[at] = replace(one, num_rows=one.num_rows + num_rows)
                return
        self.skipped.append(SkippedLines(file=path.name, why=why, num_rows=num_rows))


def read_logs(paths: Sequence[Path]) -> NetworkLogs:
    """Return what the logs at *paths* hold.

    Raises:
        SpecError: one cannot be read, or holds no measurement.
    """
    found, setups, gpus = NetworkLogs(), [], Counter[tuple[str, int]]()
    for path in paths:
        seen = _markers_in(path)
        before = found.num_rows
        setup = _parsed(path, parse_setup) if "NCCL " in seen else None
        if setup is not None:
            setups.append(setup)
        if _NCCL_TESTS & seen:
            _take_nccl_tests(found, path, setup, gpus)
        if "OSU " in seen:
            _take_osu(found, path, setup)
        for markers, parse in _BETWEEN_ENDS:
            if not seen.isdisjoint(markers):
                _take_points(found, path, parse)
        if found.num_rows == before and setup is None:
            raise SpecError(
                file=str(path),
                what="holds no measurement that netloom reads",
                remedy="docs/runs/logs.md lists the programs",
            )
    found.facts = _facts(setups, gpus)
    found.versions.update(one.version for one in setups if one.version)
    return found


def _markers_in(path: Path) -> frozenset[str]:
    """Return which words of the programs stand in a file, however long it is."""
    wanted, seen, rest = set(_MARKERS), set(), ""
    with _opened(path) as log:
        while wanted and (chunk := log.read(_CHUNK_CHARS)):
            text = rest + chunk
            here = {marker for marker in wanted if marker in text}
            seen |= here
            wanted -= here
            rest = text[-_LONGEST_MARKER:]
    return frozenset(seen)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8", errors="replace") as log:
            yield log
    except OSError as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error.strerror})", remedy="name a log"
        ) from error


def _parsed(path: Path, parse: Callable[[LogSource], Parsed]) -> Parsed | None:
    """Return what a reader finds in a file; None where that is nothing of its own."""
    with _opened(path) as log:
        try:
            return parse(log)
        except LabError:
            return None


def _take_nccl_tests(
    found: NetworkLogs, path: Path, setup: NcclSetup | None, gpus: Counter[tuple[str, int]]
) -> None:
    log = _parsed(path, nccl_tests.parse)
    if log is None:
        return
    if log.bad:
        found.skip(path, f"cut or contradict themselves ({log.bad})", log.bad.num)
    for test in log.tests:
        hosts = test.num_nodes or (setup.num_nodes if setup is not None else 0)
        ranks = test.num_ranks or (setup.num_ranks if setup is not None else 0)
        if test.version:
            found.versions.add(test.version)
        if test.ranks and hosts:
            gpus[test.ranks[0].gpu, -(-ranks // hosts)] += 1
        for timing in test.timings:
            _take_timing(found, path, timing, ranks=ranks, hosts=hosts)


def _take_timing(
    found: NetworkLogs, path: Path, timing: CollectiveTiming, *, ranks: int, hosts: int
) -> None:
    why = _why_not(timing, ranks)
    if why:
        found.skip(path, why)
        return
    found.timings.append(
        LoggedTiming(
            collective=timing.collective,
            size_bytes=timing.size_bytes,
            time_s=timing.time_s,
            num_ranks=ranks,
            num_hosts=hosts,
            where=f"{path.name}:{timing.line}",
        )
    )


def _why_not(timing: CollectiveTiming, ranks: int) -> str:
    """Return why a row tells nothing of a network; empty where it does."""
    empty = timing.size_bytes <= 0 or timing.time_s <= 0
    called = timing.collective
    reasons = (
        (bool(timing.num_wrong), "wrong values (#wrong above 0)"),
        (timing.dip, "slower than a larger message of the same test, as before warm-up"),
        (not called, "the log does not say which collective it is"),
        (called not in set(CollectiveKind), f"{called} is not calibrated by"),
        (not ranks, "the log does not say how many ranks took part"),
        (ranks == 1, "a single rank moves nothing"),
        (empty, "no bytes or no time"),
    )
    return next((why for holds, why in reasons if holds), "")


def _take_osu(found: NetworkLogs, path: Path, setup: NcclSetup | None) -> None:
    log = _parsed(path, osu.parse)
    if log is None:
        return
    if log.bad:
        found.skip(path, f"cut or contradict themselves ({log.bad})", log.bad.num)
    for timing in log.collectives:
        ranks = timing.num_ranks
        size_bytes = osu.nccl_size_bytes(timing, ranks) if ranks else timing.size_bytes
        hosts = timing.num_nodes or (setup.num_nodes if setup is not None else 0)
        counted = replace(timing, size_bytes=size_bytes)
        _take_timing(found, path, counted, ranks=ranks, hosts=hosts)
    for point in log.points:
        _take_point(found, path, point)


def _take_points(
    found: NetworkLogs, path: Path, parse: Callable[[LogSource], PointToPointLog]
) -> None:
    log = _parsed(path, parse)
    if log is None:
        return
    if log.bad:
        found.skip(path, f"cut or contradict themselves ({log.bad})", log.bad.num)
    for point in log.rows:
        _take_point(found, path, point)


def _take_point(found: NetworkLogs, path: Path, point: PointToPoint) -> None:
    if point.latency_s is not None and point.operation not in _ONE_WAY:
        found.skip(path, f"the latency of a {point.operation} is there and back")
        return
    rate_bps = point.rate_bps
    if rate_bps is not None and point.bidirectional:
        rate_bps /= 2
    found.messages.append(
        TimedMessage(
            program=point.program,
            size_bytes=point.size_bytes,
            latency_s=point.latency_s,
            rate_bps=rate_bps,
            where=f"{path.name}:{point.line}",
        )
    )


def _facts(setups: Sequence[NcclSetup], gpus: Counter[tuple[str, int]]) -> ClusterFacts:
    """Return what most tests and the first setup that knows it say of the cluster."""
    gpu, per_node = gpus.most_common(1)[0][0] if gpus else ("", 0)
    setup = next((one for one in setups if one.network), None)
    if setup is None:
        return ClusterFacts(gpu=gpu, per_node=per_node)
    adapters = max((host.adapters for host in setup.hosts), key=len, default=())
    rates = [one.rate_bps for one in adapters if one.rate_bps]
    return ClusterFacts(
        gpu=gpu,
        per_node=per_node or setup.local_ranks,
        way=setup.way,
        provider=setup.provider,
        link=next((one.link for one in adapters if one.link), ""),
        rate_bps=max(rates, default=0.0),
        num_nics=setup.num_provider_nics or len(adapters),
    )


_BETWEEN_ENDS: Final = (
    (("#bytes",), perftest.parse),
    (("sockperf",), sockperf.parse),
    (("bits/sec", "bits_per_second"), iperf3.parse),
)
_NCCL_TESTS: Final = frozenset({"busbw", "bus_bw", "busBw", "numCycle"})
_ENDS_MARKERS: Final = (marker for markers, _ in _BETWEEN_ENDS for marker in markers)
_MARKERS: Final = ("NCCL ", "OSU ", *_NCCL_TESTS, *_ENDS_MARKERS)
_LONGEST_MARKER: Final = max(map(len, _MARKERS))
_CHUNK_CHARS: Final = 1 << 22
