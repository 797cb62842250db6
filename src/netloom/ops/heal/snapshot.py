"""What healing starts from: findings, how old they are, and where their sources disagree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.fabric.part_id import PartId
    from netloom.ops.locate.congested.report import Congestion
    from netloom.ops.locate.findings import Finding

__all__ = ["Dispute", "Snapshot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """Two sources that do not agree on one part.

    Attributes:
        part: A cable, a switch or a subnet manager, whole.
        says: What each of them says.
    """

    part: PartId
    says: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was seen in one look.

    Attributes:
        findings: Most certain first.
        taken_s: When the oldest of the data were taken, seconds since 1970.
        away: Cables that carry nothing now: down, unlinked or drained, by a person or by netloom.
        disputes: Parts on which sources disagree.
        doubts: What could not be found out, and why.
        num_flows: Flows and probes behind the findings.
        lids: InfiniBand addresses of the devices that answered, by name.
        cordoned: Machines that take no jobs, by a person or by netloom, as the scheduler has them.
        num_nodes: Machines that there are; 0 where no scheduler was asked.
        congestion: Links that queue, and by whose traffic; nothing is broken there.
        unconfirmed: Parts and kinds of the findings that a watch has and this look has not.
    """

    findings: tuple[Finding, ...]
    taken_s: float
    away: tuple[PartId, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    doubts: tuple[str, ...] = ()
    num_flows: int = 0
    lids: Mapping[str, int] = field(default_factory=dict)
    cordoned: tuple[PartId, ...] = ()
    num_nodes: int = 0
    congestion: tuple[Congestion, ...] = ()
    unconfirmed: frozenset[tuple[PartId, str]] = frozenset()
