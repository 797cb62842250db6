"""Whether the longest cable stays lossless at full rate: credits by reach, pauses by headroom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.fabric.wire import headroom
from netloom.fabric.wire.credits import reach_m
from netloom.provenance import Validity

if TYPE_CHECKING:
    from netloom.fabric.network import Network

__all__ = ["Lossless", "lossless"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossless:
    """What keeps a network from dropping packets, and how far it reaches.

    Attributes:
        flow_control: ``credits``, ``pfc`` or ``none``.
        longest_m: The longest cable of the design.
        reach_m: The longest cable that credits fill at full rate; None without credits.
        headroom_bytes: What pauses need for one port and priority at the longest cable; None
            without pauses.
        headroom_share: All ports' headroom over the switch's buffer; None where either is not
            known.
    """

    flow_control: str
    longest_m: float
    reach_m: float | None = None
    headroom_bytes: float | None = None
    headroom_share: float | None = None

    @property
    def validity(self) -> Validity:
        """A doubt where the longest cable asks for more than there is."""
        if self.reach_m is not None and self.longest_m > self.reach_m:
            doubt = (
                f"Credits fill a cable of up to {self.reach_m:.0f} m at this rate, and the longest "
                f"here is {self.longest_m:.0f} m: it runs slower than its line."
            )
            return Validity((doubt,))
        if self.headroom_share is not None and self.headroom_share > 1:
            doubt = (
                f"Pauses need {self.headroom_bytes or 0:,.0f} bytes of headroom for each port at "
                f"{self.longest_m:.0f} m: {self.headroom_share:.1f} times the switch's buffer."
            )
            return Validity((doubt,))
        return Validity()

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "flow_control": self.flow_control,
            "longest_cable_m": self.longest_m,
            "credit_reach_m": self.reach_m,
            "headroom_bytes": self.headroom_bytes,
            "headroom_share_of_buffer": self.headroom_share,
        }


def lossless(network: Network, *, longest_m: float) -> Lossless:
    """Return how *network* avoids loss on cables of up to *longest_m*."""
    flow_control = network.technology.flow_control
    rate_bps = network.design.port_rate_bps
    if flow_control == "credits" and network.technology.protocol == "infiniband":
        return Lossless(flow_control=flow_control, longest_m=longest_m, reach_m=reach_m(rate_bps))
    if flow_control != "pfc":
        return Lossless(flow_control=flow_control, longest_m=longest_m)
    needed = headroom.textbook_bytes(rate_bps=rate_bps, length_m=longest_m)
    switch = network.design.switch
    known = switch.buffer_bytes is not None and switch.radix(rate_bps) > 0
    share = headroom.fits(needed, switch, rate_bps=rate_bps).share if known else None
    return Lossless(
        flow_control=flow_control,
        longest_m=longest_m,
        headroom_bytes=needed,
        headroom_share=share,
    )
