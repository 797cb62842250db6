"""Prometheus: its text exposition format, read, and a thin scrape.

The format is that of prometheus.io/docs/instrumenting/exposition_formats (version 0.0.4). What a
target says is hostile input: it is cut at a size, and a line that is none of the format is
counted and passed over, never half-read.
"""

from __future__ import annotations

import math
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from netloom.errors import LabError, SpecError

__all__ = ["Exposition", "Sample", "check_url", "parse_exposition", "scrape"]

MOST_BYTES: Final = 64 * 2**20
TIMEOUT_S: Final = 10.0
MEDIA: Final = "text/plain;version=0.0.4"

_LINE: Final = re.compile(
    r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]{0,255})[ \t]*"
    r"(?:\{(?P<labels>(?:[^\"{}]|\"(?:[^\"\\]|\\.)*\")*)\})?[ \t]*"
    r"(?P<value>[^ \t]{1,40})(?:[ \t]+(?P<time>-?\d{1,18}))?[ \t]*"
)
_LABEL: Final = re.compile(
    r"[ \t]*(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*"
    r"\"(?P<value>(?:[^\"\\]|\\.)*)\"[ \t]*(?:,|$)"
)
_ESCAPES: Final = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SPECIAL: Final = {"NaN": math.nan, "+Inf": math.inf, "Inf": math.inf, "-Inf": -math.inf}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line: a name, its labels and its value; the time only where the target gave one."""

    name: str
    labels: dict[str, str]
    value: float
    time_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposition:
    """What a target said.

    Attributes:
        samples: In its order.
        num_odd: Lines that are none of the format.
    """

    samples: tuple[Sample, ...]
    num_odd: int


def parse_exposition(text: str) -> Exposition:
    """Return the samples in *text*.

    Raises:
        LabError: it has lines, and not one of them is of the format.
    """
    samples: list[Sample] = []
    num_odd = 0
    for line in text[:MOST_BYTES].split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        sample = _sample(line.strip(" \t\r"))
        if sample is None:
            num_odd += 1
        else:
            samples.append(sample)
    if num_odd and not samples:
        message = f"what the target said is not Prometheus' format ({text.strip()[:80]!r})"
        raise LabError(message)
    return Exposition(samples=tuple(samples), num_odd=num_odd)


def _sample(line: str) -> Sample | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    value = _value(match["value"])
    labels = _labels(match["labels"] or "")
    if value is None or labels is None:
        return None
    time_s = int(match["time"]) / 1000 if match["time"] else None
    return Sample(name=match["name"], labels=labels, value=value, time_s=time_s)


def _value(text: str) -> float | None:
    if text in _SPECIAL:
        return _SPECIAL[text]
    return float(text) if _NUMBER.fullmatch(text) else None


def _labels(text: str) -> dict[str, str] | None:
    """Return the labels, or None where they are not of the format or one stands twice."""
    labels: dict[str, str] = {}
    place = 0
    while place < len(text.rstrip(" \t")):
        match = _LABEL.match(text, place)
        if match is None or match["name"] in labels:
            return None
        labels[match["name"]] = re.sub(
            r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), match["value"], flags=re.DOTALL
        )
        place = match.end()
    return labels


def check_url(url: str) -> str:
    """Return *url*.

    Raises:
        SpecError: it is not one of http or https with a host.
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        fine = False
    if not fine:
        message = f"--scrape: {url[:80]!r} will not do; write such as 'http://node1:9100/metrics'"
        raise SpecError(message)
    return url


def scrape(url: str, *, timeout_s: float = TIMEOUT_S) -> Exposition:
    """Return what a target says now.

    Raises:
        LabError: it does not answer, answers with an error, or says something else.
    """
    request = urllib.request.Request(check_url(url), headers={"Accept": MEDIA})  # noqa: S310
    try:
        with _opener().open(request, timeout=timeout_s) as answer:
            body: bytes = answer.read(MOST_BYTES + 1)
    except (OSError, ValueError, urllib.error.URLError) as error:
        message = f"{_shown(url)}: no answer ({getattr(error, 'reason', error)}); is it up?"
        raise LabError(message) from error
    if len(body) > MOST_BYTES:
        message = f"{_shown(url)}: says more than {MOST_BYTES >> 20} MiB; ask it for less"
        raise LabError(message)
    return parse_exposition(body.decode("utf-8", errors="replace"))


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for HTTP alone: no proxy, no redirect, no file, no FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _shown(url: str) -> str:
    """Return *url* as it may be told: without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or ''}{parts.path}"
