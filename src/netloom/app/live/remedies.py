"""What could be done about a case, and what each does to the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.app.live.steps import faults_of

if TYPE_CHECKING:
    from netloom.app.live.steps import StepForecasts
    from netloom.app.live.twin import LiveTwin
    from netloom.ops.observe.cases import Case

__all__ = ["Remedy", "remedies_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing to do, and the step before and after it.

    Attributes:
        title: In words.
        acts: What would be done, in order.
        step_before_s: With what is broken now; None where it is not known or the job stops.
        step_after_s: Once it is done.
        capacity_away: The share of all cables that it takes out of use.
    """

    title: str
    acts: tuple[str, ...]
    step_before_s: float | None
    step_after_s: float | None
    capacity_away: float

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents."""
        return {
            "title": self.title,
            "acts": list(self.acts),
            "step_before_s": self.step_before_s,
            "step_after_s": self.step_after_s,
            "capacity_away": self.capacity_away,
        }


def remedies_of(twin: LiveTwin, forecasts: StepForecasts, case: Case) -> list[Remedy]:
    """Return draining the part, and repairing it, with the step of each."""
    now = twin.open_at(twin.now())
    part = str(case.part)
    before_s = forecasts.wait_for(faults_of(now))
    others = [one for one in now if one.part != case.part]
    share = len(twin.cells.cells_of(case.part)) / max(1, len(twin.cells.layout.cables))
    return [
        Remedy(
            title=f"Drain {part}: routing avoids it until it is repaired",
            acts=(f"drain {part}",),
            step_before_s=before_s,
            step_after_s=forecasts.wait_for(faults_of(now, drained=[part])),
            capacity_away=share,
        ),
        Remedy(
            title=f"Repair {part}",
            acts=(f"replace or reseat {part}",),
            step_before_s=before_s,
            step_after_s=forecasts.wait_for(faults_of(others)),
            capacity_away=0.0,
        ),
    ]
