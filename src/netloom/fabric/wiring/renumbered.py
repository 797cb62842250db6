"""Routing of a fabric, asked and answered in the numbers of its wiring."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from netloom.fabric.routing.router import Fan, Router, Steps

__all__ = ["Renumbered"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Renumbered:
    """A router whose vertices and links have other numbers; switches keep their order.

    Attributes:
        old_vertex: For each new vertex its number in *router*.
        new_vertex: The other way round.
        new_link: For each link of *router* its new number.
    """

    router: Router
    old_vertex: NDArray[np.int64]
    new_vertex: NDArray[np.int64]
    new_link: NDArray[np.int32]

    def cost(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how far each goal is."""
        return self.router.cost(self.old_vertex[at], self.old_vertex[goal])

    def toward(self, goals: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Steps]]:
        """Yield the goals in batches, each with the steps to them."""
        for batch, steps in self.router.toward(self.old_vertex[goals]):
            yield self.new_vertex[batch], _Steps(names=self, steps=steps)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Steps:
    names: Renumbered
    steps: Steps

    def fans(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> Iterator[Fan]:
        names = self.names
        for fan in self.steps.fans(names.old_vertex[at], names.old_vertex[goal]):
            yield replace(fan, links=names.new_link[fan.links])
