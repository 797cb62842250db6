"""``netloom heal``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.app import audit
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
    lab: str | None = None,
    inventory: Path | None = None,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    policy: Path | None = None,
    yes: str = "",
    by: str = "",
    act: tuple[str, ...] = (),
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    undo: OptionalWhole = None,
    watch_host: tuple[str, ...] = (),
    store: Path | None = None,
    names: Path | None = None,
    ports: Path | None = None,
    catalog: Path | None = None,
    json: bool = False,
) -> int:
    """Find what is broken in a lab or on real devices, plan what to do, and do what is allowed.

    Nothing is done unless a policy allows it or --yes names a plan. The exit status is 1 when
    something was tried that did not help, or a plan was refused, as one that is stale.

    Args:
        scenario: The scenario file that the lab or the network was made from.
        lab: Name of the lab.
        inventory: A file with the devices to ask; those with write: true may be changed
            (docs/operate/actuators.md).
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs); with --inventory, where
            its log, plans and tickets are.
        policy: A YAML file with a section 'heal': docs/operate/heal.md.
        yes: Carry out the plan of this name, as an earlier run has shown it, and no other; never
            one that is refused.
        by: Who approves it; stands in the log (default: the user).
        act: Plan this too: 'drain cable:40', 'shut cable:40', 'drain spine:1', 'cordon node:3'.
        dry_run: Do nothing, whatever policy says; print the exact requests of every plan.
        undo: Undo the act of this number in the log, such as a drain once the part is repaired.
        watch_host: Hosts (nic:3) whose partitions must stay as they are (default: some of them).
        store: The store of a watch: its open cases are healed too; what a fresh look does not
            confirm asks.
        names: A CSV file with the columns name and device: what real devices are called here.
        ports: A CSV file with the columns device, label and port: our numbers of real ports.
        catalog: A TOML file with parts of your own.
        json: Print JSON; keys are documented in docs/operate/heal.md.
    """
    allowed = app.policy_from(policy)
    with inputs_at(scenario, catalog) as (read, parts):
        target = None if undo is not None else app.target_of(read, parts)
        site = app.site_of(
            read,
            lab=lab,
            inventory=inventory,
            folder=folder,
            naming=audit.naming_from(names, ports),
            catalog=parts,
        )
    if target is None:
        assert undo is not None
        undone = app.undo(undo, site=site, policy=allowed, by=by)
        emit_json(undone.to_json()) if json else print(undone.says)
        return 0
    done = app.heal(
        target,
        site=site,
        policy=allowed,
        yes=yes,
        by=by,
        act=act,
        dry_run=dry_run,
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
    stale = [f"{one.name}: {one.says}" for one in done.stale]
    Console().print(heal_text(rows, log=done.log, took_s=done.took_s, stale=stale))
