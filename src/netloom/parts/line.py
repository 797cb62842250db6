"""Parts of a line between sites; prices are ranges, which a user's quote replaces."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netloom.parts.parts import Part
from netloom.spec.quantity import LengthM, MoneyUsd, PowerW, RateBps, SizeBytes, TimeS

__all__ = ["CoherentOptics", "EdgeSwitch", "Fibre", "LineSite"]

Time = Annotated[TimeS, Field(ge=0)]
Money = Annotated[MoneyUsd, Field(ge=0)]
MoneyRange = tuple[Money, Money]
Watts = Annotated[PowerW, Field(ge=0)]


class Fibre(Part):
    """A kind of fibre.

    Attributes:
        iru_per_km_range_usd: Of one strand for 20 years, paid up front.
        upkeep_per_km_range_usd: Of the route, a year.
    """

    delay_per_km_s: Annotated[TimeS, Field(gt=0)]
    iru_per_km_range_usd: MoneyRange | None = None
    upkeep_per_km_range_usd: MoneyRange | None = None


class LineSite(Part):
    """An amplifier or a regenerator along the route."""

    kind: Literal["amplifier", "regenerator"]
    latency_s: Time
    power_w: Watts = 0.0
    price_range_usd: MoneyRange | None = None


class CoherentOptics(Part):
    """The module at each end of a wave.

    Attributes:
        reach_m: With amplifiers, without regeneration.
        latency_s: DSP and FEC of one end.
    """

    rate_bps: Annotated[RateBps, Field(gt=0)]
    reach_m: Annotated[LengthM, Field(gt=0)]
    latency_s: Time
    power_w: Watts
    price_range_usd: MoneyRange | None = None


class EdgeSwitch(Part):
    """The switch at the end of a span.

    Attributes:
        rate_bps: Of one port.
        buffer_bytes: Of the whole switch.
        price_range_usd: Of one port.
        power_w: Of one port.
    """

    rate_bps: Annotated[RateBps, Field(gt=0)]
    buffer_bytes: Annotated[SizeBytes, Field(gt=0)]
    latency_s: Time = 0.0
    power_w: Watts = 0.0
    price_range_usd: MoneyRange | None = None
