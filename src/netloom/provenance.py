"""Where a number comes from, and how far it can be trusted.

Three small values travel with every result: the :class:`Source` of a constant, the
:class:`Validity` of a prediction, and the tree of :class:`Why` nodes that ``--why`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Confidence", "Source", "Validity", "Why"]

Confidence = Literal["measured", "published", "secondary", "recalled", "derived", "assumed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Who says so.

    Attributes:
        citation: The document, table or file the number was read in.
        confidence: ``published`` was read in a primary source, ``secondary`` in an
            account of it, ``recalled`` was not looked up; ``derived`` and ``assumed`` are ours.
        note: Conflicting claims and the reason for the choice among them.
    """

    citation: str
    confidence: Confidence
    note: str = ""


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether a prediction lies inside the range that was checked against measurements.

    Attributes:
        doubts: One sentence for each way in which it lies outside; empty means inside.
    """

    doubts: tuple[str, ...] = ()

    @property
    def inside(self) -> bool:
        """Whether nothing is in doubt."""
        return not self.doubts

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"inside": self.inside, "doubts": list(self.doubts)}

    def __and__(self, other: Validity) -> Validity:
        """Return the validity of a result that rests on both, each doubt once."""
        return Validity(tuple(dict.fromkeys(self.doubts + other.doubts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """One number, how it was obtained, and the numbers it was obtained from.

    Attributes:
        name: What the number is, as the glossary calls it.
        value: The number, in the base unit that *unit* names; or a choice, as text.
        unit: ``s``, ``B``, ``bit/s``, ``USD``, ``W``, ``FLOP/s`` ... or empty for a plain number.
        how: The formula in words, or for a constant, nothing.
        source: For a constant, who says so.
        parts: The numbers that the formula mentions.
    """

    name: str
    value: float | str
    unit: str = ""
    how: str = ""
    source: Source | None = None
    parts: tuple[Why, ...] = ()
