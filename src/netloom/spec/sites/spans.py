"""Sites, and the spans between them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from netloom.errors import SpecError
from netloom.spec.quantity import LengthM, RateBps, SizeBytes, TimeS
from netloom.spec.strict import Strict
from netloom.units import SHARE, parse_quantity

__all__ = [
    "MAX_SITES",
    "CarriedBy",
    "EdgeSpec",
    "ProtectionSpec",
    "SiteSpec",
    "SpanClass",
    "SpanSpec",
    "SpanWindow",
    "StreamSpec",
    "WaveSpec",
]

MAX_SITES: Final = 16
MAX_LENGTH_M: Final = 40_000e3

PartName = Annotated[str, Field(min_length=1, max_length=200)]


def _share(value: object) -> object:
    """Read 0.8, '1e-8' (which YAML 1.1 takes for text) and '80%'."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return parse_quantity(str(value), SHARE, where="")
    except SpecError as error:
        raise ValueError(str(error)) from error


_SHARE_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}],
    "description": "A share: 0.8, 1e-8 or '80%'",
    "examples": [0.8, "80%"],
}
PlainShare = Annotated[
    float, Field(ge=0, le=1), BeforeValidator(_share), WithJsonSchema(_SHARE_SCHEMA)
]
Loss = Annotated[float, Field(ge=0, lt=1), BeforeValidator(_share), WithJsonSchema(_SHARE_SCHEMA)]


class SiteSpec(Strict):
    """A place with nodes of its own."""

    name: PartName = Field(description="What spans call it")
    nodes: Annotated[int, Field(ge=1, le=4_194_304)] = Field(
        description="How many of the cluster's nodes stand there"
    )
    node: PartName | None = Field(
        default=None, description="Catalogue name of its nodes; the cluster's when left out"
    )


class WaveSpec(Strict):
    """The wavelengths of a span."""

    count: Annotated[int, Field(ge=1, le=100_000)] = Field(description="How many")
    rate_bps: Annotated[RateBps, Field(gt=0, le=1e14)] = Field(description="Of each")
    optics: PartName = Field(
        default="800zr-plus", description="Catalogue name of the coherent optics at both ends"
    )
    skew_s: Annotated[TimeS, Field(ge=0, le=1)] = Field(
        default=0.0,
        description="By how much the wave with the longest route is later than the shortest, where "
        "waves take several; the others lie between",
    )


class CarriedBy(Strict):
    """What carries packets over the waves."""

    kind: PartName = Field(default="ip", description="A carrier: ip, otn, flexe, spn, detnet, tsn")
    slots: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Slots of 5 Gb/s (1.25 of otn) that this job has; all by default"
    )
    cycle_s: Annotated[TimeS, Field(gt=0, le=1)] | None = Field(
        default=None, description="Of tsn: how long the gates' list is; classes then have windows"
    )


class SpanWindow(Strict):
    """When the gate of a class is open in each cycle (TSN)."""

    begin_s: Annotated[TimeS, Field(ge=0)] = Field(
        default=0.0, description="From the begin of the cycle"
    )
    length_s: Annotated[TimeS, Field(gt=0)] = Field(description="For how long")


class SpanClass(Strict):
    """A class of traffic on a span, for bounds on its delay."""

    name: PartName = Field(description="Of the class")
    priority: Annotated[int, Field(ge=0, le=7)] = Field(description="Higher ones are sent first")
    share: PlainShare = Field(description="Of the span's rate that its sources may send")
    burst_bytes: Annotated[SizeBytes, Field(gt=0)] | None = Field(
        default=None,
        description="What its shaped sources may send at once; without it there is no bound",
    )
    deadline_s: Annotated[TimeS, Field(gt=0)] | None = Field(
        default=None, description="One way, within which it must arrive"
    )
    via: Annotated[tuple[PartName, ...], Field(max_length=MAX_SITES)] = Field(
        default=(), description="Sites that it goes on to after this span, in order"
    )
    shaper: Literal["none", "cbs", "ats"] = Field(
        default="none",
        description="Of tsn or detnet, at each span: none, credit-based (802.1Qav; its share is "
        "idleSlope) or asynchronous (802.1Qcr)",
    )
    preempts: bool = Field(
        default=False, description="Of tsn: whether it cuts lower classes on the wire (802.1Qbu)"
    )
    window: SpanWindow | None = Field(
        default=None, description="Of tsn: when its gate is open (802.1Qbv)"
    )


