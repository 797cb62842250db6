"""Bring a RoCE lab from one condition to another: carrier, shapers, packet filters, cables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.app.lab.carrier import ends_of, with_carrier
from netloom.app.lab.roce import address_host, cable_ends, end_of, lab_rate_bps, lay_cables
from netloom.drivers import netns
from netloom.drivers.programs import wait_for
from netloom.errors import SpecError
from netloom.formats.linux import netfilter
from netloom.ops.condition import Condition
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import interface_name, underlay_of

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder
    from netloom.ops.lab import InjectedFault
    from netloom.ops.plant import Cable, Plant

__all__ = ["apply", "check", "flap_once"]

CARRIER_S: Final = 60.0


def check(fault: InjectedFault) -> None:
    """Raise SpecError for a fault that an Ethernet lab cannot have."""
    if fault.kind in ("symbol-errors", "dead-sm"):
        raise SpecError(what=f"{fault.kind} needs an InfiniBand lab", remedy="this one is RoCE")


def apply(place: LabFolder, plant: Plant, old: Condition, new: Condition) -> None:
    """Change what differs between *old*, which is there, and *new*.

    Raises:
        LabError: the kernel refuses.
    """
    changed = [c for c in plant.cables if old.cable(c.number) != new.cable(c.number)]
    moved = [c for c in changed if old.cable(c.number).upper != new.cable(c.number).upper]
    _move(place, plant, moved, new)
    for cable in changed:
        before, after = old.cable(cable.number), new.cable(cable.number)
        wired = _wired(cable, new)
        if cable in moved or before.is_linked != after.is_linked:
            netns.set_carrier(end_of(place, plant, wired.upper), up=after.is_linked)
        if cable in moved or before.slowdown != after.slowdown:
            for port in wired.ends:
                rate_bps = lab_rate_bps(plant, cable) / after.slowdown
                netns.set_rate(end_of(place, plant, port), rate_bps)
    _set_losses(place, plant, changed, new)
    linked = [c for c in changed if old.cable(c.number).is_linked != new.cable(c.number).is_linked]
    _wait_carrier(place, plant, [_wired(cable, new) for cable in {*moved, *linked}], new)


def _wait_carrier(place: LabFolder, plant: Plant, cables: list[Cable], new: Condition) -> None:
    """Return when the kernel shows the cables as they are: it tells of carrier once a second."""

    def shown() -> bool | None:
        up = with_carrier(ends_of(place, plant, cables), [])
        right = (
            new.cable(cable.number).is_linked == up.issuperset(cable_ends(place, plant, cable))
            for cable in cables
        )
        return True if all(right) else None

    wait_for(shown, timeout_s=CARRIER_S, step_s=0.02)


def _wired(cable: Cable, condition: Condition) -> Cable:
    """Return the cable with the upper end it is really plugged into."""
    return replace(cable, upper=condition.cable(cable.number).upper or cable.upper)


def _move(place: LabFolder, plant: Plant, cables: list[Cable], new: Condition) -> None:
    """Take cables out and lay them again, crossed or straight."""
    for cable in cables:
        lower = end_of(place, plant, cable.lower)
        netns.batch([["link", "del", "dev", lower.interface]], namespace=lower.namespace)
    lay_cables(place, plant, tuple(_wired(cable, new) for cable in cables))
    touched = {port for cable in cables for port in cable.ends}
    for link in underlay_of(plant).host_links if cables else ():
        if link.switch_port in touched:
            address_host(place, plant, link)


def _set_losses(place: LabFolder, plant: Plant, cables: list[Cable], new: Condition) -> None:
    """Write the packet filters of every device at the end of a cable that changed."""
    devices = {port.device for cable in cables for port in cable.ends}
    losses = [loss for one in new.cables.values() for loss in one.losses]
    for device in sorted(devices):
        wanted = [
            netfilter.DropRule(
                interface=interface_name(plant, loss.port),
                share=loss.share,
                larger_than_bytes=loss.larger_than_bytes,
            )
            for loss in losses
            if loss.port.device == device
        ]
        netns.set_loss(namespace_of(place.mark, plant.devices[device].name), wanted)


def flap_once(place: LabFolder, plant: Plant, cables: tuple[Cable, ...]) -> None:
    """Take the carrier of cables away and give it back."""
    for up in (False, True):
        for cable in cables:
            netns.set_carrier(end_of(place, plant, cable.upper), up=up)
    _wait_carrier(place, plant, list(cables), Condition())
