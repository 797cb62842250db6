"""What a scenario says of switches and links that only the packet engine sees."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netloom.spec.quantity import TimeS
from netloom.spec.strict import Strict

__all__ = ["Entry", "Lanes", "Packets"]

Level = Annotated[int, Field(ge=0, le=7)]
Lane = Annotated[int, Field(ge=0, le=14)]
Time = Annotated[TimeS, Field(gt=0, le=3600)]


class Entry(Strict):
    """An entry of a table of virtual lane arbitration."""

    lane: Lane = Field(description="Virtual lane, 0 to 14")
    weight: Annotated[int, Field(ge=0, le=255)] = Field(
        description="What it may send in its turn, in 64 bytes; 0 skips it"
    )


Table = Annotated[tuple[Entry, ...], Field(max_length=64)]


class Lanes(Strict):
    """InfiniBand's service levels and virtual lanes, on every port alike."""

    lane_of: Annotated[tuple[Lane, ...], Field(min_length=8, max_length=8)] | None = Field(
        default=None,
        description="The virtual lane of each service level (a traffic's priority), 0 to 7; the "
        "level's own number when left out",
    )
    high: Table = Field(default=(), description="High-priority table, entry by entry")
    low: Table | None = Field(
        default=None, description="Low-priority table; all lanes in equal turns when left out"
    )
    high_limit: Annotated[int, Field(ge=0, le=255)] = Field(
        default=0,
        description="High-priority traffic that may pass before low gets a packet, in 4096 bytes; "
        "0: one packet, 255: no limit",
    )


class Packets(Strict):
    """What only 'netloom simulate --engine packet' asks for."""

    lanes: Lanes | None = Field(default=None, description="InfiniBand's virtual lanes")
    watchdog_s: Time | None = Field(
        default=None, description="A queue paused for this long is dropped; never when left out"
    )
    restore_s: Time | None = Field(
        default=None, description="How long the watchdog then ignores pauses; 200 ms when left out"
    )
