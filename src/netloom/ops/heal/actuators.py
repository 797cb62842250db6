"""Kinds of actuator by name: what can act on a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from netloom.fabric.part_id import PartId
    from netloom.ops.heal.act import Actuator, Check
    from netloom.ops.heal.devices import DeviceWriter
    from netloom.ops.heal.plan import Act, HealPlan
    from netloom.ops.observe.devices import DeviceAccess
    from netloom.spec.heal import Verb

__all__ = ["ACTUATORS", "ActContext", "ActuatorKind", "People"]


class People(Protocol):
    """Acts that people or the scheduler carry out: tickets, cordons, restarts."""

    def apply(self, act: Act, token: str = "") -> tuple[str, str]:
        """Hand it over; as :meth:`Actuator.apply`."""

    def undo(self, act: Act, token: str) -> str:
        """Take it back; as :meth:`Actuator.undo`."""

    def verify(self, plan: HealPlan) -> Check:
        """Look whether it was done; as :meth:`Actuator.verify`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActContext:
    """What an actuator may need to know.

    Attributes:
        desk: For acts that people or the scheduler carry out.
        watched: Hosts whose partitions must stay as they are; empty for some of them.
        others: Parts with findings of their own: flows over them say nothing about this plan.
        lids: InfiniBand addresses of the devices that answered, by name.
    """

    desk: People
    watched: tuple[str, ...] = ()
    others: tuple[PartId, ...] = ()
    lids: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActuatorKind:
    """One kind of actuator.

    Attributes:
        name: ``lab-`` and the kind of lab for those that act on labs.
        summary: What it acts on.
        verbs: What it can do there, besides what people and the scheduler do.
        actuator: Returns the one that acts on a target, such as the folder of a lab; None where it
            changes devices of an inventory.
        writer: Returns what changes one device of an inventory; None where it acts on a target.
        labels: How such a device numbers its ports unless told, as ``--labels`` has it.
    """

    name: str
    summary: str
    verbs: frozenset[Verb]
    actuator: Callable[[str, ActContext], Actuator] | None = None
    writer: Callable[[DeviceAccess], DeviceWriter] | None = None
    labels: str = ""


ACTUATORS: Final = Register[ActuatorKind](
    kind="actuator",
    traits=ActuatorKind,
    home="netloom.app.heal.actuators",
    entry_point_group="netloom.actuators",
)
