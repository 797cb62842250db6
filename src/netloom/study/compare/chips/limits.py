"""What limits a chip on a job: the step again, one thing at a time made perfect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.study.predict.prediction import step_on

if TYPE_CHECKING:
    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model, Technology
    from netloom.spec.scenario import Scenario
    from netloom.step.model import Step

__all__ = ["ChipLimit", "limits_of"]

NEGLIGIBLE: Final = 0.001  # of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipLimit:
    """What a step would save.

    Attributes:
        what: What is made perfect.
        saved_s: Of the step.
        saved_share: Of the step.
        is_own: Whether it is the chip's, or what all chips share.
    """

    what: str
    saved_s: float
    saved_share: float
    is_own: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {"what": self.what, "saved_s": self.saved_s, "saved_share": self.saved_share}


def limits_of(
    network: Network, scenario: Scenario, *, model: Model, engine: Engine, step: Step
) -> tuple[ChipLimit, ...]:
    """Return what the step would save, the largest first.

    Paths: every link loaded alike, nothing lost to collisions. Latency: nothing but cables. Ports:
    what is still exposed after both, which wider ports or less to send would save.
    """
    technology = network.technology
    ways = {"paths": _even(technology), "latency": _prompt(technology)}
    both = _prompt(_even(technology))
    found = []
    for what, better in ways.items():
        other = _step(network, better, scenario, model=model, engine=engine)
        found.append(_limit(what, step.duration_s - other.duration_s, step))
    ideal = _step(network, both, scenario, model=model, engine=engine)
    left = _limit("port rate", sum(ideal.exposed_s.values()), step)
    found.append(replace(left, is_own=False))
    kept = [limit for limit in found if limit.saved_share >= NEGLIGIBLE]
    return tuple(sorted(kept, key=lambda limit: -limit.saved_s))


def _limit(what: str, saved_s: float, step: Step) -> ChipLimit:
    share = float(saved_s / step.duration_s)
    return ChipLimit(what=what, saved_s=float(saved_s), saved_share=share)


def _even(technology: Technology) -> Technology:
    return technology.model_copy(update={"load_balancing": "spray", "path_efficiency": 1.0})


def _prompt(technology: Technology) -> Technology:
    nothing = dict.fromkeys(type(technology.latency).model_fields, 0.0)
    budget = technology.latency.model_copy(update=nothing)
    return technology.model_copy(update={"latency": budget})


def _step(
    network: Network, technology: Technology, scenario: Scenario, *, model: Model, engine: Engine
) -> Step:
    other = replace(network, technology=technology)
    return step_on(other, scenario, model=model, engine=engine)
