"""One thing seen of one part at one time, and what a collector brings home from one look.

Parts are called as everywhere else: a device ``leaf:3``, a port ``leaf:3[7]``, a cable
``cable:40``, a job ``job:llama``, one of its ranks ``job:llama/rank:12``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Collector", "Event", "Observation", "Reading", "failed", "whole"]


@dataclass(frozen=True, slots=True)
class Observation:
    """A number.

    Attributes:
        time_s: When it was true, seconds since 1970 (UTC).
        part: Of what.
        metric: Which number: a name of :mod:`netloom.ops.observe.metrics`, or any other.
        value: In the unit that the metric's name carries; never NaN.
    """

    time_s: float
    part: str
    metric: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, in words.

    Attributes:
        time_s: When, seconds since 1970 (UTC).
        part: To what.
        kind: ``sm-error``, ``nccl-warning``, ``stuck-collective`` ...
        text: What was said; at most some hundred characters.
        key: What tells it from all others of its source: the same key is kept once.
    """

    time_s: float
    part: str
    kind: str
    text: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one look at one source gave.

    Attributes:
        source: The collector's name.
        time_s: When it looked.
        observations: Numbers.
        events: Things that happened.
        cursor: How far it has read; stored with the rest or not at all, and given back to the
            collector when it looks again, also after a restart.
        is_whole: Whether all that the source knows is here, so that a number it gave before and
            does not give now is gone.
        error: Why it saw nothing or only a part; empty when all went well.
        took_s: How long the look took.
    """

    source: str
    time_s: float
    observations: Sequence[Observation] = ()
    events: Sequence[Event] = ()
    cursor: str = ""
    is_whole: bool = False
    error: str = ""
    took_s: float = 0.0


class Collector(Protocol):
    """Something that can be looked at again and again."""

    @property
    def source(self) -> str:
        """Its name; no two collectors of a watch share one."""

    def read(self, time_s: float, cursor: str) -> Reading:
        """Look once.

        Args:
            time_s: Now.
            cursor: What the last reading that was stored had; empty the first time.

        Raises:
            NetloomError: it cannot be seen now.
        """


def whole(
    source: str, time_s: float, observations: Iterable[Observation], *, cursor: str
) -> Reading:
    """Return the reading of a look that saw all that its source knows."""
    seen = list(observations)
    return Reading(source=source, time_s=time_s, observations=seen, cursor=cursor, is_whole=True)


def failed(source: str, time_s: float, error: str, *, cursor: str) -> Reading:
    """Return the reading of a look that failed: nothing seen, nothing gone, and why."""
    return Reading(source=source, time_s=time_s, cursor=cursor, error=error[:500])
