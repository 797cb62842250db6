"""A lab of FRR in network namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.heal.lab_roce import EthernetHands
from netloom.app.lab.store import folder_of_lab
from netloom.ops.heal.actuators import ActuatorKind

if TYPE_CHECKING:
    from netloom.ops.heal.act import Actuator
    from netloom.ops.heal.actuators import ActContext

__all__ = ["ENTRY"]


def _actuator(target: str, context: ActContext) -> Actuator:
    return EthernetHands(
        place=folder_of_lab(Path(target)), desk=context.desk, others=context.others
    )


ENTRY: Final = ActuatorKind(
    name="lab-roce",
    summary="an Ethernet lab: shuts BGP sessions over a cable, has FRR install routes again",
    verbs=frozenset({"drain", "reroute", "ticket", "repair-fib"}),
    actuator=_actuator,
)
