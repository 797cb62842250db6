"""Act on the devices of an inventory: one after the other, the first as a canary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import wait_for
from netloom.errors import LabError, NetloomError
from netloom.fabric.part_id import CABLE
from netloom.ops.heal.act import Check, PlannedAct
from netloom.ops.heal.devices import ChangedSetting, parse_settings, render_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from netloom.app.heal.fleet_devices import FleetDevices
    from netloom.fabric.part_id import PartId
    from netloom.ops.heal.actuators import People
    from netloom.ops.heal.devices import DeviceWriter, SettingChange
    from netloom.ops.heal.plan import Act, HealPlan

__all__ = ["FleetActuator"]

SETTLE_S: Final = 30.0  # for links and sessions to follow a setting; assumed
STEP_S: Final = 1.0
HANDED: Final = frozenset({"reroute", "ticket", "restart-job"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetActuator:
    """Hands on real devices.

    Attributes:
        devices: Those that may be changed.
        desk: For tickets, and for what policy has commands for.
        away_now: Which cables at some parts carry nothing now; None where no collector tells.
        others: Parts with findings of their own.
    """

    devices: FleetDevices
    desk: People
    away_now: Callable[[Collection[PartId]], frozenset[PartId] | None]
    others: tuple[PartId, ...] = ()

    def plan(self, act: Act, name: str) -> PlannedAct:
        """Return the requests, and what every device has before; as :meth:`Actuator.plan`.

        Raises:
            LabError: a device does not answer, or none may be changed.
        """
        changes = self.devices.changes_of(act)
        if not changes:
            return PlannedAct()
        settings = [
            ChangedSetting(
                device=device.name,
                kind=device.kind,
                change=change,
                was_in_use=device.writer.state(change) == "in-use",
            )
            for device, change in changes
        ]
        requests = [
            request
            for (device, change), one in zip(changes, settings, strict=True)
            for request in (
                device.writer.plan(change, name)
                if one.is_needed
                else (f"{device.name}: nothing: {change.words} already",)
            )
        ]
        return PlannedAct(requests=tuple(requests), token=render_settings(name, settings))

    def apply(self, act: Act, token: str) -> tuple[str, str]:
        """Change the devices, each read back and confirmed before the next is touched.

        Raises:
            LabError: a device does not take it, or the canary took more with it than it should.
        """
        if not token:
            return self._handed(act)
        name, settings = parse_settings(token)
        needed = [one for one in settings if one.is_needed]
        before = self.away_now([act.part]) if len(needed) > 1 else None
        for number, one in enumerate(needed):
            writer = self.devices.named(one.device, one.kind).writer
            change_device(writer, one.change, name)
            if number == 0 and before is not None:
                self._check_canary(act, one, before)
        done = ", ".join(f"{one.device}: {one.change.words}" for one in needed)
        return done or f"{act.name}: all devices have it already", token

    def undo(self, act: Act, token: str) -> str:
        """Set every device to what it had before, last first.

        Raises:
            LabError: a device does not take it; the others were set.
        """
        if not token or act.verb in HANDED:
            return self.desk.undo(act, token)
        name, settings = parse_settings(token)
        said, failed = [], []
        for one in reversed([one for one in settings if one.is_needed]):
            try:
                said.append(self._put_back(one, name))
            except NetloomError as error:
                failed.append(f"{one.device}: {error}")
        if failed:
            raise LabError(what="; ".join(failed), remedy="put it back by hand, and look again")
        return ", ".join(said) or f"{act.name}: nothing to undo"

    def verify(self, plan: HealPlan) -> Check:
        """Read every device back, and wait until the cable carries nothing and no other went."""
        own = [act for act in plan.acts if self.devices.changes_of(act)]
        if not own:
            return self.desk.verify(plan)
        for act in own:
            for device, change in self.devices.changes_of(act):
                if device.writer.state(change) != change.wanted:
                    what = f"{device.name} has not {change.words}"
                    return Check(helped=False, says=(what,))
        cabled = [act.part for act in own if act.part.kind == CABLE]
        return self._check_away(cabled) if cabled else Check(helped=True, says=("read back",))

    def tenant_isolation(self) -> Mapping[str, str]:
        """Return nothing: no act here touches what keeps tenants apart."""
        return {}

    def _handed(self, act: Act) -> tuple[str, str]:
        if act.verb == "reroute":
            return "left it to routing", ""
        return self.desk.apply(act)

    def _put_back(self, one: ChangedSetting, name: str) -> str:
        writer = self.devices.named(one.device, one.kind).writer
        back = one.change.with_use(in_use=one.was_in_use)
        writer.abandon(one.change, name)  # a timer may be armed though nothing was set
        if writer.state(back) != back.wanted:
            change_device(writer, back, f"{name}-undo")
        return f"{one.device}: {back.words}"

    def _check_canary(self, act: Act, one: ChangedSetting, before: frozenset[PartId]) -> None:
        now = self.away_now([act.part])
        more = (now or frozenset()) - before - {act.part.whole}
        if more:
            some = ", ".join(str(part) for part in sorted(more)[:4])
            raise LabError(
                what=f"{one.device} was changed first, and {some} went too",
                remedy="look at that device",
            )

    def _check_away(self, parts: list[PartId]) -> Check:
        def gone() -> frozenset[PartId] | str | None:
            now = self.away_now(parts)
            if now is None:
                return "read back; no collector tells of the cable"
            return now if set(parts) <= now else None

        found = wait_for(gone, timeout_s=SETTLE_S, step_s=STEP_S)
        if found is None:
            names = ", ".join(str(part) for part in parts)
            return Check(helped=False, says=(f"{names} still carries after {SETTLE_S:g} s",))
        if isinstance(found, str):
            return Check(helped=True, says=(found,))
        return Check(helped=True, says=("read back; devices say that the cable is out of use",))


def change_device(writer: DeviceWriter, change: SettingChange, name: str) -> None:
    """Make one change of one device: apply, read back, confirm; given up where that fails.

    Raises:
        LabError: the device does not take it, or has something else afterwards.
    """
    try:
        writer.apply(change, name)
        state = writer.state(change)
        if state != change.wanted:
            raise LabError(
                what=f"read back as {state}, not as {change.wanted}", remedy="look at the device"
            )
    except NetloomError:
        writer.abandon(change, name)
        raise
    writer.confirm(change, name)
