"""Plan a rolling drain of a whole fabric, each step tried on the flow engine first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.app.heal.target import target_of
from netloom.errors import SpecError
from netloom.fabric import edit
from netloom.ops.drain.rolling import rolling_drain
from netloom.ops.heal.effect import trial_of
from netloom.spec.heal import HealPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.app.heal.run import HealTarget
    from netloom.ops.drain.rolling import RollingDrain
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["MAX_AT_ONCE", "SOAK_S", "TAKES_S", "roll"]

TAKES_S: Final = 1800.0  # drain, install, boot, undrain: half an hour (assumed)
SOAK_S: Final = 3600.0  # assumed
MAX_AT_ONCE: Final = 1000


def roll(  # noqa: PLR0913  (what to plan, and within which limits)
    scenario: Scenario | HealTarget,
    *,
    reason: str = "upgrade",
    policy: HealPolicy | None = None,
    takes_s: float = TAKES_S,
    soak_s: float = SOAK_S,
    at_once: int = 1,
    away: Sequence[str] = (),
    catalog: Catalog | None = None,
    on_step: Callable[[int, int], object] | None = None,
) -> RollingDrain:
    """Plan how every switch of a network is taken out of use once, one step after the other.

    Nothing is changed: each step says what the job loses, and whether policy allows it.

    >>> import netloom as nl
    >>> plan = roll(nl.load("cluster.yaml"), reason="upgrade")  # doctest: +SKIP
    >>> [step.slowdown for step in plan.steps]  # doctest: +SKIP

    Args:
        scenario: The network, and the job on it where it has one.
        reason: What it is for, in a word.
        policy: Its limits hold for each step; default: those of ``netloom heal``.
        takes_s: How long a step keeps its switches out of use.
        soak_s: How long the first switch, the canary, is watched before the next.
        at_once: Switches without hosts in one step.
        away: Parts that are down or drained already, such as ``spine:3`` or ``cable:40``.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        on_step: Told how many steps are tried, of how many.

    Raises:
        SpecError: a part is not there, or a number is out of range.
        NetloomError: the network cannot be built.
    """
    if not 1 <= at_once <= MAX_AT_ONCE:
        raise SpecError(option="--at-once", what=f"{at_once} is not between 1 and {MAX_AT_ONCE}")
    target = target_of(scenario, catalog)
    now = target.fabric
    for part in away:
        now = edit.drain(now, part)
    trial = trial_of(target.fabric, target.technology, (), (), step_s=target.step_s, now=now)
    return rolling_drain(
        trial,
        policy or HealPolicy(),
        reason=reason,
        takes_s=takes_s,
        soak_s=soak_s,
        at_once=at_once,
        on_step=on_step,
    )
