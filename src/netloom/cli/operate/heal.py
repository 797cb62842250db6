"""``netloom heal``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.app import heal as app
from netloom.cli.arguments import OptionalWhole
from netloom.cli.operate.designed import inputs_at
from netloom.cli.output import emit_json

if TYPE_CHECKING:
    from netloom.app.heal import HealReport

__all__ = ["heal"]


def heal(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    lab: str,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    policy: Path | None = None,
    yes: bool = False,
    undo: OptionalWhole = None,
    watch_host: tuple[str, ...] = (),
    store: Path | None = None,
    catalog: Path | None = None,
    json: bool = False,
) -> int:
    """Find what is broken in a lab, plan what to do, and do what policy allows.

    Nothing is done unless a policy allows it or --yes is given. The exit status is 1 when
    something was tried that did not help, or a plan was refused.

    Args:
        scenario: The scenario file that the lab was made from.
        lab: Name of the lab.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        policy: A YAML file with a section 'heal': docs/heal.md.
        yes: Carry out the plans that ask, too; never those that are refused.
        undo: Undo the act of this number in the log, such as a drain once the part is repaired.
        watch_host: Hosts (nic:3) whose partitions must stay as they are (default: some of them).
        store: The store of a watch: its open cases are healed too; what a fresh look does not
            confirm asks.
        catalog: A TOML file with parts of your own.
        json: Print JSON; keys are documented in docs/heal.md.
    """
    allowed = app.policy_from(policy)
    if undo is not None:
        undone = app.undo(undo, lab=lab, folder=folder, policy=allowed)
        emit_json(undone.to_json()) if json else print(undone.says)
        return 0
    with inputs_at(scenario, catalog) as (read, parts):
        target = app.target_of(read, parts)
    done = app.heal(
        target,
        lab=lab,
        folder=folder,
        policy=allowed,
        yes=yes,
        watch_hosts=watch_host,
        store=store,
    )
    emit_json(done.to_json()) if json else _print(done)
    return int(done.has_failed or done.has_refused)


def _print(done: HealReport) -> None:
    # Slow, and JSON has no use for them.
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.ops.heal import heal_text  # noqa: PLC0415

    rows = [(step.plan, step.decision, step.outcome) for step in done.steps]
    Console().print(heal_text(rows, log=done.log, took_s=done.took_s))
