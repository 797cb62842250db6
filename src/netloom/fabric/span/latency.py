"""How long light and electronics take from one site to another.

Latency = route x delay a km + amplifiers + regenerators + coherent optics at both ends + the shim
of what carries the line. One direction; a round trip is twice that.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RouteLatency", "route_latency"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteLatency:
    """One direction of a span, part by part."""

    fibre_s: float
    amplifiers_s: float = 0.0
    regenerators_s: float = 0.0
    optics_s: float = 0.0
    carrier_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Everything together."""
        return sum(self.parts_s().values())

    def parts_s(self) -> dict[str, float]:
        """Return what each kind of part adds."""
        return {
            "fibre": self.fibre_s,
            "amplifiers": self.amplifiers_s,
            "regenerators": self.regenerators_s,
            "optics": self.optics_s,
            "carrier": self.carrier_s,
        }


def route_latency(  # noqa: PLR0913  (one argument a kind of part)
    length_m: float,
    *,
    delay_per_km_s: float,
    num_amplifiers: int = 0,
    amplifier_s: float = 0.0,
    num_regenerators: int = 0,
    regenerator_s: float = 0.0,
    optics_s: float = 0.0,
    carrier_s: float = 0.0,
) -> RouteLatency:
    """Return the latency of a route of *length_m*; *optics_s* is of one end."""
    return RouteLatency(
        fibre_s=length_m / 1e3 * delay_per_km_s,
        amplifiers_s=num_amplifiers * amplifier_s,
        regenerators_s=num_regenerators * regenerator_s,
        optics_s=2 * optics_s,
        carrier_s=carrier_s,
    )
