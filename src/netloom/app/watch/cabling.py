"""The network as built against the network as designed, at each round of a watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from netloom.errors import LabError
from netloom.ops.locate.cabling import cabling_observations
from netloom.ops.observe.audit import audit
from netloom.ops.observe.compare import Built, compare
from netloom.ops.observe.observation import Reading, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.ops.observe.audit import Audit
    from netloom.ops.observe.designed import Designed
    from netloom.ops.plant import Cable

__all__ = ["Cabled", "CablingAudit"]


@runtime_checkable
class Cabled(Protocol):
    """A collector that also sees cables."""

    @property
    def built(self) -> Built | None:
        """What the last look saw of them; None before the first."""

    @property
    def seen_s(self) -> float | None:
        """When it last saw all it can see; None while it does not."""


@dataclass(slots=True, kw_only=True)
class CablingAudit:
    """What differs from the design, by cable and device; read after those that see cables.

    Attributes:
        designed: What should be there.
        rate_bps: What each cable should run at.
        seers: Collectors that see cables, all of the same round.
        found: What the last look found, for people.
    """

    designed: Designed
    rate_bps: Callable[[Cable], float]
    seers: Sequence[Cabled]
    found: Audit | None = None

    @property
    def source(self) -> str:
        """Its name."""
        return "cabling"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Compare what was just seen.

        Raises:
            LabError: not all of the network was.
        """
        if any(one.seen_s is None for one in self.seers):
            message = "not all of the network was seen, so it is not compared with its design"
            raise LabError(message)
        built = Built.joined(one.built for one in self.seers if one.built is not None)
        designed = self.designed
        self.found = audit(
            designed.plant,
            built,
            racks=designed.racks,
            label=designed.label,
            rate_bps=self.rate_bps,
        )
        seen = list(cabling_observations(compare(designed.plant, built), self.rate_bps, time_s))
        return whole(self.source, time_s, seen, cursor=cursor)
