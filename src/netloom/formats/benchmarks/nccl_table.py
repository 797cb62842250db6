"""The table that nccl-tests and rccl-tests print, among the lines of all who share the output.

Columns are found by their heading, since versions differ (nccl-tests, ``src/util.cu``,
``src/common.cu``): 2017 called them ``bytes N type op time algbw busbw res``, later came
``root``, ``#wrong`` for ``error``, and statistics of the iterations. A row is printed in three
parts, before, between and after the two measurements, so that what NCCL logs meanwhile stands
inside of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from netloom.formats.benchmarks.nccl_run import (
    BenchmarkRank,
    BenchmarkSettings,
    RunBuilder,
    name_of_program,
)
from netloom.formats.log_lines import clean_lines, number, whole_number

if TYPE_CHECKING:
    from netloom.formats.benchmarks.nccl_run import CollectiveTest
    from netloom.formats.log_lines import BadLineTally, LogSource

__all__ = ["read_table"]

MAX_TESTS: Final = 20_000
MAX_TAGS: Final = 4096  # ranks that print tables of their own

_RANK: Final = re.compile(
    r"#?\s{1,8}Rank\s{1,8}(?P<rank>\d{1,9})\s(?:\s{0,8}Group\s{1,8}\d{1,9}\s)?\s{0,8}"
    r"Pid\s{1,12}\d{1,10} on\s{1,64}(?P<host>\S{1,255}) device\s{1,8}(?P<device>\d{1,4})"
    r"\s{1,4}\[[^\]]{1,32}\]\s{0,4}(?P<gpu>.{0,80})",
    re.ASCII,
)
_SETTING: Final = re.compile(
    r"(?P<key>nThread|nGpus|minBytes|maxBytes|warmup iters:|(?<!warmup )(?<!agg )iters:)"
    r" (?P<value>\d{1,18})",
    re.ASCII,
)
_VERSION: Final = re.compile(r"(?:NCCL|RCCL) version (?:: )?(?P<version>\d[\w.+-]{2,60})", re.ASCII)
# Who logs, before "NCCL INFO": the host stands next to the last cell, without a blank.
_LOGGED: Final = re.compile(
    r"(?P<host>[^\s:]{0,255}):\d{1,10}:\d{1,10} \[\d{1,4}\](?: \S{1,200})?$", re.ASCII
)
_GLUED: Final = re.compile(r"-?\d|N/A", re.ASCII)
_INNER_TAG: Final = re.compile(r"\[(?:\d{1,7}|\d{4}-\d\d-\d\d [\d:.]{8,18})\]", re.ASCII)
_OUT_OF_BOUNDS: Final = re.compile(r"Out of bounds values : (?P<num>\d{1,18})", re.ASCII)
_AVERAGE: Final = re.compile(r"Avg bus bandwidth\s{1,8}: (?P<average>[\d.,e+-]{1,30})", re.ASCII)
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, slots=True)
class _RowLayout:
    """Where the cells of a row stand; of each half in_place, time, algbw, busbw, wrong."""

    width: int
    dtype: int
    redop: int
    root: int
    head: int
    halves: tuple[tuple[bool, int, int, int, int], ...]


def read_table(source: LogSource, bad: BadLineTally) -> list[CollectiveTest]:
    """Return the tests whose tables stand in *source*."""
    readers: dict[str, _TableReader] = {}
    tests: list[CollectiveTest] = []
    default = _TableReader(tests, bad)
    for line, tag, text in clean_lines(source):
        reader = default
        if tag:
            found = readers.get(tag)
            if found is None:
                if len(readers) >= MAX_TAGS:
                    continue
                found = readers[tag] = _TableReader(tests, bad)
            reader = found
        reader.take(line, text)
    for reader in (default, *readers.values()):
        reader.close()
    return tests


class _TableReader:
    """Reads the lines of one process."""

    __slots__ = ("_bad", "_halves_line", "_layout", "_pending", "_pending_line", "_run", "_tests")

    def __init__(self, tests: list[CollectiveTest], bad: BadLineTally) -> None:
        self._tests, self._bad = tests, bad
        self._run = RunBuilder(bad=bad)
        self._layout: _RowLayout | None = None
        self._halves_line = ""
        self._pending: list[str] = []
        self._pending_line = 0

    def take(self, line: int, text: str) -> None:
        """Take a line."""
        if " NCCL " in text:
            self._take_logged(line, text)
            return
        if self._layout is not None:
            start = text.lstrip()[:1]
            if start.isdigit() or (start == "N" and self._pending):
                self._take_cells(line, text)
                return
        if text:
            self._take_words(line, text)

    def _take_logged(self, line: int, text: str) -> None:
        """Take the part of a row before what NCCL logs; and its version."""
        if self._layout is not None:
            cells = self._cells_before(text[: text.find(" NCCL ")], self._layout)
            if cells:
                self._take_cells(line, cells)
        if not self._run.version and "CCL version" in text:
            self._take_version(text)

    def _cells_before(self, text: str, layout: _RowLayout) -> str:
        """Return the part of a row that stands before the one who logs."""
        logged = _LOGGED.search(text)
        if logged is None:
            return ""
        part = text[: logged.start()]
        cells = _INNER_TAG.sub(" ", part).split()
        if not cells or not (self._pending or cells[0].isdigit()):
            return ""
        ends = {layout.head, layout.width, *(half[1] for half in layout.halves)}
        glued = _GLUED.match(logged["host"])
        if glued and len(self._pending) + len(cells) + 1 in ends:
            return f"{part} {glued[0]}"
        return part

    def _take_words(self, line: int, text: str) -> None:
        if "busbw" in text and "time" in text:
            self._take_heading(text)
        elif "of-place" in text or "in-place" in text:
            self._halves_line = text
        elif "nThread " in text:
            self._take_settings(text)
        elif " Pid " in text and "Rank" in text:
            self._take_rank(line, text)
        elif "bus bandwidth" in text or "Out of bounds" in text:
            self._take_end(line, text)
        elif "_perf" in text:
            self._take_name(text)
        elif "CCL version" in text:
            self._take_version(text)
        elif text.startswith("rccl-tests:"):
            self._run.program = "rccl-tests"

    def _take_version(self, text: str) -> None:
        found = _VERSION.search(text)
        if found:
            self._run.version = found["version"]
            if "RCCL" in text:
                self._run.program = "rccl-tests"

    def _take_settings(self, text: str) -> None:
        found = {match["key"]: int(match["value"]) for match in _SETTING.finditer(text)}
        if "nThread" not in found:
            return
        if self._run.settings is not None or self._run.timings:
            self._begin()
        self._run.settings = BenchmarkSettings(
            num_threads=found["nThread"],
            gpus_per_thread=found.get("nGpus", 0),
            min_bytes=found.get("minBytes", 0),
            max_bytes=found.get("maxBytes", 0),
            warmup_iterations=found.get("warmup iters:", 0),
            iterations=found.get("iters:", 0),
        )

    def _take_rank(self, line: int, text: str) -> None:
        found = _RANK.fullmatch(text.rstrip() if text[:1] in "# " else f" {text.rstrip()}")
        if found is None:
            self._bad.add(line, "a rank without host and device", text)
            return
        if self._run.timings:
            self._begin()
        one = BenchmarkRank(
            rank=int(found["rank"]),
            host=found["host"],
            device=int(found["device"]),
            gpu=found["gpu"].strip(),
        )
        self._run.add_rank(line, one)

    def _take_name(self, text: str) -> None:
        """Take the name that a test announces, or that a command line before it has."""
        name = name_of_program(text)
        if not name or "concluded" in text:
            return
        if self._run.timings or (self._run.settings and "test starting" in text):
            self._begin()
        self._run.called = name

    def _take_heading(self, text: str) -> None:
        layout = _layout(text, self._halves_line)
        if layout is None:
            return
        if self._run.timings:
            self._begin()
        self._layout = layout

    def _take_end(self, line: int, text: str) -> None:
        self._flush()
        wrong, average = _OUT_OF_BOUNDS.search(text), _AVERAGE.search(text)
        if wrong:
            self._run.num_out_of_bounds = int(wrong["num"])
        if average:
            value = number(average["average"], decimals=6)
            if value is not None:
                self._run.check_average(line, value)
            self._layout = None

    def _take_cells(self, line: int, text: str) -> None:
        layout = self._layout
        assert layout is not None
        cells = (_INNER_TAG.sub(" ", text) if "[" in text else text).split()
        if len(cells) == layout.width and not self._pending:
            self._emit(layout, cells, line)
            return
        if self._pending and self._continues(layout, cells):
            self._pending += cells
            if len(self._pending) == layout.width:
                self._flush()
            return
        self._flush()
        self._take_part(layout, cells, line, text)

    def _take_part(self, layout: _RowLayout, cells: list[str], line: int, text: str) -> None:
        """Take the first part of a row, or one with a date behind; name what is neither."""
        if len(cells) > layout.width and _DATED.match(cells[layout.width]):
            cells = cells[: layout.width]
        if len(cells) == layout.width:
            self._emit(layout, cells, line)
        elif len(cells) < layout.width and _begins_row(layout, cells):
            self._pending, self._pending_line = cells, line
        elif _begins_row(layout, cells[: layout.head]):
            self._bad.add(line, f"{len(cells)} cells under {layout.width} columns", text)

    def _continues(self, layout: _RowLayout, cells: list[str]) -> bool:
        """Return whether these are the rest of the row that was begun, or a part of it."""
        return (
            len(self._pending) + len(cells) <= layout.width
            and len(self._pending) >= layout.head
            and all(cell == "N/A" or number(cell) is not None for cell in cells)
        )

    def _flush(self) -> None:
        """Take what there is of a row that was begun."""
        cells, self._pending = self._pending, []
        layout = self._layout
        if not cells or layout is None:
            return
        whole = [half for half in layout.halves if max(half[1:]) < len(cells)]
        # A program that measures one half only prints no more than that.
        ends = {layout.width, *(max(half[1:]) + 1 for half in whole)}
        if len(cells) not in ends:
            message = f"cut after {len(cells)} of {layout.width} cells"
            self._bad.add(self._pending_line, message, " ".join(cells))
        if whole:
            self._emit(layout, cells, self._pending_line, whole=len(whole))

    def _emit(self, layout: _RowLayout, cells: list[str], line: int, *, whole: int = 9) -> None:
        size = whole_number(cells[0])
        if size is None:
            self._bad.add(line, f"{cells[0]} is no size", " ".join(cells))
            return
        dtype = cells[layout.dtype] if layout.dtype >= 0 else ""
        redop = cells[layout.redop] if layout.redop >= 0 else ""
        if layout.root >= 0 and self._run.rooted is None:
            self._run.rooted = not cells[layout.root].startswith("-")
        for in_place, time, algorithm, bus, wrong in layout.halves[:whole]:
            self._run.add_row(
                line,
                size=size,
                dtype=dtype,
                redop=redop,
                in_place=in_place,
                cells=(
                    cells[time],
                    cells[algorithm],
                    cells[bus],
                    cells[wrong] if wrong > time else "",
                ),
            )

    def _begin(self) -> None:
        """Begin another run."""
        self.close()
        self._run = RunBuilder(bad=self._bad)
        self._layout = None

    def close(self) -> None:
        """End the run."""
        self._flush()
        run = self._run
        seen = run.timings or run.ranks or self._layout
        if seen and len(self._tests) < MAX_TESTS:
            self._tests.append(run.build())


def _begins_row(layout: _RowLayout, cells: list[str]) -> bool:
    if whole_number(cells[0]) is None:
        return False
    named = 0 <= layout.dtype < len(cells)
    return not named or cells[layout.dtype][:1].isalpha()


@lru_cache(maxsize=64)
def _layout(heading: str, halves_line: str) -> _RowLayout | None:
    """Return where the cells stand under *heading*; None when it is some other line."""
    names = heading.lstrip("# ").split()
    times = [index for index, name in enumerate(names) if name == "time"]
    if not times or len(times) > 2 or names[0] not in {"size", "bytes"} or len(names) > 60:
        return None
    ends = [*times[1:], len(names)]
    first_in_place = _in_place_first(halves_line)
    halves = []
    for order, (start, end) in enumerate(zip(times, ends, strict=True)):
        part = names[start:end]
        if "algbw" not in part or "busbw" not in part:
            return None
        halves.append(
            (
                first_in_place != (order == 1),
                start,
                start + part.index("algbw"),
                start + part.index("busbw"),
                start + part.index("#wrong") if "#wrong" in part else start,
            )
        )
    return _RowLayout(
        width=len(names),
        dtype=names.index("type") if "type" in names else -1,
        redop=next((names.index(name) for name in ("redop", "op") if name in names), -1),
        root=names.index("root") if "root" in names else -1,
        head=times[0],
        halves=tuple(halves),
    )


def _in_place_first(halves_line: str) -> bool:
    """Return whether the line above the heading names the in-place half first."""
    out, inside = halves_line.find("out-of-place"), halves_line.find(" in-place")
    return inside >= 0 and (out < 0 or inside < out)
