"""``netloom lab``: a scenario's fabric, live on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from netloom.cli.arguments import OptionalWhole, Whole
from netloom.ops.lab import FAULT_KINDS, InjectedFault, default_name

if TYPE_CHECKING:
    from netloom.app.lab.labs import LabRequest
    from netloom.app.lab.store import LabFolder

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
def up(
    scenario: Path,
    *,
    name: str = "",
    folder: Folder = None,
    routing: str = "",
    managers: Whole = 1,
    own: Path | None = None,
) -> None:
    """Start the network of a scenario on this machine, in place of an earlier lab of its name.

    InfiniBand runs ibsim and OpenSM and needs no privileges; Ethernet runs FRR in network
    namespaces and needs root.

    Args:
        scenario: A scenario file; only its cluster matters.
        name: What to call the lab; the scenario's file name without.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        routing: OpenSM's routing engine, such as updn, ftree, nue; the topology's own without.
        managers: Subnet managers of each subnet; those after the first stand by.
        own: A TOML file with parts of your own.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.app.lab.labs import bring_up  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.report.ops.lab import up_text  # noqa: PLC0415

    place = _place(name or default_name(scenario.stem), folder)
    plan = _plan(scenario, own, routing=routing, managers=managers)
    with progress("starting", None):
        made, remains = bring_up(place, plan)
    print(up_text(made, plan.plant, remains=str(remains) if remains.found else ""))


def _plan(scenario: Path, own: Path | None, *, routing: str, managers: int) -> LabRequest:
    from netloom.app.lab.labs import LabRequest  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.fabric.build import build  # noqa: PLC0415
    from netloom.ops.plant import plant_of  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.networks import network_of  # noqa: PLC0415

    with scenario_at(scenario) as read:
        network = network_of(read.cluster, catalog_of(read, own))
        fabric = build(network.design, network.node, network.scale_up)
    return LabRequest(
        scenario=str(scenario),
        network=network,
        plant=plant_of(fabric),
        engine=routing,
        num_managers=managers,
    )


def _place(name: str, folder: Path | None) -> LabFolder:
    from netloom.app.lab.store import LabFolder, default_folder  # noqa: PLC0415

    return LabFolder.of(name, folder or default_folder())


@lab.command
def status(name: str = "", *, folder: Folder = None, json: bool = False) -> None:
    """Say what runs in a lab: switches, hosts, cables, subnet managers, faults in force.

    Args:
        name: Of the lab; without, the labs there are.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        json: Print JSON; keys are documented in docs/lab.md.
    """
    from netloom.app.lab.status import status_of  # noqa: PLC0415
    from netloom.app.lab.store import default_folder, known_labs  # noqa: PLC0415
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.report.ops.lab import status_text  # noqa: PLC0415

    if not name:
        labs = known_labs(folder or default_folder())
        if json:
            emit_json({"labs": labs})
        else:
            print("\n".join(labs) or "there are no labs; start one with 'netloom lab up'")
        return
    found = status_of(_place(name, folder))
    if json:
        emit_json(found)
    else:
        print(status_text(found))


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
    """Break a part of a lab, or mend it again.

    A part is a cable (cable:40), all cables between two devices (link:leaf:3-spine:0), one
    direction of them (leaf:3->spine:0), or every cable of a device (leaf:3).

    Args:
        name: Of the lab.
        kind: What to do; clear undoes the faults of the numbers given, all without.
        parts: What to do it to; miswire takes two cables, dead-sm a manager or nothing.
        share: Of the packets, 0 to 1: error-rate and silent-drop.
        count: How many: flap and symbol-errors.
        factor: How much slower: slow-link.
        larger_than: Drop only packets of more bytes: error-rate and silent-drop.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        json: Print JSON.
    """
    from netloom.app.lab.labs import clear, inject  # noqa: PLC0415
    from netloom.cli.output import emit_json  # noqa: PLC0415

    place = _place(name, folder)
    if kind == "clear":
        done = clear(place, _numbers(parts))
    else:
        given = {"share": share, "count": count, "factor": factor, "larger_than_bytes": larger_than}
        settings = {key: float(value) for key, value in given.items() if value is not None}
        done = (inject(place, InjectedFault(number=0, kind=kind, parts=parts, settings=settings)),)
    if json:
        emit_json({"cleared" if kind == "clear" else "injected": done})
        return
    for one in done:
        undone = "undone: " if kind == "clear" else ""
        print(f"{undone}{one.did}" if undone else f"{one.did}; to undo: {one.undo}")
    if not done:
        print("no fault was in force")


def _numbers(parts: tuple[str, ...]) -> tuple[int, ...]:
    from netloom.errors import SpecError  # noqa: PLC0415

    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) < 10):
            message = f"clear: {part[:40]!r} is not the number of a fault; see 'netloom lab status'"
            raise SpecError(message)
    return tuple(int(part) for part in parts)


@lab.command
def down(name: str, *, folder: Folder = None) -> None:
    """Remove a lab, also what is left of one that was killed.

    Args:
        name: Of the lab.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
    """
    from netloom.app.lab.labs import bring_down  # noqa: PLC0415

    print(f"lab {name!r}: removed {bring_down(_place(name, folder))}")


assert set(FAULT_KINDS) | {"clear"} == set(Kind.__args__)  # type: ignore[attr-defined]
