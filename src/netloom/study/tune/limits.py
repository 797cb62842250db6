"""Hard limits: what settings must keep to, whatever they gain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.study.headroom.budget import HeadroomBudget

__all__ = ["TuneLimits", "buffer_need_bytes"]


def buffer_need_bytes(found: HeadroomBudget) -> float:
    """Return what a switch's ports may take at most: headroom, and queues up to their pauses."""
    settings = found.settings
    return settings.headroom_bytes + found.network.design.radix * float(settings.xoff_at_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneLimits:
    """What no setting may break.

    Attributes:
        max_pause_share: Share of all links' time that may be paused; 1 for any.
        may_lose: Whether packets may be lost; lossless classes must not.
        max_buffer_bytes: Of a switch that headroom and all ports' queues up to their pauses may
            take together; infinite for all that it has.
    """

    max_pause_share: float = 1.0
    may_lose: bool = False
    max_buffer_bytes: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.max_pause_share <= 1:
            raise SpecError(
                option="--max-pauses",
                what=f"{self.max_pause_share:.6g} of the time is no share",
                remedy="give 0% to 100%",
            )
        if not self.max_buffer_bytes > 0:
            raise SpecError(
                option="--max-buffer",
                what=f"{self.max_buffer_bytes:.6g} bytes hold no packet",
                remedy="give more, such as 64MB",
            )

    def buffer_excess(self, found: HeadroomBudget) -> float:
        """Return how far settings ask for more buffer than they may, as a share; 0 within."""
        return max(0.0, buffer_need_bytes(found) / self.max_buffer_bytes - 1)

    def buffer_broken(self, found: HeadroomBudget) -> tuple[str, ...]:
        """Return in words that settings ask for more buffer than they may."""
        if not self.buffer_excess(found):
            return ()
        need = buffer_need_bytes(found)
        return (f"{need:,.0f} B of buffer may be taken, over {self.max_buffer_bytes:,.0f} B",)

    def broken(self, trial: Mapping[str, Any]) -> tuple[str, ...]:
        """Return in words what a trial breaks; nothing where it keeps to all."""
        found = []
        if trial["lost"] and not self.may_lose:
            found.append(f"{trial['lost']:,} packets are lost")
        if trial["pause_share"] > self.max_pause_share:
            found.append(
                f"links are paused {trial['pause_share']:.2%} of the time, over "
                f"{self.max_pause_share:.2%}"
            )
        if not trial["ended"]:
            found.append("some transfers never end")
        return tuple(found)

    def excess(self, trial: Mapping[str, Any]) -> float:
        """Return how far a trial is over the limits; 0 within all."""
        lost = 0.0 if self.may_lose else trial["lost"] / max(trial["data_packets"], 1)
        paused = max(0.0, trial["pause_share"] - self.max_pause_share)
        return float(lost + paused + (0.0 if trial["ended"] else 1.0))
