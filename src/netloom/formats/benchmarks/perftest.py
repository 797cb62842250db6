"""perftest (linux-rdma): ``ib_write_bw``, ``ib_write_lat``, ``ib_send_*``, ``ib_read_*`` ...

Units stand in the heading. ``MB/sec`` counts 2^20 bytes (newer versions print ``MiB/sec``), and
``Gb/sec`` of ``--report_gbits`` counts 10^9 bits; the message rate beside it shows that. Latency
is half a round trip, that of a read or an atomic a whole one (perftest, README).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.formats.benchmarks.results import PointToPoint, PointToPointLog
from netloom.formats.log_lines import BadLineTally, clean_lines, number, whole_number

if TYPE_CHECKING:
    from netloom.formats.log_lines import LogSource

__all__ = ["parse"]

BITS: Final = {
    "MB/sec": 8 * 2.0**20,
    "MiB/sec": 8 * 2.0**20,
    "GiB/sec": 8 * 2.0**30,
    "GB/sec": 8e9,
    "Gb/sec": 1e9,
    "Gbps": 1e9,
}
MAX_CONTRADICTION: Final = 0.03

_TITLE: Final = re.compile(
    r"\s{0,60}(?:RDMA_)?(?P<operation>Write|Send|Read|Atomic)(?P<rest>(?: \w[\w-]{1,20}){0,4}) "
    r"(?P<kind>BW|Latency) Test\s{0,60}",
    re.ASCII,
)
_SETTING: Final = re.compile(
    r"(?P<key>Device|Number of qps|Link type)\s{0,12}:\s{0,8}(?P<value>[\w.-]{1,40})", re.ASCII
)
_COLUMN: Final = re.compile(
    r"(?:[\d.]{1,8}% |BW |MsgRate (?=Port))?[#\w.]{1,30}(?: Port\d)?(?:\[(?P<unit>[^\]]{1,12})\])?",
    re.ASCII,
)


@dataclass(slots=True)
class _PerftestRun:
    """The test whose rows are being read."""

    operation: str = ""
    kind: str = ""
    bidirectional: bool = False
    device: str = ""
    link: str = ""
    num_streams: int = 0
    gpu_memory: bool = False
    gpu_memory_next: bool = False


def parse(source: LogSource) -> PointToPointLog:
    """Return the measurements in what programs of perftest printed.

    Raises:
        LabError: there is no heading that perftest prints.
    """
    bad = BadLineTally()
    rows: list[PointToPoint] = []
    test, seen = _PerftestRun(), False
    columns: dict[str, tuple[int, float]] = {}
    width = 0
    for line, _, text in clean_lines(source):
        stripped = text.strip()
        if columns and stripped[:1].isdigit():
            row = _row(test, columns, stripped.split(), width, line, bad)
            if row is not None and bad.has_room(line):
                rows.append(row)
        elif "bytes" in stripped[:8] and "iterations" in stripped:
            columns, width = _columns(stripped)
            seen = seen or bool(columns)
        elif " Test" in text and (title := _TITLE.fullmatch(text)):
            test, columns = _titled(title, test), {}
        elif "CUDA" in text or "use_cuda" in text or "use_rocm" in text:
            _take_gpu(test, begun=bool(columns) or not test.kind)
        elif ":" in text:
            _take_settings(test, text)
    if not seen:
        message = "this is no output of perftest; give what ib_write_bw or its like printed"
        raise LabError(message)
    return PointToPointLog(rows=tuple(rows), bad=bad.freeze())


def _titled(title: re.Match[str], before: _PerftestRun) -> _PerftestRun:
    return _PerftestRun(
        operation=title["operation"].lower(),
        kind="lat" if title["kind"] == "Latency" else "bw",
        bidirectional="Bidirectional" in title["rest"],
        gpu_memory=before.gpu_memory_next,
    )


def _take_gpu(test: _PerftestRun, *, begun: bool) -> None:
    """Take that a buffer is in a GPU: it is said before the title, at times after it."""
    if begun:
        test.gpu_memory_next = True
    else:
        test.gpu_memory = True


def _take_settings(test: _PerftestRun, text: str) -> None:
    for found in _SETTING.finditer(text):
        if found["key"] == "Device":
            test.device = found["value"]
        elif found["key"] == "Link type":
            test.link = found["value"]
        else:
            test.num_streams = whole_number(found["value"]) or 0


def _columns(heading: str) -> tuple[dict[str, tuple[int, float]], int]:
    """Return place and worth of the columns that are used, and how many there are."""
    columns: dict[str, tuple[int, float]] = {}
    width = 0
    for width, found in enumerate(_COLUMN.finditer(heading), start=1):
        name, unit = found[0].partition("[")[0], found["unit"] or ""
        if name == "BW average" and unit in BITS:
            columns["rate"] = (width - 1, BITS[unit])
        elif unit == "usec":
            columns[name] = (width - 1, 1e-6)
        elif name == "MsgRate" and unit == "Mpps":
            columns["messages"] = (width - 1, 1e6)
    usable = "rate" in columns or "t_typical" in columns or "t_avg" in columns
    return (columns if usable else {}), width


def _row(
    test: _PerftestRun,
    columns: dict[str, tuple[int, float]],
    cells: list[str],
    width: int,
    line: int,
    bad: BadLineTally,
) -> PointToPoint | None:
    size = whole_number(cells[0])
    if size is None or len(cells) != width:
        bad.add(line, f"{len(cells)} cells under {width} columns", " ".join(cells))
        return None
    values = {name: _value(cells[at], worth) for name, (at, worth) in columns.items()}
    latency_s = values.get("t_typical") or values.get("t_avg")
    rate_bps = values.get("rate")
    if not latency_s and not rate_bps:
        bad.add(line, "neither a latency nor a rate above 0", " ".join(cells))
        return None
    if rate_bps and _contradicts(rate_bps, size, values.get("messages")):
        bad.add(line, "its rate is not its message rate times its size", " ".join(cells))
        return None
    kind = test.kind or ("bw" if rate_bps else "lat")
    return PointToPoint(
        program=f"ib_{test.operation}_{kind}" if test.operation else "perftest",
        operation=test.operation,
        size_bytes=size,
        latency_s=latency_s,
        latency_mean_s=values.get("t_avg"),
        latency_p99_s=values.get("99% percentile"),
        rate_bps=rate_bps,
        message_rate=values.get("messages"),
        bidirectional=test.bidirectional,
        num_streams=test.num_streams,
        device=test.device,
        link=test.link,
        gpu_memory=test.gpu_memory,
        line=line,
    )


def _value(cell: str, worth: float) -> float | None:
    value = number(cell)
    return None if value is None else value * worth


def _contradicts(rate_bps: float, size: int, messages: float | None) -> bool:
    """Return whether bytes and messages a second differ by more than the digits printed."""
    if not messages:
        return False
    said_bps = messages * size * 8
    slack_bps = 0.01 * BITS["Gb/sec"] + MAX_CONTRADICTION * rate_bps
    return abs(said_bps - rate_bps) > slack_bps
