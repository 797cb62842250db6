"""What can be healed: a lab, or the devices of an inventory; and where its log and plans are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from netloom.app.heal.second_look import look_again
from netloom.app.locate.lab import observe
from netloom.fabric.part_id import PartId
from netloom.ops.heal.actuators import ACTUATORS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from netloom.app.heal.report import HealTarget
    from netloom.app.lab.store import LabFolder
    from netloom.ops.heal.act import Actuator
    from netloom.ops.heal.actuators import ActContext, ActuatorKind
    from netloom.ops.heal.log import LogEntry
    from netloom.ops.heal.plan import Act, HealPlan
    from netloom.ops.heal.snapshot import Snapshot
    from netloom.spec.heal import Verb

__all__ = ["HealSite", "LabSite"]

INFINIBAND: Final = "infiniband"


class HealSite(Protocol):
    """A network that can be looked at and acted on."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def path(self) -> Path:
        """The folder of its log, lock, plans and tickets."""

    @property
    def born_at_s(self) -> float:
        """Since when it is there; what the log has of an earlier time is of another."""

    @property
    def verbs(self) -> frozenset[Verb]:
        """What can be done there, besides what policy has commands for."""

    @property
    def tells_requests(self) -> bool:
        """Whether plans say exactly what would be sent."""

    def check(self) -> None:
        """Raise a SpecError where there is no such site."""

    def look(self, target: HealTarget) -> Snapshot:
        """Return what is wrong with it now."""

    def look_again(self, target: HealTarget, plan: HealPlan, sight: Snapshot) -> Snapshot:
        """Return what is wrong now with the parts that a plan concerns, and with no others."""

    def can(self, act: Act) -> bool:
        """Return whether it can be done to that part."""

    def actuator(self, context: ActContext) -> Actuator:
        """Return what acts on it."""

    def still_drained(self, drained: Collection[PartId], sight: Snapshot) -> set[PartId]:
        """Return those parts of *drained* by the log that the look does not prove in use."""

    def state_of(self, entry: LogEntry) -> tuple[str, ...]:
        """Return, for an act that was cut short, which configuration each device has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSite:
    """A lab."""

    place: LabFolder

    @property
    def name(self) -> str:
        """As :attr:`HealSite.name`."""
        return f"lab {self.place.name!r}"

    @property
    def path(self) -> Path:
        """As :attr:`HealSite.path`."""
        return self.place.path

    @property
    def born_at_s(self) -> float:
        """As :attr:`HealSite.born_at_s`."""
        return self.place.born_at_s

    @property
    def verbs(self) -> frozenset[Verb]:
        """As :attr:`HealSite.verbs`."""
        return self._kind.verbs

    @property
    def tells_requests(self) -> bool:
        """As :attr:`HealSite.tells_requests`."""
        return False

    def check(self) -> None:
        """As :meth:`HealSite.check`."""
        self.place.read()

    def look(self, target: HealTarget) -> Snapshot:
        """As :meth:`HealSite.look`."""
        return observe(self.place, target.fabric, target.technology)

    def look_again(self, target: HealTarget, plan: HealPlan, sight: Snapshot) -> Snapshot:
        """As :meth:`HealSite.look_again`."""
        return look_again(self.place, target.fabric, target.technology, plan, sight)

    def can(self, act: Act) -> bool:
        """As :meth:`HealSite.can`."""
        return act.verb != "shut"

    def actuator(self, context: ActContext) -> Actuator:
        """As :meth:`HealSite.actuator`."""
        kind = self._kind
        assert kind.actuator is not None, kind.name
        return kind.actuator(str(self.place.path), context)

    def still_drained(self, drained: Collection[PartId], sight: Snapshot) -> set[PartId]:
        """As :meth:`HealSite.still_drained`; an InfiniBand cable that is up is in use."""
        if self.place.read().kind != INFINIBAND:
            return set(drained)
        plant, gone = self.place.read_plant(), set(sight.away)
        return {p for p in drained if {PartId.cable(c.number) for c in plant.cables_of(p)} <= gone}

    def state_of(self, entry: LogEntry) -> tuple[str, ...]:
        """As :meth:`HealSite.state_of`; ``netloom lab status`` tells it."""
        del entry
        return ()

    @property
    def _kind(self) -> ActuatorKind:
        return ACTUATORS.get(f"lab-{self.place.read().kind}")
