"""Prometheus' text exposition format, read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from netloom.errors import LabError

__all__ = [
    "Exposition",
    "Sample",
    "parse_exposition",
]

MAX_BYTES: Final = 64 * 2**20


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
    for line in text[:MAX_BYTES].split("\n"):
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
