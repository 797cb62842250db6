"""Observations as a file has them: flows, ports and switches, by their names."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netloom.spec.quantity import TimeS
from netloom.spec.strict import Strict

__all__ = ["Observed", "ObservedFlow", "ObservedLink", "ObservedSwitch"]

Count = Annotated[int, Field(ge=0, le=2**62)]
Share = Annotated[float, Field(ge=0, le=1)]
Part = Annotated[str, Field(min_length=1, max_length=200)]


class ObservedFlow(Strict):
    """A flow or a probe in the window."""

    source: Part = Field(description="GPU that sends, such as gpu:3")
    target: Part = Field(description="GPU that receives")
    source_port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        default=0, description="UDP source port: with the ends it decides the path"
    )
    path: tuple[Part, ...] | None = Field(
        default=None,
        description="Links crossed, such as leaf:3->spine:0, with #40 behind it where cable 40 is "
        "one of several; by the port's hash when left out",
    )
    ends_at: Part | None = Field(
        default=None,
        description="Device at which its way ends: it refuses the flow, or does not tell where it "
        "sends it; path then has the links up to there",
    )
    packets: Count = Field(description="Sent in the window")
    lost: Count = Field(default=0, description="Sent again, or never arrived")
    large: bool = Field(default=True, description="Whether packets are full ones")
    ecn_cleared: Count = Field(
        default=0, description="Arrived without the ECN bits that they were sent with"
    )
    dscp_changed: Count = Field(default=0, description="Arrived with another DSCP than sent with")
    slowdown: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        default=None, description="Time over what is expected of a healthy fabric"
    )
    delay_s: TimeS | None = Field(
        default=None, alias="delay", description="Round trip over that of a healthy path"
    )
    job: Annotated[str, Field(max_length=80)] = Field(default="", description="Job that it serves")
    phase: Annotated[str, Field(max_length=80)] = Field(
        default="", description="What the job does meanwhile, such as all-to-all"
    )


class ObservedLink(Strict):
    """What the ports at both ends of a link counted in the window."""

    link: Part = Field(description="Such as leaf:3->spine:0")
    packets: Count | None = Field(default=None, description="Received")
    errors: Count | None = Field(default=None, description="Received damaged, or thrown away")
    pause_share: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="Share of the time its sender was paused"
    )
    utilisation: Share | None = Field(default=None, description="Share of the line rate sent")
    queue_s: TimeS | None = Field(
        default=None, alias="queue", description="Deepest queue at its sender, in time to send it"
    )
    marked_share: Share | None = Field(
        default=None, description="Share of packets that its sender marked (ECN)"
    )
    dropped_share: Share | None = Field(
        default=None, description="Share of packets that its sender threw away for want of room"
    )
    dropped_small_share: Share | None = Field(
        default=None, description="Of small packets, at most, where that is known"
    )
    dropped_large_share: Share | None = Field(default=None, description="Likewise of full ones")


class ObservedSwitch(Strict):
    """What a switch says of its routes."""

    switch: Part = Field(description="Such as leaf:3")
    rib_ways: Count = Field(description="Next hops that the routing daemon has")
    fib_ways: Count = Field(description="Next hops that the forwarding plane has")


class Observed(Strict):
    """One window."""

    flows: tuple[ObservedFlow, ...] = Field(default=(), description="Flows and probes")
    links: tuple[ObservedLink, ...] = Field(default=(), description="Port counters")
    switches: tuple[ObservedSwitch, ...] = Field(default=(), description="Routes")
