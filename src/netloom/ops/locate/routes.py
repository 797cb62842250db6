"""Routes that switches have against those that the design gives them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from netloom.fabric.names import vertex_names
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.looks.settling import LOOKS_TO_SETTLE
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, Report, believed
from netloom.ops.underlay import interface_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = ["foreign_routes", "missing_routes", "unused_cables", "without_astray"]

MOST_NAMED = 4
# A route into the network of a host that is not what BGP would put there, by metric.
KINDS = {
    "route_refused": (Trouble.REFUSED, "its kernel refuses packets to"),
    "route_foreign": (Trouble.FOREIGN, "its kernel has routes that the design does not have to"),
}


def foreign_routes(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the switches with routes into hosts' networks that refuse packets or lead elsewhere."""
    for metric, (kind, says) in KINDS.items():
        prefixes: dict[str, list[str]] = defaultdict(list)
        for part, track in sorted(heard.of(metric).items()):
            name, _, prefix = part.partition(" ")
            if track.last and name in network.by_device and _network(prefix) is not None:
                prefixes[name].append(prefix)
        for name, some in prefixes.items():
            reports = [one for p in some for one in heard.said(metric, f"{name} {p}", bool)]
            longest = max(reports, key=lambda one: one.num_looks)
            more = f" and {len(some) - MOST_NAMED} more" if len(some) > MOST_NAMED else ""
            text = f"{says} {', '.join(some[:MOST_NAMED])}{more}, at {looks(longest.num_looks)}"
            part_id = network.part_called(name)
            assert part_id is not None, name
            sure = believed(TRUST[kind], [longest])
            found = network.finding(part_id, kind, text, confidence=sure, magnitude=len(some))
            yield replace(found, hurts=_hurt(network, name, some))


def without_astray(
    network: DesignedNetwork, heard: TelemetryWindow, observed: Observed
) -> Observed:
    """Return *observed* less the flows that a foreign or refusing route of a switch takes away.

    What they lose is explained by that route, and says nothing of the links that the kernel
    believes them to cross.
    """
    astray: dict[str, set[str]] = defaultdict(set)
    for metric in KINDS:
        for part, track in heard.of(metric).items():
            name, _, text = part.partition(" ")
            prefix = _network(text)
            if track.last and name in network.by_device and prefix is not None:
                astray[name] |= _gpus_in(network, prefix)
    if not astray:
        return observed
    kept = tuple(flow for flow in observed.flows if not _is_astray(flow, astray))
    return observed.model_copy(update={"flows": kept})


def _is_astray(flow: ObservedFlow, astray: dict[str, set[str]]) -> bool:
    return any(flow.target in astray.get(link.partition("->")[0], ()) for link in flow.path or ())


def _gpus_in(network: DesignedNetwork, prefix: IPv4Network) -> set[str]:
    """Return the names of the GPUs whose NIC ports have an address inside *prefix*."""
    names = vertex_names(network.fabric)
    return {
        names[gpu]
        for link in network.underlay.host_links
        if link.host_address.ip in prefix
        for gpu in network.gpus.get(network.plant.devices[link.host].name, ())
    }


def _hurt(network: DesignedNetwork, switch: str, prefixes: list[str]) -> tuple[int, ...]:
    """Return the GPUs behind a switch and those of the hosts that the prefixes lie in."""
    gpus = set(network.gpus.get(switch, ()))
    wanted = [one for prefix in prefixes if (one := _network(prefix)) is not None]
    for link in network.underlay.host_links:
        if any(one.overlaps(link.host_address.network) for one in wanted):
            gpus |= set(network.gpus.get(network.plant.devices[link.host].name, ()))
    return tuple(sorted(gpus))


def _network(prefix: str) -> IPv4Network | None:
    try:
        return IPv4Network(prefix)
    except ValueError:
        return None


def missing_routes(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    gone: Collection[int],
    *,
    is_settling: bool = False,
) -> Iterator[Finding]:
    """Give the switches whose routing has fewer ways to hosts than the design, less what is gone.

    Args:
        network: As designed.
        heard: What was said.
        gone: Cables that carry no routes, for reasons that are known.
        is_settling: Whether a cable changed a moment ago: routing has some looks to follow.
    """
    told = {part.partition("[")[0] for part in heard.of("routes_over")}
    if not told:
        return
    refused = {part.partition(" ")[0] for part, t in heard.of("route_refused").items() if t.last}
    uses = network.uses(frozenset(gone))
    for name in sorted(told - refused & uses.keys()):
        rib, expected = heard.last("rib_ways", name), sum(uses[name].values())
        part = network.part_called(name)
        if part is None or rib is None or rib >= expected:
            continue
        (said,) = heard.said("rib_ways", name, bool)
        if is_settling and said.num_looks <= LOOKS_TO_SETTLE:
            continue
        report = Report(is_so=True, num_looks=said.num_looks)
        sure = believed(TRUST[Trouble.MISSING_ROUTES], [report])
        text = (
            f"routing has {rib:.0f} of the {expected} ways to hosts that the design leaves it, "
            f"at {looks(said.num_looks)}"
        )
        short = expected - rib
        yield network.finding(
            part,
            Trouble.MISSING_ROUTES,
            text,
            confidence=sure,
            magnitude=short,
            gain=short / expected,
        )


def unused_cables(
    network: DesignedNetwork, heard: TelemetryWindow, gone: Collection[int]
) -> set[int]:
    """Return the cables that no route leads over at one of their ends though some should.

    They count as away whatever was done to them: filters, costs, routes taken out by hand.
    """
    over = heard.of("routes_over")
    if not over:
        return set()
    uses, plant, found = network.uses(frozenset(gone)), network.plant, set()
    for cable in plant.cables:
        for port in cable.ends:
            name = plant.devices[port.device].name
            track = over.get(plant.port_name(port))
            wanted = uses.get(name, {}).get(interface_name(plant, port), 0)
            if track is not None and track.last == 0 and wanted and cable.number not in gone:
                found.add(cable.number)
    return found
