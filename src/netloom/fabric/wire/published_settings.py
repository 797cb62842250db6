"""Settings of lossless Ethernet by the name they were published under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.fabric.wire.lossless_ethernet import Marking
    from netloom.provenance import Source

__all__ = ["PUBLISHED_SETTINGS", "PublishedSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSettings:
    """What one publication sets switches and NICs to.

    Attributes:
        name: As options and scenarios call it.
        summary: One line.
        marking: ECN at ports of *marking_rate_bps*; None where nothing is marked.
        marking_rate_bps: The source scales thresholds with the rate from there; 0 where it gives
            one pair for any rate, or does not say.
        queue_shares: Where marks begin and end as shares of a fixed queue, in place of *marking*;
            None for none.
        alpha: Share of the free pool that an input takes; 0 where the source does not say.
        congestion_control: Of the NIC; empty for the technology's own.
        parameters: Of congestion control, by name; what is missing keeps its default.
        cnp_interval_s: Least time between notifications of a flow; 0 for the scheme's own.
        connections: Queue pairs of a transfer; 0 for the technology's own.
        source: Where it was read.
    """

    name: str
    summary: str
    marking: Marking | None
    marking_rate_bps: float
    queue_shares: tuple[float, float] | None
    alpha: float
    congestion_control: str
    parameters: Mapping[str, float]
    cnp_interval_s: float
    connections: int
    source: Source


PUBLISHED_SETTINGS: Final = Register[PublishedSettings](
    kind="settings", traits=PublishedSettings, home="netloom.fabric.wire.published"
)
