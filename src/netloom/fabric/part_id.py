"""What a part of a network is, apart from how people write it.

Text is made at the edges: ``str(part)`` for reports, JSON and stores, :meth:`PartId.parse` for
what comes back from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from netloom.errors import SpecError

__all__ = ["Direction", "PartId"]

CABLE: Final = "cable"
NODE: Final = "node"
MANAGER: Final = "manager"
SUBNET: Final = "subnet"
_TEXT: Final = re.compile(r"(?P<kind>[a-z][a-z0-9-]*):(?P<index>\d{1,10})( \(.*)?", re.ASCII)
_MANAGER: Final = re.compile(r"opensm-(?P<subnet>\d{1,10})\.(?P<index>\d{1,10})", re.ASCII)
_SUBNET: Final = re.compile(r"subnet( (?P<index>\d{1,10}))?", re.ASCII)
_ONLY: Final = -1  # number of a subnet that has none: there is no other


class Direction(StrEnum):
    """Which of the two links of a cable is meant; up leads from its lower end to its upper one."""

    BOTH = "both"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, order=True)
class PartId:
    """A part of a network.

    Attributes:
        kind: ``cable``, ``node``, ``gpu``, ``nic``, ``scale-up``, a tier of switches (``leaf``),
            ``manager`` or ``subnet``.
        index: Its number among its kind; of a manager, in its subnet.
        direction: Of a cable.
        subnet: Of a manager.
        ends: What the lower and the upper end of a cable are called, where that is to be told. It
            explains the part and does not tell it from others.
    """

    kind: str
    index: int
    direction: Direction = Direction.BOTH
    subnet: int = 0
    ends: tuple[str, str] | None = field(default=None, compare=False)

    @classmethod
    def cable(cls, index: int) -> PartId:
        """Return a cable, both directions of it."""
        return cls(CABLE, index)

    @classmethod
    def node(cls, index: int) -> PartId:
        """Return a machine."""
        return cls(NODE, index)

    @classmethod
    def manager(cls, subnet: int, index: int) -> PartId:
        """Return a subnet manager."""
        return cls(MANAGER, index, subnet=subnet)

    @classmethod
    def parse(cls, text: str) -> PartId:
        """Return the part that ``str`` wrote as *text*, whole: its explanation is passed over.

        Raises:
            SpecError: it is not the name of a part.
        """
        if match := _TEXT.fullmatch(text):
            return cls(match["kind"], int(match["index"]))
        if match := _MANAGER.fullmatch(text):
            return cls.manager(int(match["subnet"]), int(match["index"]))
        if subnet := cls.subnet_called(text):
            return subnet
        raise SpecError(
            what=f"{text[:80]!r} is not the name of a part",
            remedy="names are like cable:40, leaf:3 or opensm-0.0",
        )

    @classmethod
    def subnet_called(cls, text: str) -> PartId | None:
        """Return the subnet called *text*: ``subnet 0``, or ``subnet`` where it is the only one."""
        match = _SUBNET.fullmatch(text)
        return cls(SUBNET, int(match["index"] or _ONLY)) if match else None

    @property
    def whole(self) -> PartId:
        """The part itself: both directions of a cable, without the names of its ends."""
        return PartId(self.kind, self.index, subnet=self.subnet)

    def __str__(self) -> str:
        """Return ``leaf:3``, ``cable:40 (leaf:3 - spine:0)``, one way ``(leaf:3->spine:0)``."""
        if self.kind == MANAGER:
            return f"opensm-{self.subnet}.{self.index}"
        if self.kind == SUBNET:
            return SUBNET if self.index == _ONLY else f"{SUBNET} {self.index}"
        name = f"{self.kind}:{self.index}"
        return f"{name} ({self._ends_text(*self.ends)})" if self.ends else name

    def _ends_text(self, lower: str, upper: str) -> str:
        match self.direction:
            case Direction.UP:
                return f"{lower}->{upper}"
            case Direction.DOWN:
                return f"{upper}->{lower}"
            case _:
                return f"{lower} - {upper}"
