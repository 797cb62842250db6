"""Signatures: each a cause of slow collectives, and the curve that it would give.

A signature changes the network that was designed, in one or several ways (*variants*), and the
analytic engine predicts what that would show. It also knows what NCCL's own log says where the
cause is there, and where it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.study.expect.curve import bus_gbps, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.engines.analytic import Algorithm
    from netloom.parts.load import Catalog
    from netloom.study.expect.curve import TestRun
    from netloom.study.expect.facts import SetupFacts

__all__ = ["CauseVariant", "LogEvidence", "Signature"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseVariant:
    """One way in which a cause shows.

    Attributes:
        name: What is different: ``4 of 8 NICs``.
        run: The run on the changed network.
        algorithm: As NCCL_ALGO; None lets the library choose.
        startup: How many times longer the smallest message takes; what that adds is added to all.
    """

    name: str
    run: TestRun
    algorithm: Algorithm | None = None
    startup: float = 1.0

    def bus_gbps(self, sizes: Sequence[float]) -> tuple[float, ...]:
        """Return the bus bandwidth that this would show at each of *sizes*."""
        added_s = (self.startup - 1) * outcome_of(self.run, _SMALLEST, self.algorithm).duration_s
        found = [outcome_of(self.run, size, self.algorithm) for size in sizes]
        return tuple(bus_gbps(one) * one.duration_s / (one.duration_s + added_s) for one in found)


_SMALLEST = 8.0  # bytes


@dataclass(frozen=True, slots=True)
class LogEvidence:
    """What a log says about a cause: that it is there, or that it is not."""

    holds: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A cause that can be told by its curve.

    Attributes:
        name: In JSON: ``gpudirect-off``.
        title: For people: ``GPUDirect RDMA is off``.
        remedy: What to look at, and which variable or setting changes it.
        variants: The ways it would show on a run; none where it cannot be the cause there.
        evidence: What a log says about it; None where it says nothing.
        doubt: Standard deviation, as a natural logarithm, of how far the curve of the cause itself
            is known.
    """

    name: str
    title: str
    remedy: str
    variants: Callable[[TestRun, Catalog], tuple[CauseVariant, ...]]
    evidence: Callable[[SetupFacts, TestRun], LogEvidence | None]
    doubt: float = 0.0
