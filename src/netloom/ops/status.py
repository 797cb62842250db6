"""How a lab is: what the adapters find out and the reports print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.results.plain import to_plain

if TYPE_CHECKING:
    from netloom.ops.lab import InjectedFault

__all__ = ["Count", "LabStatus", "ManagerStatus", "ProgramStatus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many of those there should be are up."""

    up: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStatus:
    """A process of the lab."""

    name: str
    pid: int
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerStatus:
    """A subnet manager, according to its own log.

    Attributes:
        name: What the record calls it.
        host: Where in the fabric it runs.
        state: ``master``, ``standby``, or ``dead`` when its process is gone.
        engine: The routing engine whose tables it configured last.
        fell_back: Whether that is not the one that was asked for.
    """

    name: str
    host: str
    state: str
    engine: str
    fell_back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabStatus:
    """How a lab is.

    Attributes:
        name: Of the lab.
        kind: ``infiniband`` or ``roce``.
        scenario: The file it was made from.
        phase: ``up``, or ``starting`` when it never came up.
        folder: Where its files lie.
        programs: Its processes.
        switches: That answer.
        hosts: That answer.
        cables: That carry, both ends up.
        managers: Subnet managers; none for RoCE.
        masters: Name of the master of each subnet; empty where it has none.
        sessions: BGP sessions, both directions counted; none for InfiniBand.
        divergent: Switches whose kernel forwards otherwise than FRR believes.
        faults: In force.
        doubts: What could not be found out, and why.
        environment: For each subnet, what makes a program of infiniband-diags see it.
    """

    name: str
    kind: str
    scenario: str
    phase: str
    folder: str
    programs: tuple[ProgramStatus, ...]
    switches: Count
    hosts: Count
    cables: Count
    managers: tuple[ManagerStatus, ...] = ()
    masters: tuple[str, ...] = ()
    sessions: Count | None = None
    divergent: tuple[str, ...] = ()
    faults: tuple[InjectedFault, ...] = ()
    doubts: tuple[str, ...] = ()
    environment: tuple[dict[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/lab.md documents."""
        return dict(to_plain(self))
