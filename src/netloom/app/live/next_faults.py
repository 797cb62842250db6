"""What if, on the live state: the step if one more part fails or is drained. Nothing is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.app.live.states import CableState, state_of_kind
from netloom.app.live.steps import faults_of
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.app.live.steps import Faults, Forecast, StepForecasts
    from netloom.app.live.twin import LiveTwin

__all__ = ["likely_next", "next_fault", "with_part"]

MAX_LIKELY: Final = 4
MAX_TIERS: Final = 4


def with_part(faults: Faults, part: str, act: str) -> Faults:
    """Return *faults* with one more part failed (``fail``) or drained (``drain``)."""
    fail, drain, slow = ({one for one in some if one.partition("=")[0] != part} for some in faults)
    (fail if act == "fail" else drain).add(part)
    return tuple(sorted(fail)), tuple(sorted(drain)), tuple(sorted(slow))


def next_fault(twin: LiveTwin, steps: StepForecasts, part: str) -> dict[str, Any]:
    """Return the step as designed, now, and if a part fails or is drained; null until known.

    Raises:
        SpecError: no cable and no device is called so.
    """
    if not twin.designed.plant.find(part):
        raise SpecError(key="part", what="it has no cables", remedy="choose another part")
    now = faults_of(twin.open_at(twin.now()))
    return {
        "part": part,
        "step_designed": _json(steps.find(((), (), ()))),
        "step_now": _json(steps.find(now)),
        "if_failed": _json(steps.find(with_part(now, part, "fail"))),
        "if_drained": _json(steps.find(with_part(now, part, "drain"))),
    }


def likely_next(twin: LiveTwin, steps: StepForecasts) -> list[dict[str, Any]]:
    """Return what is kept ready: parts that are ill already, then one switch of each tier."""
    now = faults_of(twin.open_at(twin.now()))
    found = [
        {"part": part, "because": why, "if_failed": _json(steps.find(with_part(now, part, "fail")))}
        for part, why in (*_ill(twin), *_one_of_each_tier(twin))
    ]
    found.sort(key=lambda one: -_badness(one["if_failed"]))
    return found


def _json(found: Forecast | None) -> dict[str, Any] | None:
    return None if found is None else found.to_json()


def _badness(found: Any) -> float:
    if found is None:
        return -1.0
    return float("inf") if found["step_s"] is None else float(found["step_s"])


def _ill(twin: LiveTwin) -> list[tuple[str, str]]:
    """Return the parts of open cases that still work; they have a fault already."""
    open_cases = twin.open_at(twin.now())
    ill = [case for case in open_cases if state_of_kind(case.kind) is not CableState.DOWN]
    return [(str(case.part).split(" (")[0], case.kind) for case in ill[:MAX_LIKELY]]


def _one_of_each_tier(twin: LiveTwin) -> list[tuple[str, str]]:
    blocks = twin.cells.layout.blocks
    first = {block.tier: block.rows[0] for block in reversed(blocks) if block.tier != "host"}
    return [(part, f"healthy; as any {tier}") for tier, part in list(first.items())[:MAX_TIERS]]
