"""``netloom lab``: a scenario's fabric, live on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from netloom.app import lab as app
from netloom.cli.arguments import OptionalWhole, Whole
from netloom.cli.operate.designed import designed_at
from netloom.cli.output import emit_json
from netloom.cli.progress import progress
from netloom.errors import SpecError
from netloom.ops.lab import FAULT_KINDS
from netloom.report.ops.lab import status_text, up_text

if TYPE_CHECKING:
    from netloom.app.lab import FaultReport

__all__ = ["lab"]

lab = App(
    name="lab",
    help="Run a scenario's network live on this machine, and break it.",
    default_parameter=Parameter(negative=()),
)

Kind = Literal[
    "unlink",
    "relink",
    "flap",
    "error-rate",
    "symbol-errors",
    "silent-drop",
    "slow-link",
    "dead-switch",
    "dead-sm",
    "miswire",
    "clear",
]
Folder = Annotated[Path | None, Parameter(name="--dir")]


@lab.command
def up(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    name: str = "",
    folder: Folder = None,
    routing: str = "",
    managers: Whole = 1,
    catalog: Path | None = None,
    json: bool = False,
) -> None:
    """Start the network of a scenario on this machine, in place of an earlier lab of its name.

    InfiniBand runs ibsim and OpenSM and needs no privileges; Ethernet runs FRR in network
    namespaces and needs root.

    Args:
        scenario: A scenario file; only its cluster matters.
        name: What to call the lab (default: the name of the scenario's file).
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        routing: OpenSM's routing engine, such as updn, ftree, nue (default: the topology's own).
        managers: Subnet managers of each subnet; those after the first stand by.
        catalog: A TOML file with parts of your own.
        json: Print JSON; keys are documented in docs/operate/lab.md.
    """
    designed = designed_at(scenario, catalog)
    with progress("starting", None):
        made = app.up(
            designed,
            name=name,
            source=str(scenario),
            folder=folder,
            routing=routing,
            num_managers=managers,
        )
    emit_json(made.to_json()) if json else print(
        up_text(made.lab, made.plant, remains=made.removed)
    )


@lab.command
def status(name: str = "", *, folder: Folder = None, json: bool = False) -> None:
    """Say what runs in a lab: switches, hosts, cables, subnet managers, faults in force.

    Args:
        name: Of the lab; when left out, the labs that there are.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        json: Print JSON; keys are documented in docs/operate/lab.md.
    """
    if name:
        found = app.status(name, folder=folder)
        emit_json(found.to_json()) if json else print(status_text(found))
        return
    known = app.names(folder=folder)
    if json:
        emit_json(known.to_json())
    else:
        print("\n".join(known.labs) or "there are no labs; start one with 'netloom lab up'")


@lab.command
def fault(  # noqa: PLR0913  (one option of the command each)
    name: str,
    kind: Kind,
    *parts: str,
    share: float | None = None,
    count: OptionalWhole = None,
    factor: float | None = None,
    larger_than: OptionalWhole = None,
    folder: Folder = None,
    json: bool = False,
) -> None:
    """Break a part of a lab, or repair it again.

    A part is a cable (cable:40), all cables between two devices (link:leaf:3-spine:0), one
    direction of them (leaf:3->spine:0), or every cable of a device (leaf:3).

    Args:
        name: Of the lab.
        kind: What to do; clear undoes the faults of the numbers given (default: all).
        parts: What to do it to; miswire takes two cables, dead-sm a manager or nothing.
        share: Of the packets, 0 to 1: error-rate and silent-drop.
        count: How many: flap and symbol-errors.
        factor: How much slower: slow-link.
        larger_than: Drop only packets of more bytes: error-rate and silent-drop.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        json: Print JSON.
    """
    if kind == "clear":
        done = app.clear(name, *_numbers(parts), folder=folder)
    else:
        given = {"share": share, "count": count, "factor": factor, "larger_than_bytes": larger_than}
        settings = {key: float(value) for key, value in given.items() if value is not None}
        done = app.fault(name, kind, *parts, settings=settings, folder=folder)
    emit_json(done.to_json()) if json else _print(done)


def _print(done: FaultReport) -> None:
    for one in done.faults:
        is_undone = done.verb == "cleared"
        print(f"undone: {one.did}" if is_undone else f"{one.did}; to undo: {one.undo}")
    if not done.faults:
        print("no fault was in force")


def _numbers(parts: tuple[str, ...]) -> tuple[int, ...]:
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) < 10):
            raise SpecError(
                key="clear",
                what=f"{part[:40]!r} is not the number of a fault",
                remedy="see 'netloom lab status'",
            )
    return tuple(int(part) for part in parts)


@lab.command
def down(name: str, *, folder: Folder = None, json: bool = False) -> None:
    """Remove a lab, also what is left of one that was killed.

    Args:
        name: Of the lab.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        json: Print JSON; keys are documented in docs/operate/lab.md.
    """
    done = app.down(name, folder=folder)
    emit_json(done.to_json()) if json else print(f"lab {name!r}: removed {done.removed}")


assert set(FAULT_KINDS) | {"clear"} == set(Kind.__args__)  # type: ignore[attr-defined]
