"""OSU micro-benchmarks: ``osu_latency``, ``osu_bw``, ``osu_allreduce`` ...

MB/s are 10^6 bytes a second, latencies of two ends are one way, those of collectives the average
over the ranks. How many ranks there were is not printed; a command line above the table that
says ``-np`` is believed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.formats.benchmarks.results import CollectiveTiming, PointToPoint, collective_called
from netloom.formats.log_lines import BadLines, BadLineTally, clean_lines, number, whole_number

if TYPE_CHECKING:
    from netloom.formats.log_lines import LogSource

__all__ = ["OsuLog", "nccl_size_bytes", "parse"]

_TITLE: Final = re.compile(
    r"#?\s{0,4}OSU (?:MPI|NCCL|UPC|OpenSHMEM|RCCL)?(?P<memory>-(?:CUDA|ROCM|OPENACC))?[ _]?"
    r"(?P<what>.{2,60}?) Test(?: v\S{1,30})?\s{0,20}",
    re.ASCII,
)
_RANKS: Final = re.compile(r"\s(?:-np|-n|--ntasks)[ =](?P<num>\d{1,7})\b", re.ASCII)
_PAIRS: Final = re.compile(r"\[ pairs: (?P<num>\d{1,7}) \]", re.ASCII)
_GAP: Final = re.compile(r"\s{2,}|\t")
_ON_DEVICE: Final = re.compile(r"\((?:D|MD)\)")
_POINTS: Final = {
    "Latency": "osu_latency",
    "Multi Latency": "osu_multi_lat",
    "Bandwidth": "osu_bw",
    "Bi-Directional Bandwidth": "osu_bibw",
    "Multiple Bandwidth / Message Rate": "osu_mbw_mr",
    "Put Latency": "osu_put_latency",
    "Get Latency": "osu_get_latency",
    "Put Bandwidth": "osu_put_bw",
    "Get Bandwidth": "osu_get_bw",
}
# Collectives whose message OSU counts for each rank, and nccl-tests for all (PERFORMANCE.md).
_COUNTED_A_RANK: Final = frozenset({"all_gather", "all_to_all", "gather", "scatter"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OsuLog:
    """What a log of OSU micro-benchmarks says.

    Attributes:
        collectives: Their *size_bytes* are as OSU counts them; see ``nccl_size_bytes``.
        points: Between two ends.
        bad: Lines that cannot be used.
    """

    collectives: tuple[CollectiveTiming, ...]
    points: tuple[PointToPoint, ...]
    bad: BadLines


def nccl_size_bytes(timing: CollectiveTiming, num_ranks: int) -> int:
    """Return the size of the same collective as nccl-tests counts it."""
    each = timing.collective in _COUNTED_A_RANK
    return timing.size_bytes * num_ranks if each else timing.size_bytes


@dataclass(slots=True)
class _OsuTable:
    """The table that is being read."""

    what: str = ""
    gpu_memory: bool = False
    num_ranks: int = 0
    num_pairs: int = 0
    names: tuple[str, ...] = ()

    @property
    def collective(self) -> str:
        """The collective it measures; empty where it measures two ends."""
        return collective_called(self.what.removesuffix(" Latency"))


def parse(source: LogSource) -> OsuLog:
    """Return the measurements in what OSU micro-benchmarks printed.

    Raises:
        LabError: there is no title that they print.
    """
    bad = BadLineTally()
    collectives: list[CollectiveTiming] = []
    points: list[PointToPoint] = []
    table = _OsuTable()
    titled = False
    for line, _, text in clean_lines(source):
        if table.names and text[:1].isdigit():
            one = _row(table, text.split(), line, bad)
            if isinstance(one, PointToPoint) and bad.has_room(line):
                points.append(one)
            elif isinstance(one, CollectiveTiming) and bad.has_room(line):
                collectives.append(one)
        elif "OSU " in text[:12] and (title := _TITLE.fullmatch(text)):
            table, titled = _titled(title, table), True
        elif titled and text.lstrip("# ").startswith(("Size", "Avg Latency")):
            table.names = _names(text)
        else:
            _take_words(table, text)
    if not titled:
        message = "this is no output of OSU micro-benchmarks; give what osu_latency or its like"
        message += " printed, with its title"
        raise LabError(message)
    return OsuLog(collectives=tuple(collectives), points=tuple(points), bad=bad.freeze())


def _titled(title: re.Match[str], before: _OsuTable) -> _OsuTable:
    what = title["what"].strip().removeprefix("-")
    ranks = 0 if before.what else before.num_ranks
    return _OsuTable(what=what, gpu_memory=bool(title["memory"]), num_ranks=ranks)


def _take_words(table: _OsuTable, text: str) -> None:
    if "osu_" in text and (ranks := _RANKS.search(text)):
        table.num_ranks, table.what, table.names = int(ranks["num"]), "", ()
    elif "pairs:" in text and (pairs := _PAIRS.search(text)):
        table.num_pairs = int(pairs["num"])
    elif "Buffer on" in text:
        table.gpu_memory = bool(_ON_DEVICE.search(text))


def _names(text: str) -> tuple[str, ...]:
    names = _GAP.split(text.lstrip("# ").strip())
    return tuple(name.replace(" ", "").lower() for name in names)[:30]


def _row(
    table: _OsuTable, cells: list[str], line: int, bad: BadLineTally
) -> PointToPoint | CollectiveTiming | None:
    if len(cells) != len(table.names):
        message = f"{len(cells)} cells under {len(table.names)} columns"
        bad.add(line, message, " ".join(cells))
        return None
    by_name = dict(zip(table.names, cells, strict=True))
    size = whole_number(by_name.get("size", "0"))
    rate = number(by_name.get("bandwidth(mb/s)", by_name.get("mb/s", "")))
    latency = number(by_name.get("latency(us)", by_name.get("avglatency(us)", "")))
    if size is None or (not rate and not latency):
        bad.add(line, "no size with a latency or a rate above 0", " ".join(cells))
        return None
    if "avglatency(us)" in by_name or table.collective != table.what.removesuffix(" Latency"):
        return _collective(table, size, latency or 0.0, line)
    return _point(table, size, latency, rate, by_name, line)


def _collective(table: _OsuTable, size: int, latency_us: float, line: int) -> CollectiveTiming:
    return CollectiveTiming(
        collective=table.collective,
        size_bytes=size,
        dtype="",
        redop="",
        in_place=False,
        time_s=latency_us * 1e-6,
        algorithm_bps=None,
        bus_bps=None,
        num_wrong=None,
        num_ranks=table.num_ranks,
        num_nodes=0,
        dip=False,
        line=line,
    )


def _point(
    table: _OsuTable,
    size: int,
    latency_us: float | None,
    rate: float | None,
    by_name: dict[str, str],
    line: int,
) -> PointToPoint:
    return PointToPoint(
        program=_POINTS.get(table.what.removeprefix("MPI_"), "osu"),
        operation="mpi",
        size_bytes=size,
        latency_s=None if latency_us is None else latency_us * 1e-6,
        latency_mean_s=None if latency_us is None else latency_us * 1e-6,
        rate_bps=None if rate is None else rate * 8e6,
        message_rate=number(by_name.get("messages/s", "")),
        bidirectional=table.what.startswith("Bi-"),
        num_streams=table.num_pairs,
        gpu_memory=table.gpu_memory,
        line=line,
    )
