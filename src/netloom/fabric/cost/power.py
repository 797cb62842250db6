"""What the network draws."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Power"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Electric power at full load, before cooling.

    Attributes:
        switches_w: All tiers, without their optics.
        optics_w: Transceivers and the ends of active cables.
        nics_w: Network cards; None where the catalogue has no figure. They stand apart: a
            node's power already includes its own.
    """

    switches_w: float
    optics_w: float
    nics_w: float | None

    @property
    def network_w(self) -> float:
        """Switches and optics."""
        return self.switches_w + self.optics_w
