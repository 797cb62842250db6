"""Findings of all kinds of evidence: what devices say, and what flows and probes went through."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.part_id import Direction, PartId
from netloom.ops.locate import likelihood
from netloom.ops.locate.counters import increase
from netloom.ops.locate.dead_ends import dead_ends, with_dead_ends
from netloom.ops.locate.device_findings import cables_away, device_findings
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import MIN, find
from netloom.ops.locate.read import observations_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.observations import Observations
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.parts.parts import Technology
    from netloom.spec.observed import Observed

__all__ = ["locate_all"]

# What a part that is not there, or not as it should be, does to flows is no second finding.
_EXPLAINS = {Trouble.MISSING, Trouble.SILENT, Trouble.MISWIRED, Trouble.WRONG_SPEED}


def locate_all(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    observed: Observed | None = None,
    technology: Technology | None = None,
    planned: Collection[int] = (),
) -> tuple[Finding, ...]:
    """Return what is wrong, the surest first, each part with each kind once.

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
    if observed is None or not observed.flows:
        return said
    gone = cables_away(network, heard, planned)
    said = with_dead_ends(said, tuple(dead_ends(network, observed, gone)))
    seen = _with_counters(network, heard, observations_of(network.fabric, observed))
    said = tuple(one for f in said if (one := _beside_flows(seen, f)).confidence >= MIN)
    explained = {f.part.whole for f in said if f.kind in _EXPLAINS}
    explained |= {
        PartId.cable(cable.number)
        for f in said
        if f.kind == Trouble.SILENT
        for cable in network.by_device.get(str(f.part.whole), ())
    }
    known = {(f.part.whole, f.kind) for f in said}
    inferred = (
        f
        for f in find(network.fabric, seen, technology)
        if f.part.whole not in explained and (f.part.whole, f.kind) not in known
    )
    return tuple(sorted((*said, *inferred), key=lambda f: -f.confidence))


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
    return replace(seen, link_packets=packets, link_errors=errors)


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
