"""The machine room, and how money is counted."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netloom.spec.quantity import LengthM, MoneyUsd, TimeS
from netloom.spec.strict import Strict

__all__ = ["Economics", "Floor"]


class Floor(Strict):
    """The machine room, from which cable lengths follow.

    Attributes:
        row_pitch_m: From one row of racks to the next, and between rows that stand end to end.
        slack_m: Rise from a port to the tray and spare length, at each end of a cable.
    """

    nodes_per_rack: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4, description="Nodes that stand in one rack"
    )
    racks_per_row: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=16, description="Racks side by side in one row"
    )
    rack_width_m: Annotated[LengthM, Field(gt=0, le=10)] = Field(
        default=0.6, description="From the middle of a rack to the middle of the next"
    )
    row_pitch_m: Annotated[LengthM, Field(gt=0, le=50)] = Field(
        default=3.0, description="From a row to the next, aisle included"
    )
    slack_m: Annotated[LengthM, Field(ge=0, le=50)] = Field(
        default=2.0, description="Added to each cable for the way up, down and around"
    )


class Economics(Strict):
    """How money is counted."""

    lifetime_s: Annotated[TimeS, Field(gt=0, le=100 * 31_557_600.0)] = Field(
        default=4 * 31_557_600.0, description="Over which the purchase is written off"
    )
    electricity_usd_per_kwh: Annotated[MoneyUsd, Field(ge=0, le=10)] = Field(
        default=0.08, alias="electricity_per_kwh", description="Price of a kilowatt-hour"
    )
    pue: Annotated[float, Field(ge=1, le=5)] = Field(
        default=1.25, description="Power of the whole site over power of the machines"
    )
