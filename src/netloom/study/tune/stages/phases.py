"""What may change from phase to phase, and how fast a fabric must be for it to pay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHANGES", "StagePhase", "phases_of"]

SETTLED_SHARE: Final = 0.01  # of a phase, in which a change must take effect
# What a change takes; all assumed, from the slowest step of each way.
CHANGES: Final[Mapping[str, float]] = {
    "code point of a packet (per class, set once)": 0.0,
    "queue pair attributes through the driver": 100e-6,
    "NIC congestion control through firmware": 10e-3,
    "switch configuration through its database": 1.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePhase:
    """A class's turns in a step.

    Attributes:
        name: Of the class.
        count: Collectives of it in a step.
        phase_s: How long one lasts, in the mean.
    """

    name: str
    count: int
    phase_s: float

    @property
    def within_s(self) -> float:
        """How fast a change must take effect: a hundredth of the phase."""
        return SETTLED_SHARE * self.phase_s

    @property
    def can_change(self) -> tuple[str, ...]:
        """The ways of changing settings that are fast enough."""
        return tuple(name for name, takes_s in CHANGES.items() if takes_s <= self.within_s)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "class": self.name,
            "count": self.count,
            "phase_s": self.phase_s,
            "change_within_s": self.within_s,
            "can_change": list(self.can_change),
        }


def phases_of(counts: Mapping[str, int], time_s: Mapping[str, float]) -> tuple[StagePhase, ...]:
    """Return the phase of each class, from how often it runs and its time in a step."""
    return tuple(
        StagePhase(name=name, count=count, phase_s=time_s.get(name, 0.0) / max(count, 1))
        for name, count in counts.items()
    )
