"""What a single switch has of its own: edge boxes differ from the switches of a site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from netloom.engines.packet.ecn import Ecn

__all__ = ["AZURE_POOL", "NOTICE_PS", "RELAY_PS", "VertexSettings"]

NOTICE_PS: Final = 10_000_000  # Themis: notifications every 10 us from the edge (secondary)
RELAY_PS: Final = 10_000_000  # assumed, as often


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexSettings:
    """A switch's own settings; what is left out is as everywhere.

    Attributes:
        buffer_bytes: Its buffer; up to 4.29 GB count.
        alpha: Share of the free buffer that each of its queues may take.
        headroom_bytes: Behind the threshold of each of its ingress links and priorities.
        headroom_pool_bytes: Shared by the headroom of all of them, whatever each may take; 0: each
            has its own.
        ecn: Marks of its egress queues; ``"off"`` for none.
        notice_ps: Least time between notices to a source whose packets wait in a queue beyond
            Kmin; 0: receivers alone tell sources.
        relayed: Its ingress links whose far ends are told at what rate it takes from them, in
            place of pauses that would come late; PFC only.
        relay_ps: Between looks at what waits.
    """

    buffer_bytes: int | None = None
    alpha: float | None = None
    headroom_bytes: int | None = None
    headroom_pool_bytes: int = 0
    ecn: Ecn | Literal["off"] | None = None
    notice_ps: int = 0
    relayed: tuple[int, ...] = ()
    relay_ps: int = RELAY_PS


# Bai et al., NSDI 2023: 24 MB, of which 6 MB are a pool of headroom that is oversubscribed.
AZURE_POOL: Final = VertexSettings(
    buffer_bytes=24_000_000,
    alpha=1 / 8,
    headroom_bytes=96_928,
    headroom_pool_bytes=6_000_000,
)
