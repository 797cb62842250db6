"""iperf3: the end of a test as text, and the JSON of ``-J``.

A test says what was received: the sum over its streams, or the one stream. Bitrates count in
tens, also where transfers beside them count GBytes of 2^30 (iperf3, ``src/units.c``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import LabError
from netloom.formats.benchmarks.results import PointToPoint, PointToPointLog
from netloom.formats.log_lines import BadLineTally, clean_lines, number, peek, text_of

if TYPE_CHECKING:
    from netloom.formats.log_lines import LogSource

__all__ = ["parse"]

MAX_JSON_CHARS: Final = 256_000_000
BITS: Final = {
    **{f"{prefix}bits/sec": 1e3**power for power, prefix in enumerate(("", "K", "M", "G", "T"))},
    **{f"{prefix}Bytes/sec": 8 * 2.0 ** (10 * power) for power, prefix in enumerate("_KMGT")},
    "Bytes/sec": 8.0,
}

_SUMMARY: Final = re.compile(
    r"\[\s{0,3}(?P<id>SUM|\d{1,6})\](?:\[(?P<role>[TR]X-[CS])\])?\s{1,6}"
    r"(?P<start>[\d.]{1,12})-(?P<end>[\d.]{1,12})\s{0,4}sec\s{1,8}\S{1,20} \w{1,10}\s{1,8}"
    r"(?P<rate>[\d.,]{1,20}) (?P<unit>\w{0,10}/sec)(?P<rest>.{0,120}?)"
    r"(?P<whose>sender|receiver)\s{0,20}",
    re.ASCII,
)
_LOST: Final = re.compile(r"\s\d{1,18}/\d{1,18} \(", re.ASCII)


@dataclass(slots=True)
class _IperfRun:
    """A test that is being read: its last lines by direction."""

    rates_bps: dict[tuple[str, str, str], float] = field(default_factory=dict)
    operation: str = "tcp"
    line: int = 0
    started: int = 0


def parse(source: LogSource) -> PointToPointLog:
    """Return the measurements in what iperf3 printed, as text or with ``-J``.

    Raises:
        LabError: it is neither.
    """
    bad = BadLineTally()
    head, source = peek(source)
    if head.lstrip("\ufeff \t").startswith("{"):
        rows = _of_json(text_of(source, max_chars=MAX_JSON_CHARS), bad)
    else:
        rows = _of_text(source, bad)
    if not rows and not bad.num:
        message = f"this is no output of iperf3 ({head[:80]!r}); give what its client printed"
        raise LabError(message)
    return PointToPointLog(rows=tuple(rows), bad=bad.freeze())


def _of_text(source: LogSource, bad: BadLineTally) -> list[PointToPoint]:
    rows: list[PointToPoint] = []
    run = _IperfRun()
    for line, _, text in clean_lines(source, brackets=False):
        if "er" in text[-30:] and (found := _SUMMARY.search(text)):
            _take(run, found, line, text, bad)
        elif text.startswith(("Connecting to host", "Accepted connection")):
            _close(run, rows, bad)
            run = _IperfRun(started=line)
    _close(run, rows, bad)
    return rows


def _take(run: _IperfRun, found: re.Match[str], line: int, text: str, bad: BadLineTally) -> None:
    value, worth = number(found["rate"]), BITS.get(found["unit"])
    if value is None or worth is None:
        bad.add(line, f"{found['rate']} {found['unit']} is no bitrate", text)
        return
    if _LOST.search(found["rest"]):
        run.operation = "udp"
    run.rates_bps[found["role"] or "", found["whose"], found["id"]] = value * worth
    run.line = line


def _close(run: _IperfRun, rows: list[PointToPoint], bad: BadLineTally) -> None:
    """Keep what was received in each direction; what was sent where the end does not say."""
    if not run.rates_bps:
        if run.started:
            bad.add(run.started, "a test without a summary at its end")
        return
    for role in sorted({key[0] for key in run.rates_bps}):
        received, sent = _sum(run, role, "receiver"), _sum(run, role, "sender")
        rate_bps, num_streams = received if received[0] else sent
        if not rate_bps:
            bad.add(run.line, "a test that moved nothing")
        elif bad.has_room(run.line):
            rows.append(_point(rate_bps, num_streams, run.operation, run.line))


def _sum(run: _IperfRun, role: str, whose: str) -> tuple[float, int]:
    rates = {key[2]: rate for key, rate in run.rates_bps.items() if key[:2] == (role, whose)}
    total = rates.pop("SUM", None)
    return sum(rates.values()) if total is None else total, len(rates) or 1


def _point(rate_bps: float, num_streams: int, operation: str, line: int) -> PointToPoint:
    return PointToPoint(
        program="iperf3",
        operation=operation,
        size_bytes=None,
        rate_bps=rate_bps,
        num_streams=num_streams,
        line=line,
    )


def _of_json(text: str, bad: BadLineTally) -> list[PointToPoint]:
    """Return the tests of one document or several, as a server writes them one after another."""
    rows: list[PointToPoint] = []
    decoder = json.JSONDecoder()
    at, line = text.find("{"), 1
    while at >= 0:
        try:
            whole, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            bad.add(line, "the JSON is cut or no JSON", text[at : at + 80])
            break
        line += text.count("\n", at, end)
        _take_document(whole, line, rows, bad)
        at = text.find("{", end)
    return rows


def _take_document(whole: Any, line: int, rows: list[PointToPoint], bad: BadLineTally) -> None:
    try:
        test = whole.get("start", {}).get("test_start", {})
        operation = str(test.get("protocol", "TCP")).lower()[:8]
        ends = whole["end"]
        sums = [_received(ends, suffix) for suffix in ("", "_bidir_reverse")]
        num_streams = int(test.get("num_streams", 0))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        error = str(whole.get("error", "no result")) if isinstance(whole, dict) else "no result"
        bad.add(line, f"a test without an end: {error[:80]}")
        return
    kept = [rate_bps for rate_bps in sums if rate_bps]
    if not kept:
        bad.add(line, "a test that moved nothing")
    rows += [
        _point(rate_bps, num_streams, operation, line) for rate_bps in kept if bad.has_room(line)
    ]


def _received(ends: dict[str, Any], suffix: str) -> float:
    """Return the bits a second that arrived; those sent where the other end did not say."""
    for key in (f"sum_received{suffix}", f"sum{suffix}", f"sum_sent{suffix}"):
        one = ends.get(key)
        if one is not None:
            rate_bps = number(str(float(one["bits_per_second"])))
            if rate_bps:
                return rate_bps
    return 0.0
