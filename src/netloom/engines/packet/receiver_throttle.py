"""Receivers that pull and ask for less where the network is tapered (UET's RCCC)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from netloom.fabric.taper import taper_of

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["ReceiverThrottle", "restraint_numbers"]

_PERIOD_RTTS: Final = 1.5  # uet-htsim oversubscribed_cc.h, nextInterval
_MIN_SHARE: Final = 0.01  # the same, setOversubscriptionRatio


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverThrottle:
    """How receivers slow down (uet-htsim OversubscribedCC).

    Once a period, or 0.75 to 1.25 of it, each looks at what came: packets trimmed on the way come
    off its share of the port, and so does a part of that while too many are marked; else it grows.

    Attributes:
        least_of_fair: The least share, of what the taper leaves each endpoint; without a taper no
            receiver slows down.
        period_ps: Between looks; 0: 1.5 round trips.
        smoothing: What the last look's share of marks weighs.
        marked_share: Marks among whole packets beyond which a receiver slows down.
        decrease: Of its share, if marks were to go beyond that by all packets.
        step: By which the share grows.
        doubles: Whether the step doubles, look by look, while nothing is marked.
        reacts_to_trims: Whether packets trimmed by other switches than the receiver's own count.
    """

    # uet-htsim oversubscribed_cc.cpp and .h @b7bfefb
    least_of_fair: float = 0.9
    period_ps: int = 0
    smoothing: float = 0.5
    marked_share: float = 0.3
    decrease: float = 0.5
    step: float = 0.01
    doubles: bool = True
    reacts_to_trims: bool = True


def restraint_numbers(
    restraint: ReceiverThrottle | None, wiring: PacketTopology, *, rtt_ps: int
) -> dict[str, float]:
    """Return what the core is told; *rtt_ps* says how often receivers look."""
    taper = taper_of(wiring) if restraint else 1.0
    numbers = asdict(restraint or ReceiverThrottle())
    fair = numbers.pop("least_of_fair")
    numbers["least_share"] = max(_MIN_SHARE, fair / taper) if taper > 1 else 0.0
    numbers["period_ps"] = numbers["period_ps"] or round(_PERIOD_RTTS * rtt_ps)
    return {f"restraint_{name}": float(value) for name, value in numbers.items()}
