"""Find and remove what a lab left on this machine, however it ended.

Only what carries the lab's own mark is touched: processes by their environment, namespaces and
FRR's folders by their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.drivers import frr, netns
from netloom.drivers.programs import marked, stop
from netloom.ops.lab import MARK, namespace_of

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder

__all__ = ["Remains", "clean_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What was found and removed."""

    num_processes: int = 0
    num_namespaces: int = 0

    @property
    def found(self) -> bool:
        """Whether there was anything."""
        return bool(self.num_processes or self.num_namespaces)

    def __str__(self) -> str:
        spaces = f", {self.num_namespaces} namespaces" if self.num_namespaces else ""
        return f"{self.num_processes} processes{spaces}"


def clean_up(place: LabFolder) -> Remains:
    """End every process of the lab, remove its namespaces and files, and say how many.

    Raises:
        LabError: a namespace of it cannot be removed.
    """
    processes = marked(MARK, place.mark)
    stop(processes)
    late = marked(MARK, place.mark)  # one that was just being started
    stop(late)
    prefix = namespace_of(place.mark, "")
    namespaces = netns.namespaces(prefix)
    netns.remove(namespaces)
    frr.remove_folders(prefix)
    place.remove()
    return Remains(num_processes=len({*processes, *late}), num_namespaces=len(namespaces))
