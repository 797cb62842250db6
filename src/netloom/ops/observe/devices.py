"""What a device says of itself, whatever it is asked by; and what is needed to ask it.

A driver asks, a parser beside it makes a :class:`DeviceReport` of the answer: ports by the labels
the device gives them, numbers by the names of :mod:`netloom.ops.observe.metrics`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "DeviceAccess",
    "DeviceReport",
    "PortValue",
    "Secret",
    "SeenEvent",
    "SeenNeighbour",
    "mapping_of",
    "number_of",
    "printable",
]

MAX_TEXT: Final = 80


@final
class Secret:
    """A password, a token or a community; it shows itself to no log, message or traceback."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return it, to be given to the device."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> tuple[object, ...]:
        message = "a secret is not written down"
        raise TypeError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceAccess:
    """How to ask a device.

    Attributes:
        name: What people call it.
        address: Where it answers, as its kind of collector has it.
        user: The account; empty for none.
        secret: Its password, token or community.
        certificate: The authority that it is certified by; default: the system's own.
        deadline_s: How long one look may take.
        may_write: Whether it may be changed.
    """

    name: str
    address: str
    user: str = ""
    secret: Secret | None = None
    certificate: Path | None = None
    deadline_s: float = 5.0
    may_write: bool = False


class PortValue(NamedTuple):
    """A number of a port.

    Attributes:
        port: The port's label; empty for the device itself.
        metric: A name of :mod:`netloom.ops.observe.metrics`.
        value: In the unit of that name.
        inside: What of the port: ``queue:3``, ``priority:3``, ``lane:1``; empty for all of it.
        device: Whose port it is, where one that is asked speaks of others; empty for its own.
    """

    port: str
    metric: str
    value: float
    inside: str = ""
    device: str = ""


class SeenNeighbour(NamedTuple):
    """What a port sees at the other end of its cable: the device's name and its port's label.

    *here* is the device that the port is of, where one that is asked speaks of others.
    """

    port: str
    device: str
    device_port: str
    here: str = ""


class SeenEvent(NamedTuple):
    """Something that a device says has happened.

    Attributes:
        port: To which port; empty for the device itself.
        kind: ``ufm-alarm``, ``missing-rank`` ...
        text: In words.
        key: What tells it from all others of the device.
        device: Whose port it is; empty for its own.
    """

    port: str
    kind: str
    text: str
    key: str
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReport:
    """One answer.

    Attributes:
        values: Numbers; of two for the same port and metric the last holds.
        neighbours: What ports see; None where the device was not asked.
        aliases: Labels of the same ports under other names, such as those printed on the panel.
        events: What happened; the same key is kept once.
        missing: What could not be seen, in words; empty when all was.
        versions: What it runs, by component: ``os``, ``firmware``; ``model`` says what it is.
    """

    values: Sequence[PortValue] = ()
    neighbours: Sequence[SeenNeighbour] | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[SeenEvent] = ()
    missing: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def printable(text: str, limit: int = MAX_TEXT) -> str:
    """Return at most *limit* characters of what a device said, none that moves a cursor.

    >>> printable("leaf01" + chr(27) + "[2J")
    'leaf01?[2J'
    """
    return "".join(c if c.isprintable() else "?" for c in text[:limit])


def mapping_of(value: Any, *keys: str) -> dict[str, Any]:
    """Return the JSON object at a path of keys; empty where there is none.

    >>> mapping_of({"a": {"b": {"c": 1}}}, "a", "b"), mapping_of([], "a")
    ({'c': 1}, {})
    """
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def number_of(value: Any) -> float | None:
    """Return a finite number that JSON has as such; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
