"""The flow engine for collectives: the library's own costs over a network that is routed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective

__all__ = ["FlowEngine"]

_NAME = "flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowEngine:
    """Predicts a collective with every hop between nodes routed over the fabric as built.

    What the communication library does at the ends, which algorithm it chooses and what its
    steps cost, is the closed form's; what the network does to the hops is not.

    Attributes:
        library: Prices collectives by the contention of
            :class:`~netloom.engines.flow.contention.RoutedContention`.
    """

    library: Engine

    @property
    def name(self) -> str:
        """The engine's name."""
        return _NAME

    def run(self, collective: Collective, network: Network) -> Outcome:
        """Return how long *collective* takes on *network*.

        Raises:
            InfeasibleError: The group puts more ranks in a node than it has GPUs, or spans more
                nodes than the network has.
        """
        return replace(self.library.run(collective, network), engine=_NAME)
