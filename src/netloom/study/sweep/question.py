"""A question that a sweep puts to every point, and how its answers become rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netloom.spec.scenario import Scenario
    from netloom.spec.strict import Strict

__all__ = ["SweepQuestion", "SweepRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """What one point asks.

    Attributes:
        options: Of the question's own type; None where it has none.
        seed: None where the question has no randomness.
    """

    scenario: Scenario
    options: Strict | None = None
    seed: int | None = None


def _whole(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepQuestion:
    """A question, and how its answers become rows of a table.

    Attributes:
        ask: Answers it, as plain data; a function at the top of its module, since other
            processes look it up by its name. Equal arguments give equal answers.
        shown: Numbers of a row that reports show, the most important first.
        rows: The parts of an answer that are one row each.
        label: The text in a row that tells it from others of the same point; empty for none.
        seeded: Whether the seed matters.
        options: What options it takes; None for none.
    """

    ask: Callable[[SweepRequest], dict[str, Any]]
    shown: tuple[str, ...]
    rows: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]] = _whole
    label: str = ""
    seeded: bool = False
    options: type[Strict] | None = None
