"""By how much the links between switches are fewer than what endpoints could send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.fabric.wiring.tiers import tiers

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["taper_of"]


def taper_of(wiring: PacketTopology) -> float:
    """Return what endpoints can send over what the uplinks of all tiers carry, 1 at least.

    The product over tiers of what switches have towards endpoints over what they have the other
    way, where there is any, as uet-htsim multiplies the oversubscription of its tiers. Scale-up
    links do not count.
    """
    there = ~wiring.link_scale_up
    source, target = wiring.link_source[there], wiring.link_target[there]
    rate_bps = wiring.link_rate_bps[there]
    tier = tiers(wiring, over_scale_up=False)
    taper = 1.0
    for level in range(1, int(tier.max(initial=0))):
        down_bps = rate_bps[(tier[source] == level) & (tier[target] == level - 1)].sum()
        up_bps = rate_bps[(tier[source] == level) & (tier[target] == level + 1)].sum()
        taper *= max(1.0, float(down_bps / up_bps)) if up_bps else 1.0
    return taper
