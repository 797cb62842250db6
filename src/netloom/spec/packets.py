"""What a scenario says of switches and links that only the packet engine sees."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netloom.spec.quantity import SizeBytes, TimeS
from netloom.spec.strict import Strict

__all__ = ["ArbitrationEntry", "Lanes", "PacketOptions", "Switches", "Weight"]

MAX_TRACED = 10_000_000  # some GB of columns

Level = Annotated[int, Field(ge=0, le=7)]
Lane = Annotated[int, Field(ge=0, le=14)]
Time = Annotated[TimeS, Field(gt=0, le=3600)]
Size = Annotated[SizeBytes, Field(ge=64, le=1e12)]
Room = Annotated[SizeBytes, Field(ge=0, le=1e12)]
Parameter = Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]


class ArbitrationEntry(Strict):
    """An entry of a table of virtual lane arbitration."""

    lane: Lane = Field(description="Virtual lane, 0 to 14")
    weight: Annotated[int, Field(ge=0, le=255)] = Field(
        description="What it may send in its turn, in 64 bytes; 0 skips it"
    )


Table = Annotated[tuple[ArbitrationEntry, ...], Field(max_length=64)]


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


class Weight(Strict):
    """The turn of a priority in deficit round robin."""

    priority: Level = Field(description="A traffic's priority")
    weight_bytes: Annotated[SizeBytes, Field(ge=64, le=1e9)] = Field(
        description="What it may send in its turn"
    )


class Switches(Strict):
    """Buffers, queues and pipelines, of every switch alike."""

    buffer_bytes: Size | None = Field(
        default=None,
        description="Shared by all ports of a switch; when left out, with pfc what the catalogue's "
        "switch has, else 32 MB at host ports of 100 Gb/s and more in proportion",
    )
    alpha: Annotated[float, Field(gt=0, le=64)] | None = Field(
        default=None,
        description="Share of what is free of the buffer that one input (pfc) or output queue may "
        "take, at the rate of host ports; 1/8 when left out",
    )
    reserve_bytes: Room | None = Field(
        default=None, description="Each input and priority has for itself (pfc)"
    )
    headroom_bytes: Room | None = Field(
        default=None,
        description="Behind the threshold of each input and priority (pfc); what its cable needs "
        "when left out",
    )
    resume_bytes: Room | None = Field(
        default=None, description="Under the threshold before traffic resumes (pfc)"
    )
    queue_bytes: Size | None = Field(
        default=None, description="Fixed bound of each output queue (none, trimming)"
    )
    weights: Annotated[tuple[Weight, ...], Field(min_length=1, max_length=8)] | None = Field(
        default=None,
        description="What priorities may send in their turns; strict priority, the highest first, "
        "when left out",
    )
    cut_through: bool | None = Field(
        default=None, description="Whether packets leave while their tails still come in"
    )
    hash_alike: bool = Field(
        default=False,
        description="Whether all switches hash with one seed, so that choices repeat tier by tier",
    )
    flowlet_gap_s: Time | None = Field(
        default=None, description="Silence after which a flow may change its path (flowlet)"
    )


class PacketOptions(Strict):
    """What only 'netloom simulate --engine packet' asks for."""

    switches: Switches | None = Field(default=None, description="Buffers, queues and pipelines")
    paths: Annotated[int, Field(ge=1, le=32_768)] | None = Field(
        default=None, description="Ways that a spraying sender tells apart, a power of two; or 128"
    )
    parameters: (
        Annotated[dict[Parameter, Annotated[float, Field(ge=0)]], Field(max_length=32)] | None
    ) = Field(default=None, description="Of congestion control, by name, instead of its own")
    trace: Annotated[int, Field(ge=0, le=MAX_TRACED)] = Field(
        default=0, description="Departures of packets to keep, from the first, in the table 'trace'"
    )
    lanes: Lanes | None = Field(default=None, description="InfiniBand's virtual lanes")
    watchdog_s: Time | None = Field(
        default=None, description="A queue paused for this long is dropped; never when left out"
    )
    restore_s: Time | None = Field(
        default=None, description="How long the watchdog then ignores pauses; 200 ms when left out"
    )
