"""Findings of all kinds of evidence: what devices say, and what flows and probes went through."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.part_id import CABLE, Direction, PartId
from netloom.ops.locate import likelihood
from netloom.ops.locate.counters import full_links, increase
from netloom.ops.locate.dead_ends import dead_ends, with_dead_ends
from netloom.ops.locate.device_findings import cables_away, device_findings
from netloom.ops.locate.drift import drifts, with_wrong_sizes, without_expected
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import MIN, find_all
from netloom.ops.locate.identity import without_unaddressed
from netloom.ops.locate.looks.settling import settled_flows, settling_cables
from netloom.ops.locate.port_loads import load_of
from netloom.ops.locate.read import observations_of
from netloom.ops.locate.remarking import remarkings
from netloom.ops.locate.routes import without_astray, without_unannounced
from netloom.ops.locate.shared_cause import with_shared_causes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from netloom.ops.locate.congested.report import Congestion
    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.observations import Observations
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.parts.parts import Technology
    from netloom.spec.observed import Observed

__all__ = ["LocatedWindow", "locate_added", "locate_all", "locate_window"]

# What a part that is not there, or not as it should be, does to flows is no second finding.
_EXPLAINS = {
    *(Trouble.MISSING, Trouble.NO_PORT, Trouble.SILENT, Trouble.MISWIRED),
    Trouble.WRONG_SPEED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedWindow:
    """What one window shows.

    Attributes:
        findings: What is wrong, the surest first, each part with each kind once.
        congestion: Links that queue by the traffic they carry, the most crossed first.
    """

    findings: tuple[Finding, ...]
    congestion: tuple[Congestion, ...] = ()


def locate_all(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    observed: Observed | None = None,
    technology: Technology | None = None,
    planned: Collection[int] = (),
) -> tuple[Finding, ...]:
    """Return what is wrong, the surest first; see :func:`locate_window`."""
    return locate_window(network, heard, observed, technology, planned).findings


def locate_window(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    observed: Observed | None = None,
    technology: Technology | None = None,
    planned: Collection[int] = (),
) -> LocatedWindow:
    """Return what is wrong, and what is congested instead.

    Args:
        network: As designed.
        heard: What devices said.
        observed: Flows and probes of the same time, where there are any.
        technology: How losses are recovered, for what they cost.
        planned: Numbers of cables that are drained on purpose.

    Raises:
        SpecError: *observed* names what is not there.
    """
    said = device_findings(network, heard, planned)
    set_wrong = () if technology is None else drifts(network, heard, technology, planned)
    said = without_expected(network, (*said, *set_wrong), planned)
    said = tuple(sorted(said, key=lambda one: -one.confidence))
    settling = settling_cables(network, heard)
    if observed is not None:
        observed = settled_flows(network, observed, settling)
    gone = cables_away(network, heard, planned)
    if observed is None or not observed.flows:
        # A port whose cable is down, or was, throws away what waits for it.
        apart = {*gone, *settling}
        full = tuple(full_links(network, heard, lambda cable: cable.number in apart))
        return LocatedWindow(findings=with_shared_causes(network, said), congestion=full)
    observed = without_unaddressed(network, heard, observed)
    observed = without_unannounced(network, heard, observed, gone)
    silent = {str(one.part.whole) for one in said if one.kind == Trouble.SILENT}
    said = with_dead_ends(said, tuple(dead_ends(network, observed, gone | settling, silent)))
    said = (*said, *remarkings(network, observed))
    along = without_astray(network, heard, observed)
    if not along.flows:
        return LocatedWindow(findings=with_shared_causes(network, said))
    seen = _with_counters(network, heard, observations_of(network.fabric, along))
    said = tuple(one for f in said if (one := _beside_flows(seen, f)).confidence >= MIN)
    explained = _explained(network, said)
    known = {(f.part.whole, f.kind) for f in said}
    found, congestion = find_all(network.fabric, seen, technology)
    inferred = (
        f for f in found if f.part.whole not in explained and (f.part.whole, f.kind) not in known
    )
    told = with_wrong_sizes(network, heard, (*said, *inferred))
    every = with_shared_causes(network, told)
    ranked = tuple(sorted(every, key=lambda f: -f.confidence))
    return LocatedWindow(findings=ranked, congestion=congestion)


def _explained(network: DesignedNetwork, said: Sequence[Finding]) -> set[PartId]:
    """Return the parts that what was found already does something to: no flow convicts them."""
    parts = {f.part.whole for f in said if f.kind in _EXPLAINS}
    for part in tuple(parts):
        if part.kind == CABLE:  # a NIC and its cable are one
            names = network.devices_of(network.cables[part.index])
            parts |= {PartId.parse(one) for one in names if len(network.by_device[one]) == 1}
        else:
            cables = network.by_device.get(str(part), ())
            parts |= {PartId.cable(cable.number) for cable in cables}
    return parts


def locate_added(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    added: Observed,
    technology: Technology | None = None,
) -> tuple[Finding, ...]:
    """Return the losses that many looks show together, the surest first.

    Args:
        network: As designed.
        heard: What devices said.
        added: The flows of many looks as one.
        technology: How losses are recovered, for what they cost.
    """
    added = without_astray(network, heard, added)
    if not added.flows:
        return ()
    seen = _with_counters(network, heard, observations_of(network.fabric, added))
    return tuple(f for f in find_all(network.fabric, seen, technology)[0] if f.confidence >= MIN)


def _with_counters(
    network: DesignedNetwork, heard: TelemetryWindow, seen: Observations
) -> Observations:
    """Return *seen* with what the ports counted, where it does not tell of them itself."""
    packets, errors = seen.link_packets.copy(), seen.link_errors.copy()
    for part, track in heard.of("received_packets").items():
        cable, errs = network.at.get(part), heard.of("receive_errors").get(part)
        if cable is None or errs is None:
            continue
        # Links 2n lead up, so the upper port receives what crosses them.
        link = 2 * cable.number + (part == network.ends[cable.number][0])
        if errors[link] < 0:
            packets[link], errors[link] = round(increase(track)), round(increase(errs))
    load = load_of(network, heard) if seen.load is None else seen.load
    return replace(seen, link_packets=packets, link_errors=errors, load=load)


def _beside_flows(seen: Observations, finding: Finding) -> Finding:
    """Return a loss that ports count with the say of the flows that cross the link."""
    if finding.kind != FaultKind.LOSS or finding.part.direction is Direction.BOTH:
        return finding
    flows = _crossing(seen, finding.part)
    if not len(flows) or not 0 < finding.magnitude < 1:
        return finding
    say = likelihood.lost(
        seen.lost[flows].astype(float),
        seen.packets[flows].astype(float),
        np.full(len(flows), likelihood.BASE_LOSS),
        finding.magnitude,
    ).sum()
    odds = math.log(finding.confidence / (1 - finding.confidence)) + float(say)
    return replace(finding, confidence=float(1 / (1 + np.exp(-np.clip(odds, -30, 9)))))


def _crossing(seen: Observations, part: PartId) -> NDArray[np.int64]:
    """Return the flows that cross one direction of a cable; links 2n lead up."""
    link = 2 * part.index + (part.direction is Direction.DOWN)
    return np.unique(seen.flow_of_crossing()[seen.paths.links == link])
