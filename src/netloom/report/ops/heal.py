"""Plans of healing as text: what is wrong, what would be done, what it changes, what came of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from netloom.ops.heal.act import HealOutcome
    from netloom.ops.heal.effect import PlanEffect
    from netloom.ops.heal.plan import HealPlan
    from netloom.ops.heal.policy import Decision

__all__ = ["heal_text"]

_VERDICTS = {
    "run": "policy lets it run",
    "ask": "asks first (--yes {name} answers)",
    "refuse": "is not done, even with consent",
}


def heal_text(
    rows: Sequence[tuple[HealPlan, Decision, HealOutcome | None]],
    *,
    log: str = "",
    took_s: Mapping[str, float] | None = None,
    stale: Sequence[str] = (),
) -> RenderableType:
    """Return what ``netloom heal`` prints."""
    if not rows and not stale:
        return Text("Nothing to heal.", style="green")
    parts = [_step(rank, *row) for rank, row in enumerate(rows, start=1)]
    parts += [Text(f"refused: {line}", style="red") for line in stale]
    if any(outcome for _, _, outcome in rows):
        spent = ", ".join(f"{what} {time_s:.1f} s" for what, time_s in (took_s or {}).items())
        ending = f" (took {spent})" if spent else ""
        return Group(*parts, Text(f"Everything that was done is in {log}{ending}"))
    return Group(*parts, Text("Nothing was done."))


def _step(
    rank: int, plan: HealPlan, decision: Decision, outcome: HealOutcome | None
) -> RenderableType:
    finding = plan.finding
    head = Text.assemble(
        (f"{rank}. {finding.part}", "bold"), f": {finding.kind}, {finding.confidence:.0%} sure"
    )
    acts = ", ".join(act.name for act in plan.acts)
    lines = [*finding.evidence, f"plan {plan.fingerprint}: {acts}"]
    lines += [f"sends {request}" for request in plan.requests]
    lines += _effect(plan.effect)
    verdict = _VERDICTS[decision.verdict].format(name=plan.fingerprint)
    lines.append("; ".join([verdict, *decision.reasons]))
    if outcome is not None:
        lines += [*outcome.says, f"result: {outcome.result}"]
    return Group(head, *(Padding(Text(f"- {line}"), (0, 0, 0, 3)) for line in lines))


def _effect(effect: PlanEffect) -> Iterator[str]:
    times = [_time(t) for t in (effect.healthy_s, effect.before_s, effect.after_s)]
    yield f"trial flows take {times[0]} when all is well, {times[1]} now, {times[2]} with the plan"
    if effect.step_before_s is not None and effect.step_after_s is not None:
        yield (
            f"a step of the job takes {_time(effect.step_before_s)} now, "
            f"{_time(effect.step_after_s)} with the plan"
        )
    before, after = effect.away_before, effect.away_after
    yield (
        f"capacity between switches away: {before.share:.2%} now, {after.share:.2%} with the plan "
        f"(at most {after.uplink_share:.1%} of one switch's uplinks)"
    )
    if effect.num_nodes:
        yield f"takes {effect.num_nodes} machines from jobs"


def _time(time_s: float) -> str:
    return "never" if math.isinf(time_s) else f"{time_s * 1e3:.3g} ms"
