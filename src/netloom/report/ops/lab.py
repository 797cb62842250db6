"""A lab in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.ops.lab import Lab
    from netloom.ops.plant import Plant
    from netloom.ops.status import Count, LabStatus, ManagerStatus

__all__ = ["status_text", "up_text"]


def up_text(lab: Lab, plant: Plant, *, remains: str) -> str:
    """Return what to say of a lab that came up."""
    size = (
        f"{len(plant.switches):,} switches, {len(plant.hosts):,} hosts, "
        f"{len(plant.cables):,} cables"
    )
    how = f"OpenSM routes with {lab.engine}" if lab.kind == "infiniband" else "FRR runs eBGP"
    do = f"netloom lab fault {lab.name} unlink cable:{plant.cables[-1].number}"
    lines = [
        f"lab {lab.name!r} is up: {size}; {how}",
        f"try: netloom lab status {lab.name}; {do}; netloom lab down {lab.name}",
    ]
    before = [f"removed what was left of an earlier lab of this name: {remains}"] if remains else []
    return "\n".join([*before, *lines])


def status_text(status: LabStatus) -> str:
    """Return the status of a lab, a line for each thing."""
    dead = [one.name for one in status.programs if not one.is_running]
    lines = [
        f"lab {status.name!r} ({status.kind}): {status.phase}",
        f"switches {_of(status.switches)}, hosts {_of(status.hosts)}, cables {_of(status.cables)}",
        f"programs {len(status.programs) - len(dead)} of {len(status.programs)} running"
        + (f"; dead: {', '.join(dead[:8])}" if dead else ""),
    ]
    lines += [_manager_line(manager) for manager in status.managers]
    if status.sessions is not None:
        lines.append(f"BGP sessions {_of(status.sessions)}")
    if status.divergent:
        lines.append(f"kernel and FRR disagree on routes at: {', '.join(status.divergent)}")
    lines += [f"fault {one.number}: {one.did}; to undo: {one.undo}" for one in status.faults]
    lines += [f"not known: {doubt}" for doubt in status.doubts]
    return "\n".join(lines)


def _of(count: Count) -> str:
    return f"{count.up:,} of {count.of:,} up"


def _manager_line(manager: ManagerStatus) -> str:
    engine = f", routes with {manager.engine}" if manager.engine else ""
    wrong = ", not the engine asked for" if manager.fell_back else ""
    return f"subnet manager {manager.name} on {manager.host}: {manager.state}{engine}{wrong}"
