"""What single failures do to a job on a topology, by the flow engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_names
from netloom.study.whatif.changes import changes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.fabric.graph import Fabric
    from netloom.study.whatif.failure import BaselineJob

__all__ = ["CABLE_PER_MONTH", "SWITCH_PER_MONTH", "PartLoss", "losses_of"]

# Alibaba HPN, SIGCOMM 2024: of links between NIC and ToR 0.057 % fail in a month, of ToRs 0.051 %
# critically. Taken for every cable and every switch.
CABLE_PER_MONTH: Final = 5.7e-4
SWITCH_PER_MONTH: Final = 5.1e-4
_DAYS_A_MONTH: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLoss:
    """What the failure of one part of a kind does.

    Attributes:
        kind: ``host cable``, ``fabric cable``, or a tier of switches.
        part: The one that was failed.
        count: Parts of the kind.
        step_s: Afterwards; None where the job stops.
        lost_share: Of the job's speed; 1 where it stops.
        per_month: Failures of all parts of the kind.
    """

    kind: str
    part: str
    count: int
    step_s: float | None
    lost_share: float
    per_month: float

    @property
    def stops(self) -> bool:
        """Whether the job stops."""
        return self.step_s is None

    def expected_lost_share(self, repair_days: float) -> float:
        """Return what such failures cost of the job's speed while they wait to be repaired."""
        down = self.per_month * repair_days / _DAYS_A_MONTH
        return 0.0 if self.stops else down * max(0.0, self.lost_share)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "kind": self.kind,
            "part": self.part,
            "count": self.count,
            "step_time_s": self.step_s,
            "lost_share": self.lost_share,
            "per_month": self.per_month,
            "stops": self.stops,
        }


def losses_of(bench: BaselineJob, healthy_s: float) -> Iterator[PartLoss]:
    """Yield the loss of a part of each kind, the first of it."""
    for kind, part, count, each in _parts(bench.fabric):
        after = bench.after(changes_of(fail=[part]))
        lost = 1.0 if after.step_s is None else 1 - healthy_s / after.step_s
        yield PartLoss(
            kind=kind,
            part=part,
            count=count,
            step_s=after.step_s,
            lost_share=lost,
            per_month=count * each,
        )


def _parts(fabric: Fabric) -> Iterator[tuple[str, str, int, float]]:
    """Yield each kind of part: its first one, how many there are, and how often one fails."""
    lower = fabric.link_source[::2]
    upper = fabric.link_target[::2]
    kind = fabric.vertex_kind
    host = np.flatnonzero((kind[lower] == VertexKind.NIC) & (kind[upper] == VertexKind.SWITCH))
    switched = np.flatnonzero(
        (kind[lower] == VertexKind.SWITCH) & (kind[upper] == VertexKind.SWITCH)
    )
    for name, cables in (("host cable", host), ("fabric cable", switched)):
        if len(cables):
            yield name, f"cable:{cables[0]}", len(cables), CABLE_PER_MONTH
    names = vertex_names(fabric)
    tiers = fabric.vertex_tier
    for tier in range(1, int(tiers.max()) + 1):
        members = np.flatnonzero((kind == VertexKind.SWITCH) & (tiers == tier))
        first = names[int(members[0])]
        yield first.partition(":")[0], first, len(members), SWITCH_PER_MONTH
