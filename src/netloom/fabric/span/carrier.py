"""The register of carriers (``carried_by``): ip, otn, flexe, spn, detnet, tsn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from netloom.provenance import Source
from netloom.registers import Register

__all__ = ["CARRIERS", "CARRIER_SOURCE", "Carrier"]

CARRIER_SOURCE: Final = Source(
    citation="Per-node and shim delays as remembered (FlexE, MTN and OTN equipment); no primary "
    "source found",
    confidence="recalled",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """A way to carry packets over a span.

    Attributes:
        guarantees: What a user may rely on.
        strands: Which bandwidth is lost to others.
        costs: What it takes beyond the wave.
        end_latency_s: Both ends together, one direction.
        slot_bps: The unit of bandwidth; None where any rate goes.
        payload_share: Of the wave's rate that packets may use.
        has_bound: Whether a bound on delay follows, given shaped sources.
        source: Who says what the delays are.
    """

    name: str
    title: str
    guarantees: str
    strands: str
    costs: str
    end_latency_s: float
    slot_bps: float | None
    payload_share: float
    has_bound: bool
    source: Source = CARRIER_SOURCE


CARRIERS: Final = Register[Carrier](
    kind="carrier",
    traits=Carrier,
    home="netloom.fabric.span.carriers",
    entry_point_group="netloom.carriers",
)
