"""Whether the subnet managers of a lab run, by its record of programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.drivers.programs import is_running
from netloom.ops.observe.observation import Observation, Reading, whole

if TYPE_CHECKING:
    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder

__all__ = ["LabManagers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabManagers:
    """The managers of one subnet; those that run are not told of."""

    place: LabFolder
    network: Subnet

    @property
    def source(self) -> str:
        """Its name."""
        return f"managers {self.network.number}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Look whether each runs."""
        lab = self.place.read()
        names = [self.network.manager_name(n) for n in range(len(self.network.managers))]
        dead = [
            name
            for name in names
            if (program := lab.program(name)) is None
            or not is_running(program.pid, program.started)
        ]
        seen = [Observation(time_s, name, "manager_down", 1.0) for name in dead]
        return whole(self.source, time_s, seen, cursor=cursor)
