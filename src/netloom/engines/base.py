"""What every engine takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.provenance import Validity, Why
    from netloom.workload.collective import Collective, Group

__all__ = ["Contention", "Engine", "Outcome", "Pattern", "bus_factor"]

Pattern = Literal["ring", "tree", "all-to-all", "pair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How long one collective takes.

    Attributes:
        engine: Which engine says so.
        collective: What was asked.
        duration_s: From the first rank's call to the last rank's return.
        algorithm: ``ring``, ``tree``, ``nvls`` ... as the library would choose.
        protocol: ``LL``, ``LL128``, ``Simple``, or empty.
        validity: Whether this was checked against measurements.
        why: How the duration came about.
    """

    engine: str
    collective: Collective
    duration_s: float
    algorithm: str
    protocol: str
    validity: Validity
    why: Why

    @property
    def bus_rate_bps(self) -> float:
        """Bus bandwidth as nccl-tests defines it, in bits per second; 0 when nothing moves."""
        if self.duration_s == 0:
            return 0.0
        return bus_factor(self.collective) * self.collective.size_bytes * 8 / self.duration_s


class Engine(Protocol):
    """Predicts how long a collective takes on a network."""

    @property
    def name(self) -> str:
        """The engine's name."""
        ...

    def run(self, collective: Collective, network: Network) -> Outcome:
        """Return the outcome of *collective* on *network*; equal inputs give equal outcomes."""
        ...


class Contention(Protocol):
    """Says what flows do to one another between nodes."""

    def slowdown(self, network: Network, group: Group, pattern: Pattern, *, pace: float) -> Why:
        """Return how many times longer the slowest hop takes than its NIC would; 1 or more.

        Args:
            network: What the hops cross.
            group: Whose hops they are; its siblings communicate at the same time.
            pattern: Which member sends to which.
            pace: What a NIC offers of payload, as a share of its nominal rate.
        """
        ...


def bus_factor(collective: Collective) -> float:
    """Return bus bandwidth over algorithm bandwidth: nccl-tests PERFORMANCE.md."""
    return collective_entry(collective.kind).bus_factor(collective.group.size)
