"""The physical condition of a lab's cables, as a function of the faults in force.

Faults may overlap: a cable can be unlinked by itself and by the death of its switch. So no fault
is undone on its own; the condition with and without it is compared, and the difference applied.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.ops.lab import InjectedFault
    from netloom.ops.plant import Plant, Port

__all__ = ["HEALTHY", "CableCondition", "Condition", "LinkLoss", "check_fault", "condition_of"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LinkLoss:
    """Packets lost on one link, as they reach its end.

    Attributes:
        port: The receiving port.
        share: Of the packets, 0 to 1.
        larger_than_bytes: Only of those that are larger; 0 for all.
        is_silent: Whether no device counts them.
    """

    port: Port
    share: float
    larger_than_bytes: int = 0
    is_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CableCondition:
    """How a cable is.

    Attributes:
        is_linked: Whether it is plugged in and both ends live.
        upper: The port its upper end is plugged into, where it is not its own.
        slowdown: 1, or more on a cable that was slowed.
        losses: On its links.
    """

    is_linked: bool = True
    upper: Port | None = None
    slowdown: float = 1.0
    losses: tuple[LinkLoss, ...] = ()

    @property
    def is_dark(self) -> bool:
        """Whether it silently carries nothing, in any direction."""
        return any(loss.is_silent and loss.share == 1 for loss in self.losses)


HEALTHY: Final = CableCondition()


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How a lab is.

    Attributes:
        cables: Those that are not healthy, by number.
        dead_managers: Names of the subnet managers that must not run.
    """

    cables: dict[int, CableCondition] = field(default_factory=dict)
    dead_managers: frozenset[str] = frozenset()

    def cable(self, number: int) -> CableCondition:
        """Return how one cable is."""
        return self.cables.get(number, HEALTHY)


def condition_of(faults: Iterable[InjectedFault], plant: Plant) -> Condition:
    """Return the condition that *faults*, oldest first, amount to.

    Raises:
        SpecError: one of them names a part that is not there, or cannot be combined with those
            before it.
    """
    cables: dict[int, CableCondition] = {}
    dead: set[str] = set()
    for fault in faults:
        if fault.kind == "dead-sm":
            dead.update(fault.parts)
            continue
        cables.update(_changes(fault, plant, cables))
    kept = {number: one for number, one in sorted(cables.items()) if one != HEALTHY}
    return Condition(cables=kept, dead_managers=frozenset(dead))


def _changes(
    fault: InjectedFault, plant: Plant, cables: dict[int, CableCondition]
) -> dict[int, CableCondition]:
    """Return the cables that *fault* leaves otherwise than it found them."""
    found = {
        cable.number: cables.get(cable.number, HEALTHY)
        for part in fault.parts
        for cable, _ in plant.links(part)
    }
    match fault.kind:
        case "unlink" | "dead-switch":
            return {number: replace(one, is_linked=False) for number, one in found.items()}
        case "slow-link":
            factor = fault.settings["factor"]
            return {number: replace(one, slowdown=factor) for number, one in found.items()}
        case "error-rate" | "silent-drop":
            return _lossy(fault, plant, found)
        case "miswire":
            return _crossed(fault, plant, found)
        case _:  # over as soon as it is done: flap, relink, symbol-errors
            return {}


def _lossy(
    fault: InjectedFault, plant: Plant, found: dict[int, CableCondition]
) -> dict[int, CableCondition]:
    larger_than_bytes = int(fault.settings.get("larger_than_bytes", 0))
    changed = dict(found)
    for part in fault.parts:
        for cable, sender in plant.links(part):
            (receiver,) = (port for port in cable.ends if port != sender)
            loss = LinkLoss(
                port=receiver,
                share=fault.settings["share"],
                larger_than_bytes=larger_than_bytes,
                is_silent=fault.kind == "silent-drop",
            )
            one = changed[cable.number]
            others = tuple(other for other in one.losses if other.port != receiver)
            changed[cable.number] = replace(one, losses=tuple(sorted((*others, loss))))
    return changed


def _crossed(
    fault: InjectedFault, plant: Plant, found: dict[int, CableCondition]
) -> dict[int, CableCondition]:
    one, other = (cable for part in fault.parts for cable in plant.find(part))
    if any(found[cable.number].upper is not None for cable in (one, other)):
        raise SpecError(
            what=f"{' and '.join(fault.parts)}: one is miswired already",
            remedy="clear that fault first",
        )
    return {
        one.number: replace(found[one.number], upper=other.upper),
        other.number: replace(found[other.number], upper=one.upper),
    }


def check_fault(fault: InjectedFault, plant: Plant) -> None:
    """Raise SpecError unless *fault* says all that its kind needs, and nothing it cannot have."""
    num_parts = {"miswire": 2, "dead-sm": len(fault.parts)}.get(fault.kind, 1)
    if len(fault.parts) != num_parts:
        raise SpecError(
            what=(
                f"{fault.kind} takes {num_parts} part{'s' * (num_parts > 1)}, such as "
                f"{' '.join(['cable:40', 'cable:41'][:num_parts])}"
            ),
            remedy=f"{len(fault.parts)} given",
        )
    if fault.kind == "dead-sm":
        return
    if fault.kind == "dead-switch":
        device = plant.devices[plant.number(fault.parts[0])]
        if device.role != "switch":
            raise SpecError(what=f"{device.name} is no switch", remedy="unlink it instead")
    if fault.kind == "miswire":
        _check_crossing(fault, plant)
    if fault.kind in ("unlink", "relink", "flap", "slow-link"):
        plant.find(fault.parts[0])
    else:
        for part in fault.parts:
            plant.links(part)
    _check_settings(fault)


def _check_crossing(fault: InjectedFault, plant: Plant) -> None:
    found = [plant.find(part) for part in fault.parts]
    if any(len(cables) != 1 for cables in found) or found[0] == found[1]:
        raise SpecError(
            what=f"{' '.join(fault.parts)}: name two different cables, such as cable:40 cable:41"
        )
    tiers = {plant.devices[cables[0].upper.device].tier for cables in found}
    if len(tiers) > 1:
        raise SpecError(
            what=f"{' '.join(fault.parts)}: their upper ends are in different tiers",
            remedy="choose others",
        )


_RANGES: Final = {"share": (0.0, 1.0), "factor": (1.0, 1e6), "count": (1.0, 1e9)}


def _check_settings(fault: InjectedFault) -> None:
    for name, value in fault.settings.items():
        low, high = _RANGES.get(name, (0.0, 1e9))
        if not low <= value <= high:
            raise SpecError(
                option=f"--{name.replace('_', '-')}",
                what=f"{value:g} is not between {low:g} and {high:g}",
            )
