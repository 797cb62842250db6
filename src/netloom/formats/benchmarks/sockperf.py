"""sockperf: ping-pong and under-load (latency), throughput (rate).

Latency is half a round trip, a whole one with ``--full-rtt``. Its MBps count 2^20 bytes and its
Mbps 2^20 bits; ``--giga-size`` divides them by 1000, and ``--increase_output_precision`` prints
MBps under the name of GBps, with nine digits (sockperf, ``src/client.cpp``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.formats.benchmarks.results import PointToPoint, PointToPointLog
from netloom.formats.log_lines import BadLineTally, clean_lines, number, whole_number

if TYPE_CHECKING:
    from netloom.formats.log_lines import LogSource

__all__ = ["parse"]

MEBI_BYTES: Final = 8 * 2.0**20  # bits

_LATENCY: Final = re.compile(r"(?P<what>Latency|Round trip) is\s{1,4}\**(?P<value>[\d.,]{1,20})")
_RATE: Final = re.compile(r"BandWidth is (?P<value>[\d.,]{1,30}) (?P<unit>[MG])Bps")
_MESSAGES: Final = re.compile(r"Message Rate is (?P<value>\d{1,15})", re.ASCII)
_PERCENTILE: Final = re.compile(
    r"percentile (?P<which>50|99)\.0{1,3} =\s{0,8}\**(?P<value>[\d.,]{1,20})"
)
_SIZE: Final = re.compile(r"(?:\s-m |--msg-size[= ]|using msg-size=)(?P<size>\d{1,9})", re.ASCII)


@dataclass(slots=True)
class _SockperfRun:
    """A run that is being read."""

    operation: str = ""
    size: int | None = None
    share: float = 1.0
    mean_us: float | None = None
    percentiles_us: dict[str, float] = field(default_factory=dict)
    rate_bps: float | None = None
    messages: float | None = None
    line: int = 0

    def row(self) -> PointToPoint | None:
        """Return what it measured; None where it measured nothing."""
        if self.mean_us is None and self.rate_bps is None:
            return None
        scale = self.share * 1e-6
        mean_s = None if self.mean_us is None else self.mean_us * scale
        median, p99 = self.percentiles_us.get("50"), self.percentiles_us.get("99")
        return PointToPoint(
            program="sockperf",
            operation=self.operation,
            size_bytes=self.size,
            latency_s=mean_s if median is None or mean_s is None else median * scale,
            latency_mean_s=mean_s,
            latency_p99_s=None if p99 is None else p99 * scale,
            rate_bps=self.rate_bps,
            message_rate=self.messages,
            num_streams=1,
            line=self.line,
        )


def parse(source: LogSource) -> PointToPointLog:
    """Return the measurements in what sockperf printed.

    Raises:
        LabError: no line is sockperf's.
    """
    bad = BadLineTally()
    rows: list[PointToPoint] = []
    run, seen = _SockperfRun(), False
    for line, _, text in clean_lines(source, brackets=False):
        ours = "sockperf" in text
        seen = seen or "sockperf:" in text
        if ours and ("== version" in text or ("sockperf " in text and " -i " in text)):
            run = _next_run(run, text, rows, bad)
        elif ours:
            _take(run, line, text, bad)
        elif "PORT =" in text:
            run.operation = "tcp" if "# TCP" in text else "udp"
    _next_run(run, "", rows, bad)
    if not seen:
        message = "this is no output of sockperf; give what its client printed"
        raise LabError(message)
    return PointToPointLog(rows=tuple(rows), bad=bad.freeze())


def _next_run(
    run: _SockperfRun, text: str, rows: list[PointToPoint], bad: BadLineTally
) -> _SockperfRun:
    """Keep what *run* measured, and return the next; the command before a version is its own."""
    row = run.row()
    if row is not None and bad.has_room(run.line):
        rows.append(row)
    size = _SIZE.search(text)
    if size:
        return _SockperfRun(size=int(size["size"]))
    return _SockperfRun(size=run.size) if row is None else _SockperfRun()


def _take(run: _SockperfRun, line: int, text: str, bad: BadLineTally) -> None:
    if "Summary:" in text:
        _take_summary(run, line, text, bad)
    elif "percentile" in text and (found := _PERCENTILE.search(text)):
        value = number(found["value"], decimals=3)
        if value is not None:
            run.percentiles_us.setdefault(found["which"], value)
    elif "msg-size" in text and (size := _SIZE.search(text)):
        run.size = whole_number(size["size"])


def _take_summary(run: _SockperfRun, line: int, text: str, bad: BadLineTally) -> None:
    latency, rate, messages = _LATENCY.search(text), _RATE.search(text), _MESSAGES.search(text)
    if latency:
        run.mean_us = number(latency["value"], decimals=3)
        run.share = 0.5 if latency["what"] == "Round trip" else 1.0
        run.line = line
    elif rate:
        value = number(rate["value"], decimals=3)
        digits = len(rate["value"].rpartition(".")[2])
        giga = rate["unit"] == "G" and digits < 9
        run.rate_bps = None if value is None else value * MEBI_BYTES * (1000 if giga else 1)
        run.line = line
    elif messages:
        run.messages = number(messages["value"])
        return
    if run.mean_us is None and run.rate_bps is None:
        bad.add(line, "a summary without a number", text)
