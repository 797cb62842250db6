"""A lab in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.lab import Fault, Lab
    from netloom.ops.plant import Plant

__all__ = ["Status", "status_text", "up_text"]


class _Count(Protocol):
    @property
    def up(self) -> int: ...
    @property
    def of(self) -> int: ...


class _Program(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def is_running(self) -> bool: ...


class _Manager(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def fell_back(self) -> bool: ...


class Status(Protocol):
    """What is known of a lab; the adapters find it out."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def phase(self) -> str: ...
    @property
    def programs(self) -> Sequence[_Program]: ...
    @property
    def switches(self) -> _Count: ...
    @property
    def hosts(self) -> _Count: ...
    @property
    def cables(self) -> _Count: ...
    @property
    def managers(self) -> Sequence[_Manager]: ...
    @property
    def sessions(self) -> _Count | None: ...
    @property
    def divergent(self) -> Sequence[str]: ...
    @property
    def faults(self) -> Sequence[Fault]: ...
    @property
    def doubts(self) -> Sequence[str]: ...


def up_text(lab: Lab, plant: Plant, *, remains: str) -> str:
    """Return what to say of a lab that came up."""
    how = f"OpenSM routes with {lab.engine}" if lab.kind == "infiniband" else "FRR runs eBGP"
    lines = [
        f"lab {lab.name!r} is up: {len(plant.switches):,} switches, {len(plant.hosts):,} hosts, "
        f"{len(plant.cables):,} cables; {how}",
        f"try: netloom lab status {lab.name}; netloom lab fault {lab.name} unlink "
        f"cable:{plant.cables[-1].number}; netloom lab down {lab.name}",
    ]
    before = [f"removed what was left of an earlier lab of this name: {remains}"] if remains else []
    return "\n".join([*before, *lines])


def status_text(status: Status) -> str:
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


def _of(count: _Count) -> str:
    return f"{count.up:,} of {count.of:,} up"


def _manager_line(manager: _Manager) -> str:
    engine = f", routes with {manager.engine}" if manager.engine else ""
    wrong = ", not the engine asked for" if manager.fell_back else ""
    return f"subnet manager {manager.name} on {manager.host}: {manager.state}{engine}{wrong}"
