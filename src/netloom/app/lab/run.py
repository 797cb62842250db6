"""Labs by their names: start one from a scenario, look at it, break it, repair it, remove it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from netloom.app.designs import design_of
from netloom.app.lab import labs
from netloom.app.lab.store import default_folder, known_labs, lab_folder
from netloom.app.lab.survey import status_of
from netloom.ops.lab import FaultKind, InjectedFault, default_name
from netloom.results.plain import to_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.ops.lab import Lab
    from netloom.ops.observe.designed import Designed
    from netloom.ops.plant import Plant
    from netloom.ops.status import LabStatus
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = [
    "FaultReport",
    "LabNames",
    "LabStart",
    "LabStop",
    "clear",
    "down",
    "fault",
    "names",
    "status",
    "up",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabStart:
    """A lab that came up.

    Attributes:
        lab: Its record.
        plant: Its devices and cables.
        removed: What was left of an earlier lab of its name; empty when there was none.
    """

    lab: Lab
    plant: Plant
    removed: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/lab.md documents."""
        return {
            "name": self.lab.name,
            "kind": self.lab.kind,
            "scenario": self.lab.scenario,
            "phase": self.lab.phase,
            "routing": self.lab.engine,
            "num_switches": len(self.plant.switches),
            "num_hosts": len(self.plant.hosts),
            "num_cables": len(self.plant.cables),
            "removed": self.removed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LabStop:
    """A lab that was removed.

    Attributes:
        name: Its name.
        num_processes: Of it, ended.
        num_namespaces: Of it, removed.
        removed: Both in words.
    """

    name: str
    num_processes: int
    num_namespaces: int
    removed: str

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/lab.md documents."""
        return dict(to_plain(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabNames:
    """The labs that there are."""

    labs: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/lab.md documents."""
        return {"labs": list(self.labs)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultReport:
    """Faults that were put into force, or undone.

    Attributes:
        verb: Which of the two.
        faults: With their numbers and what was done.
    """

    verb: Literal["injected", "cleared"]
    faults: tuple[InjectedFault, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/lab.md documents."""
        return {self.verb: to_plain(self.faults)}


def up(  # noqa: PLR0913  (what to start, and how)
    scenario: Scenario | Designed,
    *,
    name: str = "",
    source: str = "",
    folder: Path | None = None,
    routing: str = "",
    num_managers: int = 1,
    catalog: Catalog | None = None,
) -> LabStart:
    """Start the network of a scenario on this machine, in place of an earlier lab of its name.

    InfiniBand runs ibsim and OpenSM and needs no privileges; Ethernet runs FRR in network
    namespaces and needs root.

    >>> import netloom as nl
    >>> started = up(nl.load("cluster.yaml"), name="lab-1")  # doctest: +SKIP
    >>> started.lab.kind  # doctest: +SKIP

    Args:
        scenario: Only its cluster matters.
        name: What to call the lab; default: made from the name of *source*.
        source: The file that the scenario was read from, for the record.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        routing: OpenSM's routing engine, such as ``ftree``; default: the topology's own.
        num_managers: Subnet managers of each subnet; those after the first stand by.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: the name, the routing engine or the number of managers will not do.
        InfeasibleError: the lab would be too large for one machine.
        LabError: a program is missing or fails, or root is needed.
    """
    place = lab_folder(name or default_name(Path(source).stem), folder)
    designed = design_of(scenario, catalog)
    request = labs.LabRequest(
        scenario=source,
        network=designed.network,
        plant=designed.plant,
        engine=routing,
        num_managers=num_managers,
    )
    made, remains = labs.bring_up(place, request)
    removed = str(remains) if remains.found else ""
    return LabStart(lab=made, plant=designed.plant, removed=removed)


def down(name: str, *, folder: Path | None = None) -> LabStop:
    """Remove a lab, also what is left of one that was killed.

    >>> down("lab-1").removed  # doctest: +SKIP

    Raises:
        LabError: another netloom works on it, or a namespace cannot be removed.
    """
    remains = labs.bring_down(lab_folder(name, folder))
    return LabStop(
        name=name,
        num_processes=remains.num_processes,
        num_namespaces=remains.num_namespaces,
        removed=str(remains),
    )


def names(*, folder: Path | None = None) -> LabNames:
    """Return the labs that there are.

    >>> names().labs  # doctest: +SKIP
    """
    return LabNames(labs=known_labs(folder or default_folder()))


def status(name: str, *, folder: Path | None = None) -> LabStatus:
    """Return what runs in a lab: switches, hosts, cables, subnet managers, faults in force.

    >>> status("lab-1").cables  # doctest: +SKIP

    Raises:
        SpecError: there is no such lab.
    """
    return status_of(lab_folder(name, folder))


def fault(
    name: str,
    kind: FaultKind,
    *parts: str,
    settings: Mapping[str, float] | None = None,
    folder: Path | None = None,
) -> FaultReport:
    """Break a part of a lab.

    >>> fault("lab-1", "silent-drop", "cable:40", settings={"share": 0.1})  # doctest: +SKIP

    Args:
        name: Of the lab.
        kind: What to do.
        parts: What to do it to: ``cable:40``, ``link:leaf:3-spine:0``, ``leaf:3->spine:0`` or
            ``leaf:3``; miswire takes two cables, dead-sm a manager or nothing.
        settings: ``share``, ``count``, ``factor`` or ``larger_than_bytes``; each has a default.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.

    Raises:
        SpecError: there is no such part, or this kind of lab cannot have such a fault.
        LabError: the lab does not run, or does not do its part.
    """
    wanted = InjectedFault(number=0, kind=kind, parts=parts, settings=dict(settings or {}))
    return FaultReport(verb="injected", faults=(labs.inject(lab_folder(name, folder), wanted),))


def clear(name: str, *numbers: int, folder: Path | None = None) -> FaultReport:
    """Undo faults of a lab; default: all that are in force.

    >>> clear("lab-1", 2)  # doctest: +SKIP

    Raises:
        SpecError: a number is not that of a fault in force.
        LabError: the lab does not run, or does not do its part.
    """
    return FaultReport(verb="cleared", faults=labs.clear(lab_folder(name, folder), numbers))
