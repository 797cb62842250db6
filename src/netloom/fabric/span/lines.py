"""The spans of a scenario, built from catalogue parts: delay, rate, loss, price and power."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError, at
from netloom.fabric.span.calendar import slots_of
from netloom.fabric.span.carrier import CARRIERS
from netloom.fabric.span.latency import RouteLatency, route_latency

if TYPE_CHECKING:
    from netloom.fabric.span.carrier import Carrier
    from netloom.parts.line import CoherentOptics, EdgeSwitch, Fibre
    from netloom.parts.load import Catalog
    from netloom.spec.sites import SpanSpec

__all__ = ["WIRE_SHARE", "BuiltSpan", "built_span"]

# Payload of a RoCEv2 packet of 4 KiB: 98 bytes of headers, check sums, preamble and gap.
WIRE_SHARE: Final = 4_096 / (4_096 + 98)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltSpan:
    """A span with its parts.

    Attributes:
        latency: One way.
        line_bps: What the job has of one direction, headers included.
        stranded_bps: Of the waves, what is the job's and cannot be used.
    """

    spec: SpanSpec
    optics: CoherentOptics
    edge: EdgeSwitch
    fibre: Fibre
    carrier: Carrier
    latency: RouteLatency
    num_amplifiers: int
    line_bps: float
    stranded_bps: float

    @property
    def name(self) -> str:
        """Both ends."""
        return f"{self.spec.between[0]} - {self.spec.between[1]}"

    @property
    def length_m(self) -> float:
        """Of the route; of a bought service, of as much fibre as has its latency."""
        if self.spec.length_m is not None:
            return self.spec.length_m
        return self.latency.total_s / self.fibre.delay_per_km_s * 1e3

    @property
    def payload_bps(self) -> float:
        """Of one direction, what is left for data."""
        return self.line_bps * WIRE_SHARE

    @property
    def buffer_bytes(self) -> float:
        """Of the switch at each end."""
        return self.spec.edge.buffer_bytes or self.edge.buffer_bytes

    def one_way_s(self, length_m: float) -> float:
        """Return the latency if the route were *length_m* long."""
        per_m = self.fibre.delay_per_km_s / 1e3
        fixed_s = self.latency.total_s - self.latency.fibre_s if self.spec.length_m else 0.0
        return per_m * length_m + fixed_s


def built_span(spec: SpanSpec, catalog: Catalog, *, key: str) -> BuiltSpan:
    """Return the span that *spec* describes.

    Raises:
        NetloomError: a part is unknown, the optics do not reach, or slots exceed the PHYs.
    """
    with at(key):
        with at("waves.optics"):
            optics = catalog.optics(spec.waves.optics)
        with at("edge.switch"):
            edge = catalog.edge_switch(spec.edge.switch)
        with at("fibre"):
            fibre = catalog.fibre(spec.fibre)
        with at("carried_by.kind"):
            carrier = CARRIERS.get(spec.carried_by.kind)
        _check_reach(spec, optics)
        line_bps, stranded_bps = _rates(spec, carrier)
        return BuiltSpan(
            spec=spec,
            optics=optics,
            edge=edge,
            fibre=fibre,
            carrier=carrier,
            latency=_latency(spec, catalog, optics, fibre, carrier),
            num_amplifiers=_num_amplifiers(spec),
            line_bps=line_bps,
            stranded_bps=stranded_bps,
        )


def _num_amplifiers(spec: SpanSpec) -> int:
    return 0 if spec.length_m is None else math.floor(spec.length_m / spec.amplifiers_every_m)


def _latency(
    spec: SpanSpec, catalog: Catalog, optics: CoherentOptics, fibre: Fibre, carrier: Carrier
) -> RouteLatency:
    if spec.latency_s is not None:
        return RouteLatency(fibre_s=spec.latency_s)
    assert spec.length_m is not None
    with at("amplifier"):
        amplifier = catalog.line_site(spec.amplifier)
    with at("regenerator"):
        regenerator = catalog.line_site(spec.regenerator)
    return route_latency(
        spec.length_m,
        delay_per_km_s=fibre.delay_per_km_s,
        num_amplifiers=_num_amplifiers(spec),
        amplifier_s=amplifier.latency_s,
        num_regenerators=spec.regenerators,
        regenerator_s=regenerator.latency_s,
        optics_s=optics.latency_s,
        carrier_s=carrier.end_latency_s,
    )


def _check_reach(spec: SpanSpec, optics: CoherentOptics) -> None:
    if spec.length_m is None:
        return
    section_m = spec.length_m / (spec.regenerators + 1)
    if section_m > optics.reach_m:
        needed = math.ceil(spec.length_m / optics.reach_m) - 1
        raise SpecError(
            key="waves.optics",
            what=f"{optics.name} reaches {optics.reach_m / 1e3:g} km, and {section_m / 1e3:g} km "
            f"lie between {'regenerators' if spec.regenerators else 'the ends'}",
            remedy=f"set 'regenerators: {needed}', or use optics of a longer reach",
        )
    if spec.waves.rate_bps > optics.rate_bps:
        raise SpecError(
            key="waves.rate",
            what=f"{spec.waves.rate_bps / 1e9:g} Gb/s a wave, and {optics.name} has "
            f"{optics.rate_bps / 1e9:g}",
            remedy="lower it, or use faster optics",
        )


def _rates(spec: SpanSpec, carrier: Carrier) -> tuple[float, float]:
    """Return the job's line rate, and what of the waves its slots strand."""
    whole_bps = spec.waves.count * spec.waves.rate_bps
    if carrier.slot_bps is None:
        if spec.carried_by.slots is not None:
            raise SpecError(
                key="carried_by.slots",
                what=f"{carrier.name} has no slots",
                remedy="leave them out, or use flexe, spn or otn",
            )
        return whole_bps, 0.0
    each = (
        slots_of(spec.waves.rate_bps)
        if carrier.slot_bps == 5e9
        else int(spec.waves.rate_bps // carrier.slot_bps)
    )
    slots = spec.waves.count * each
    asked = spec.carried_by.slots or slots
    if asked > slots:
        raise SpecError(
            key="carried_by.slots",
            what=f"{asked} slots of {carrier.slot_bps / 1e9:g} Gb/s, and {spec.waves.count} waves "
            f"of {spec.waves.rate_bps / 1e9:g} Gb/s have {slots}",
            remedy=f"use at most {slots}, or add waves",
        )
    line_bps = asked * carrier.slot_bps * carrier.payload_share
    return line_bps, asked * carrier.slot_bps - line_bps
