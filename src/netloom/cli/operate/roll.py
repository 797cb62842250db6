"""``netloom roll``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.app.heal import policy_from
from netloom.cli.operate.designed import inputs_at
from netloom.cli.output import emit_json
from netloom.cli.progress import reporting
from netloom.units import TIME, parse_quantity

if TYPE_CHECKING:
    from netloom.ops.drain.rolling import RollingDrain

__all__ = ["roll"]


def roll(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    reason: Annotated[str, Parameter(name="--for")] = "upgrade",
    policy: Path | None = None,
    takes: str = "30min",
    soak: str = "1h",
    at_once: int = 1,
    away: list[str] | None = None,
    catalog: Path | None = None,
    json: bool = False,
) -> int:
    """Plan how every switch is taken out of use once, and what the job loses at each step.

    Nothing is changed. Each step is tried on the flow engine; the first is the canary. The exit
    status is 1 when policy refuses a step.

    Args:
        scenario: A scenario file: the network, and the job on it.
        reason: What it is for, in a word.
        policy: A YAML file with a section 'heal', whose limits hold: docs/operate/heal.md.
        takes: How long a step keeps its switches out of use.
        soak: How long the canary is watched before the next step.
        at_once: Switches without hosts in one step.
        away: A part that is down or drained already, such as spine:3; may be given several times.
        catalog: A TOML file with parts of your own.
        json: Print JSON; keys are documented in docs/operate/roll.md.
    """
    from netloom.app.roll import roll as plan_roll  # noqa: PLC0415  (slow to import)

    allowed = policy_from(policy)
    takes_s = parse_quantity(takes, TIME, where="--takes")
    soak_s = parse_quantity(soak, TIME, where="--soak")
    with inputs_at(scenario, catalog) as (read, parts), reporting("trying steps") as told:
        plan = plan_roll(
            read,
            reason=reason,
            policy=allowed,
            takes_s=takes_s,
            soak_s=soak_s,
            at_once=at_once,
            away=away or (),
            catalog=parts,
            on_step=told,
        )
    emit_json(plan.to_json()) if json else _print(plan)
    return int(any(step.verdict == "refuse" for step in plan.steps))


def _print(plan: RollingDrain) -> None:
    # Slow, and JSON has no use for them.
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.ops.drain import drain_text  # noqa: PLC0415

    Console().print(drain_text(plan))
