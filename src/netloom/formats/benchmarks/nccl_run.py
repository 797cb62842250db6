"""One run of a program of nccl-tests or rccl-tests, while it is read and as it was."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from netloom.formats.benchmarks.nccl_deduce import deduced_collective
from netloom.formats.benchmarks.results import CollectiveTiming, collective_called
from netloom.formats.log_lines import number

if TYPE_CHECKING:
    from netloom.formats.log_lines import BadLineTally

__all__ = ["BenchmarkRank", "BenchmarkSettings", "CollectiveTest", "RunBuilder", "name_of_program"]

GIGA_BYTES: Final = 8e9  # bits: nccl-tests counts GB/s in 10^9 bytes
DIP: Final = 1.15
_PROGRAM: Final = re.compile(r"(?:^|[\s/])(?P<name>[a-z_]{3,32})_perf(?:_mpi)?(?=\s|$)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRank:
    """A rank and the GPU it uses."""

    rank: int
    host: str
    device: int
    gpu: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSettings:
    """What was asked for; 0 where it is not printed."""

    num_threads: int = 0
    gpus_per_thread: int = 0
    min_bytes: int = 0
    max_bytes: int = 0
    warmup_iterations: int = 0
    iterations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTest:
    """One run of one program.

    Attributes:
        program: ``nccl-tests`` or ``rccl-tests``.
        called: ``alltoall``: its name without ``_perf``; empty where it is not said.
        collective: As netloom calls it; where it is not said, what the rates and columns leave
            as the only one; empty where they leave several.
        version: Of the library, ``2.26.2+cuda12.8``; empty where it is not said.
        settings: What was asked for.
        ranks: Where they ran; empty where it is not said.
        num_ranks: That took part; 0 where it is not said.
        num_nodes: Hosts they ran on, likewise.
        timings: What was measured.
        num_out_of_bounds: Wrong values as the end of the test counts them; None without an end.
        average_bus_bps: As the end of the test says; None without an end.
    """

    program: str
    called: str
    collective: str
    version: str
    settings: BenchmarkSettings
    ranks: tuple[BenchmarkRank, ...]
    num_ranks: int
    num_nodes: int
    timings: tuple[CollectiveTiming, ...]
    num_out_of_bounds: int | None
    average_bus_bps: float | None


def name_of_program(text: str) -> str:
    """Return ``all_reduce`` of a command line that runs ``all_reduce_perf``; else nothing."""
    found = _PROGRAM.search(text)
    return found["name"] if found else ""


@dataclass(slots=True, kw_only=True)
class RunBuilder:
    """A run that is being read."""

    bad: BadLineTally
    program: str = "nccl-tests"
    called: str = ""
    version: str = ""
    settings: BenchmarkSettings | None = None
    ranks: dict[int, BenchmarkRank] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    num_ranks: int = 0
    num_nodes: int = 0
    rooted: bool | None = None
    timings: list[CollectiveTiming] = field(default_factory=list)
    num_out_of_bounds: int | None = None
    average_bus_bps: float | None = None

    def add_rank(self, line: int, one: BenchmarkRank) -> None:
        """Take a rank; the same number on another host is a program without MPI."""
        if one.rank in self.ranks and self.ranks[one.rank] != one:
            self.bad.add(
                line,
                f"rank {one.rank} a second time, on {one.host}: separate runs of one rank each "
                "(nccl-tests is built with MPI=1 to run over several nodes)",
            )
            return
        self.ranks[one.rank] = one
        self.hosts.add(one.host)
        self.num_ranks, self.num_nodes = len(self.ranks), len(self.hosts)

    def add_row(
        self,
        line: int,
        *,
        size: int,
        dtype: str,
        redop: str,
        in_place: bool,
        cells: tuple[str, str, str, str],
    ) -> None:
        """Take one half of a row: time, algbw, busbw and wrong values as they are printed."""
        time_us, algorithm, bus = number(cells[0]), number(cells[1]), number(cells[2])
        if time_us is None or algorithm is None or bus is None:
            if cells[0] != "N/A":
                self.bad.add(line, f"{cells[0]}, {cells[1]}, {cells[2]} are no time and rates")
        elif not self._agree(size, time_us, algorithm, exponent="e" in cells[0]):
            self.bad.add(
                line, f"{size} bytes in {cells[0]} us are not the {cells[1]} GB/s it prints"
            )
        elif self.bad.has_room(line):
            wrong = number(cells[3])
            self.timings.append(
                CollectiveTiming(
                    collective=collective_called(self.called),
                    size_bytes=size,
                    dtype=dtype,
                    redop=redop,
                    in_place=in_place,
                    time_s=time_us * 1e-6,
                    algorithm_bps=algorithm * GIGA_BYTES,
                    bus_bps=bus * GIGA_BYTES,
                    num_wrong=None if wrong is None else int(wrong),
                    num_ranks=self.num_ranks,
                    num_nodes=self.num_nodes,
                    dip=False,
                    line=line,
                )
            )

    def _agree(self, size: int, time_us: float, algorithm: float, *, exponent: bool) -> bool:
        """Return whether size over time is the rate, but for the digits printed."""
        if self.called == "hypercube" or time_us == 0:  # a hypercube's rate leaves a rank out
            return True
        said = size / time_us / 1e3
        share = 0.01 + 0.006 / time_us + (0.06 if exponent else 0.0)
        return abs(said - algorithm) <= 0.006 + share * said

    def check_average(self, line: int, average: float) -> None:
        """Take the average; say so where it is not that of the rows."""
        self.average_bus_bps = average * GIGA_BYTES
        rates = [one.bus_bps or 0.0 for one in self.timings]
        mean = sum(rates) / len(rates) if rates else 0.0
        if rates and abs(mean - self.average_bus_bps) > 0.02 * mean + 0.01 * GIGA_BYTES:
            self.bad.add(
                line,
                f"an average of {average:g} GB/s; that of the rows is {mean / GIGA_BYTES:.4g}: "
                "rows are missing or of another run",
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a test was seen."""
        return not (self.timings or self.ranks or self.settings)

    def build(self) -> CollectiveTest:
        """Return the run."""
        collective = collective_called(self.called)
        if not self.called:
            collective = deduced_collective(
                self.timings, num_ranks=self.num_ranks, rooted=self.rooted
            )
            if collective:
                self.timings = [replace(one, collective=collective) for one in self.timings]
        return CollectiveTest(
            program=self.program,
            called=self.called,
            collective=collective,
            version=self.version,
            settings=self.settings or BenchmarkSettings(),
            ranks=tuple(self.ranks[key] for key in sorted(self.ranks)),
            num_ranks=self.num_ranks,
            num_nodes=self.num_nodes,
            timings=tuple(_with_dips(self.timings)),
            num_out_of_bounds=self.num_out_of_bounds,
            average_bus_bps=self.average_bus_bps,
        )


def _with_dips(timings: list[CollectiveTiming]) -> list[CollectiveTiming]:
    """Return *timings* with those marked that a larger message of the same test undercuts."""
    groups: defaultdict[tuple[str, str, bool], list[int]] = defaultdict(list)
    for index, one in enumerate(timings):
        groups[one.dtype, one.redop, one.in_place].append(index)
    marked = list(timings)
    for members in groups.values():
        _mark_dips(marked, sorted(members, key=lambda index: -timings[index].size_bytes))
    return marked


def _mark_dips(marked: list[CollectiveTiming], largest_first: list[int]) -> None:
    quickest_s = quickest_of_larger_s = float("inf")
    size = -1
    for index in largest_first:
        one = marked[index]
        if one.size_bytes != size:
            size, quickest_of_larger_s = one.size_bytes, quickest_s
        if one.time_s >= DIP * quickest_of_larger_s:
            marked[index] = replace(one, dip=True)
        quickest_s = min(quickest_s, one.time_s)
