"""A lab of ibsim and OpenSM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.heal.lab_infiniband import InfinibandHands
from netloom.app.lab.store import folder_of_lab
from netloom.ops.heal.actuators import ActuatorKind

if TYPE_CHECKING:
    from netloom.ops.heal.act import Actuator
    from netloom.ops.heal.actuators import ActContext

__all__ = ["ENTRY"]


def _actuator(target: str, context: ActContext) -> Actuator:
    return InfinibandHands(
        place=folder_of_lab(Path(target)),
        desk=context.desk,
        watched=context.watched,
        lids=context.lids,
    )


ENTRY: Final = ActuatorKind(
    name="lab-infiniband",
    summary="an InfiniBand lab: pulls cables, has routes made again, replaces subnet managers",
    verbs=frozenset({"drain", "reroute", "ticket", "rebalance", "fail-over"}),
    actuator=_actuator,
)
