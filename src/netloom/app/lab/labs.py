"""Bring labs up and down, break them and repair them: what the command line calls."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.app.lab import infiniband, infiniband_faults, roce, roce_faults
from netloom.app.lab.remains import Remains, clean_up
from netloom.drivers.programs import missing_packages
from netloom.errors import LabError, SpecError
from netloom.formats.infiniband import opensm as opensm_format
from netloom.ops.condition import check_fault, condition_of
from netloom.ops.lab import InjectedFault, Lab

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder
    from netloom.fabric.network import Network
    from netloom.ops.condition import Condition
    from netloom.ops.plant import Cable, Plant

__all__ = ["LabRequest", "bring_down", "bring_up", "check_programs", "clear", "inject", "kind_of"]

MAX_MANAGERS: Final = 4
DEFAULTS: Final[dict[str, dict[str, float]]] = {
    "flap": {"count": 3},
    "error-rate": {"share": 0.05},
    "symbol-errors": {"count": 1000},
    "silent-drop": {"share": 1.0},
    "slow-link": {"factor": 2.0},
}
FLAP_S: Final = 0.5  # between two of them


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRequest:
    """What a lab is to be made from.

    Attributes:
        scenario: The name of the file.
        network: Its technology decides what runs.
        plant: Its devices and cables.
        engine: The routing engine of OpenSM; the topology's own when empty.
        num_managers: Subnet managers of each subnet.
    """

    scenario: str
    network: Network
    plant: Plant
    engine: str = ""
    num_managers: int = 1


def kind_of(network: Network) -> str:
    """Return which kind of lab a network gives: ``infiniband`` or ``roce``.

    Any routed Ethernet has the same underlay, whatever its transport.
    """
    return "infiniband" if network.technology.protocol == "infiniband" else "roce"


def check_programs(kind: str) -> None:
    """Raise LabError when a program that a kind of lab needs is missing; it names the packages."""
    programs = infiniband.PROGRAMS if kind == "infiniband" else roce.PROGRAMS
    missing = missing_packages(programs)
    if missing:
        raise LabError(
            what="programs are missing",
            remedy=f"apt-get install {' '.join(missing)} (Debian's names)",
        )


def bring_up(place: LabFolder, plan: LabRequest) -> tuple[Lab, Remains]:
    """Start a lab and return its record, with what was removed of an earlier one.

    An earlier lab of this name and folder, whole or broken, is removed first. When starting
    fails, or is interrupted, what was started is removed again.

    Raises:
        SpecError: the routing engine or the number of managers will not do.
        InfeasibleError: the lab would be too large for one machine.
        LabError: a program is missing or fails, or we are not root and need to be.
    """
    lab = _record(place, plan)
    check_programs(lab.kind)
    with place.locked():
        remains = clean_up(place)
        place.fresh_scratch()
        place.write_plant(plan.plant)
        place.write(lab)
        begin = infiniband.bring_up if lab.kind == "infiniband" else roce.bring_up
        try:
            return begin(place, lab, plan.plant), remains
        except BaseException:  # Ctrl-C too: nothing half-made stays
            clean_up(place)
            raise


def _record(place: LabFolder, plan: LabRequest) -> Lab:
    kind = kind_of(plan.network)
    engine = ""
    if kind == "infiniband":
        topology = plan.network.design.topology
        engine = opensm_format.check_engine(plan.engine or infiniband.default_engine(topology))
    elif plan.engine or plan.num_managers != 1:
        raise SpecError(
            what="--routing and --managers are OpenSM's", remedy="this scenario is not InfiniBand"
        )
    if not 1 <= plan.num_managers <= MAX_MANAGERS:
        raise SpecError(
            option="--managers", what=f"{plan.num_managers} is not between 1 and {MAX_MANAGERS}"
        )
    return Lab(
        name=place.name,
        mark=place.mark,
        kind="infiniband" if kind == "infiniband" else "roce",
        scenario=plan.scenario,
        engine=engine,
        num_managers=plan.num_managers,
    )


def bring_down(place: LabFolder) -> Remains:
    """Remove a lab, whole or broken, and return what there was of it.

    Raises:
        LabError: another netloom works on it, or a namespace cannot be removed.
    """
    with place.locked():
        return clean_up(place)


def inject(place: LabFolder, fault: InjectedFault) -> InjectedFault:
    """Break something, and return the fault with its number and what was done.

    Args:
        place: Of the lab.
        fault: Kind, parts and settings; settings left out take their defaults.

    Raises:
        SpecError: there is no such part, or this kind of lab cannot have such a fault.
        LabError: the lab does not run, or does not do its part.
    """
    with place.locked():
        lab, plant = _running(place)
        if fault.kind == "relink":
            return _relink(place, lab, plant, fault)
        fault = _filled(fault, lab, place, plant)
        check_fault(fault, plant)
        _check_kind(lab, fault)
        return _inject(place, lab, plant, fault)


def _running(place: LabFolder) -> tuple[Lab, Plant]:
    lab = place.read()
    if lab.phase != "up":
        raise LabError(what=f"lab {lab.name!r} did not come up", remedy="bring it up again")
    return lab, place.read_plant()


def _filled(fault: InjectedFault, lab: Lab, place: LabFolder, plant: Plant) -> InjectedFault:
    """Return the fault with its number, its settings whole, and a manager to kill named."""
    settings = {**DEFAULTS.get(fault.kind, {}), **fault.settings}
    parts = fault.parts
    if fault.kind == "dead-sm" and not parts and lab.kind == "infiniband":
        networks = infiniband.subnets_of(place, lab, plant)
        parts = tuple(filter(None, (infiniband_faults.master_of(lab, n) for n in networks)))
    return replace(fault, number=lab.num_faults + 1, settings=settings, parts=parts)


def _check_kind(lab: Lab, fault: InjectedFault) -> None:
    (infiniband_faults if lab.kind == "infiniband" else roce_faults).check(fault)


def _inject(place: LabFolder, lab: Lab, plant: Plant, fault: InjectedFault) -> InjectedFault:
    fault = replace(fault, did=_did(fault, plant), undo=_undo(lab, fault))
    if fault.kind == "flap":
        _flap(place, lab, plant, fault)
        return fault
    old = condition_of(lab.faults, plant)
    after = lab.with_fault(fault)
    new = condition_of(after.faults, plant)
    place.write(after)  # before the act, so that it can be undone whatever happens
    if fault.kind == "symbol-errors":
        links = tuple(link for part in fault.parts for link in plant.links(part))
        count = int(fault.settings["count"])
        place.write(infiniband_faults.add_symbol_errors(place, after, plant, links, count))
        return fault
    try:
        _apply(place, after, plant, old, new)
    except SpecError:  # refused: nothing was done
        place.write(lab)
        raise
    return fault


def _apply(place: LabFolder, lab: Lab, plant: Plant, old: Condition, new: Condition) -> Lab:
    if lab.kind == "infiniband":
        return place.write(infiniband_faults.apply(place, lab, plant, old, new))
    roce_faults.apply(place, plant, old, new)
    return lab


def _flap(place: LabFolder, lab: Lab, plant: Plant, fault: InjectedFault) -> None:
    cables = plant.find(fault.parts[0])
    _check_healthy(lab, plant, cables)
    place.write(replace(lab, num_faults=fault.number))
    for index in range(int(fault.settings["count"])):
        if index:
            time.sleep(FLAP_S)
        if lab.kind == "infiniband":
            lab = place.write(infiniband_faults.flap_once(place, lab, plant, cables))
        else:
            roce_faults.flap_once(place, plant, cables)


def _check_healthy(lab: Lab, plant: Plant, cables: tuple[Cable, ...]) -> None:
    now = condition_of(lab.faults, plant)
    for cable in cables:
        one = now.cable(cable.number)
        if not one.is_linked or one.upper is not None:
            raise SpecError(
                what=f"{plant.cable_name(cable)} is not in its place",
                remedy="clear that fault first",
            )


def _relink(place: LabFolder, lab: Lab, plant: Plant, fault: InjectedFault) -> InjectedFault:
    """Undo every unlink of exactly these parts."""
    numbers = {f.number for f in lab.faults if f.kind == "unlink" and f.parts == fault.parts}
    if not numbers:
        now = ", ".join(" ".join(f.parts) for f in lab.faults if f.kind == "unlink") or "none"
        raise SpecError(
            what=f"{' '.join(fault.parts)}: no such unlink is in force",
            remedy=f"in force are: {now}",
        )
    _clear(place, lab, plant, numbers)
    did = f"put {', '.join(fault.parts)} back"
    return replace(fault, did=did, undo=f"netloom lab fault {lab.name} unlink {fault.parts[0]}")


def clear(place: LabFolder, numbers: tuple[int, ...] = ()) -> tuple[InjectedFault, ...]:
    """Undo faults, all of them without numbers, and return those undone.

    Raises:
        SpecError: a number is not that of a fault in force.
        LabError: the lab does not run, or does not do its part.
    """
    with place.locked():
        lab, plant = _running(place)
        known = {fault.number for fault in lab.faults}
        wrong = set(numbers) - known
        if wrong:
            there = ", ".join(map(str, sorted(known))) or "none"
            raise SpecError(
                key="clear",
                what=f"no fault {min(wrong)} is in force",
                remedy=f"in force are: {there}",
            )
        chosen = set(numbers) or known
        _clear(place, lab, plant, chosen)
        return tuple(fault for fault in lab.faults if fault.number in chosen)


def _clear(place: LabFolder, lab: Lab, plant: Plant, numbers: set[int]) -> None:
    """Undo faults in fact, then on record: a second try finds what the first left."""
    old = condition_of(lab.faults, plant)
    after = lab.without_faults(numbers)
    new = condition_of(after.faults, plant)
    after = _apply(place, after, plant, old, new)
    for fault in lab.faults:
        if fault.number in numbers and fault.kind == "symbol-errors":
            links = tuple(link for part in fault.parts for link in plant.links(part))
            after = infiniband_faults.reset_symbol_errors(place, after, plant, links)
    place.write(after)


def _did(fault: InjectedFault, plant: Plant) -> str:
    names = " and ".join(_part_name(fault, part, plant) for part in fault.parts)
    settings = fault.settings
    share = f"{100 * settings.get('share', 0):g} % of packets"
    larger = int(settings.get("larger_than_bytes", 0))
    size = f" larger than {larger} bytes" if larger else ""
    words = {
        "unlink": f"pulled {names}",
        "flap": f"pulled {names} and put it back, {settings.get('count', 0):g} times",
        "error-rate": f"let {names} lose {share}{size}",
        "symbol-errors": f"counted {settings.get('count', 0):g} symbol errors on {names}",
        "silent-drop": f"let {names} drop {share}{size}, with the link still up",
        "slow-link": f"slowed {names} by {settings.get('factor', 1):g}",
        "dead-switch": f"switched {names} off",
        "dead-sm": f"killed {names or 'nothing: no subnet manager is master'}",
        "miswire": f"swapped the upper ends of {names}",
    }
    return words[fault.kind]


def _part_name(fault: InjectedFault, part: str, plant: Plant) -> str:
    if part.startswith("cable:") and fault.kind != "dead-sm":
        return plant.cable_name(plant.find(part)[0])
    return part


def _undo(lab: Lab, fault: InjectedFault) -> str:
    if fault.kind == "flap":
        return "nothing to undo"
    return f"netloom lab fault {lab.name} clear {fault.number}"