class StreamSpec(Strict):
    """A frame every period that gates let through without waiting (TSN)."""

    name: PartName = Field(description="Of the stream")
    period_s: Annotated[TimeS, Field(gt=0, le=10)] = Field(description="From a frame to the next")
    size_bytes: Annotated[SizeBytes, Field(ge=46, le=9_198)] = Field(
        description="Of a frame's payload"
    )
    deadline_s: Annotated[TimeS, Field(gt=0)] = Field(
        description="One way, within which it must arrive"
    )


class ProtectionSpec(Strict):
    """What takes over when a span breaks."""

    kind: Literal["none", "restored", "1+1", "frer"] = Field(
        default="none",
        description="Nothing; another route after some time; two routes at once, the better one "
        "taken; or every packet over both (FRER)",
    )
    within_s: Annotated[TimeS, Field(gt=0, le=86_400)] = Field(
        default=0.05, description="From the break until traffic flows again"
    )
    length_m: Annotated[LengthM, Field(gt=0, le=MAX_LENGTH_M)] | None = Field(
        default=None, description="Of the other route"
    )


class EdgeSpec(Strict):
    """The switch at each end of a span."""

    switch: PartName = Field(
        default="deep-buffer-800g", description="Catalogue name of the edge switch"
    )
    buffer_bytes: Annotated[SizeBytes, Field(gt=0)] | None = Field(
        default=None, description="Its buffer; the catalogue's when left out"
    )
    flow_control: Literal["none", "pfc", "relayed", "credits"] = Field(
        default="none",
        description="Nothing over the span, PFC end to end, PFC ended and relayed at the edges, or "
        "InfiniBand's credits",
    )
    feedback: Literal["end-to-end", "near-source"] = Field(
        default="end-to-end", description="Who tells senders of congestion"
    )


class SpanSpec(Strict):
    """A line between two sites."""

    between: tuple[PartName, PartName] = Field(description="Two sites")
    length_m: Annotated[LengthM, Field(gt=0, le=MAX_LENGTH_M)] | None = Field(
        default=None, description="Of the fibre route, not as the crow flies"
    )
    latency_s: Annotated[TimeS, Field(gt=0, le=10)] | None = Field(
        default=None, description="One way, of a bought service, in place of a length"
    )
    waves: WaveSpec = Field(description="Its wavelengths")
    fibre: PartName = Field(default="g652", description="Catalogue name of the fibre")
    amplifiers_every_m: Annotated[LengthM, Field(gt=0)] = Field(
        default=80e3, description="Distance between amplifiers"
    )
    amplifier: PartName = Field(default="edfa", description="Catalogue name of the amplifiers")
    regenerators: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0, description="Sites that turn light into electricity and back"
    )
    regenerator: PartName = Field(
        default="otn-regenerator", description="Catalogue name of the regenerators"
    )
    carried_by: CarriedBy = Field(default=CarriedBy(), description="What carries packets over it")
    classes: Annotated[tuple[SpanClass, ...], Field(max_length=8)] = Field(
        default=(), description="Classes of traffic"
    )
    streams: Annotated[tuple[StreamSpec, ...], Field(max_length=1_000)] = Field(
        default=(), description="Periodic streams that gates are set for, by tsn"
    )
    protection: ProtectionSpec = Field(
        default=ProtectionSpec(), description="What takes over when it breaks"
    )
    loss: Loss = Field(default=1e-8, description="Packets lost after FEC")
    edge: EdgeSpec = Field(default=EdgeSpec(), description="The switch at each end")

    @model_validator(mode="after")
    def _placed(self) -> Self:
        if (self.length_m is None) == (self.latency_s is None):
            message = "give exactly one of 'length' (of the fibre route) and 'latency'"
            raise ValueError(message)
        if self.between[0] == self.between[1]:
            message = f"both ends are {self.between[0]!r}; name two sites"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _two_routes(self) -> Self:
        twice = self.protection.kind in {"1+1", "frer"}
        if twice and self.protection.length_m is None:
            message = (
                f"protection {self.protection.kind} on one route: both copies are cut with the "
                "fibre; give 'protection.length' of a second, disjoint route"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _classes_fit(self) -> Self:
        total = sum(one.share for one in self.classes)
        if total > 1 + 1e-9:
            message = f"'classes' share {total:g} of the span; give at most 1 in all"
            raise ValueError(message)
        return self
