"""Routes that switches have against those that the design gives them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from netloom.fabric.names import vertex_names
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.identity import unaddressed
from netloom.ops.locate.looks.settling import LOOKS_TO_SETTLE
from netloom.ops.locate.network import looks
from netloom.ops.locate.routed.policies import (
    LackingSwitch,
    blamed_policies,
    policies_of,
    policy_findings,
)
from netloom.ops.locate.testimony import TRUST, Report, believed
from netloom.ops.underlay import expected_ways, interface_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from netloom.fabric.part_id import PartId
    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = [
    "foreign_routes",
    "missing_routes",
    "unused_cables",
    "without_astray",
    "without_unannounced",
]

MOST_NAMED = 4
LEAST_WITNESSES = 2  # switches that must lack a network before its own is to blame
# A route into the network of a host that is not what BGP would put there, by metric.
KINDS = {
    "route_refused": (Trouble.REFUSED, "its kernel refuses packets to"),
    "route_foreign": (
        Trouble.FOREIGN,
        "its kernel has routes or rules that the design does not have to",
    ),
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
    wanted = [one for prefix in prefixes if (one := _network(prefix)) is not None]
    return tuple(sorted({*network.gpus.get(switch, ()), *_behind(network, wanted)}))


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

    What a neighbour has no route to it cannot offer: the neighbour is to blame, or the switch whose
    policy keeps the route from it. A network that no other switch has a route to is missed at the
    switch that should announce it.

    Args:
        network: As designed.
        heard: What was said.
        gone: Cables that carry no routes, for reasons that are known.
        is_settling: Whether a cable changed a moment ago: routing has some looks to follow.
    """
    told = {part.partition("[")[0] for part in heard.of("routes_over")}
    if not told:
        return
    quiet = unannounced(network, heard, gone)
    yield from _unannounced(network, heard, quiet, is_settling=is_settling)
    refused = {part.partition(" ")[0] for part, t in heard.of("route_refused").items() if t.last}
    uses = network.uses(frozenset(gone))
    rib = {name: heard.last("rib_ways", name) for name in told - refused & uses.keys()}
    expected = {name: sum(uses[name].values()) for name in rib}
    short = {name for name, own in rib.items() if own is not None and own < expected[name]}
    if not short:
        return
    ways = expected_ways(network.plant, network.underlay, gone)
    policies, blamed = policies_of(heard), []
    for name in sorted(short):
        own, part = rib[name], network.part_called(name)
        left = expected[name] - _not_offered(network, heard, quiet, ways, name)
        if part is None or own is None or own >= left:
            continue
        (said,) = heard.said("rib_ways", name, bool)
        if is_settling and said.num_looks <= LOOKS_TO_SETTLE:
            continue
        lacking = LackingSwitch(
            name=name,
            prefixes=tuple(_lacking(heard, name, quiet)),
            num_short=round(left - own),
            few=frozenset(_few(network, heard, name, uses[name])),
            num_looks=said.num_looks,
        )
        if found := blamed_policies(network, policies, ways, lacking):
            blamed.append((lacking, found))
        else:
            short_of = _missing(network, part, lacking, own, left)
            yield replace(short_of, evidence=(*short_of.evidence, *_left_unused(heard, lacking)))
    yield from policy_findings(network, blamed)


def _missing(
    network: DesignedNetwork, part: PartId, lacking: LackingSwitch, own: float, left: int
) -> Finding:
    report = Report(is_so=True, num_looks=lacking.num_looks)
    few = [f"{port} ({network.part(network.at[port])})" for port in sorted(lacking.few)]
    over = f"; fewer lead over {', '.join(few)}" if 0 < len(few) <= MOST_NAMED else ""
    return network.finding(
        part,
        Trouble.MISSING_ROUTES,
        f"routing has {own:.0f} of the {left} ways to hosts that the design leaves it, "
        f"at {looks(lacking.num_looks)}{over}",
        confidence=believed(TRUST[Trouble.MISSING_ROUTES], [report]),
        magnitude=left - own,
        gain=(left - own) / left,
    )


def _left_unused(heard: TelemetryWindow, lacking: LackingSwitch) -> Iterator[str]:
    """Say so where a switch accepts as much over the ports it neglects as over any.

    Then it is the switch itself that takes no more ways: no cable, session or filter does.
    """
    accepted = {
        port: track.last
        for port, track in heard.of("bgp_prefixes").items()
        if port.partition("[")[0] == lacking.name and track.last is not None
    }
    ways = {heard.last("route_ways", f"{lacking.name} {one}") for one in lacking.prefixes}
    most = ways.pop() if len(ways) == 1 else None
    if not (accepted and lacking.few and most):
        return
    if all(accepted.get(port, 0) == max(accepted.values()) for port in lacking.few):
        yield (
            f"it accepts as much over them as over any other and takes {most:.0f} to each host: "
            f"as with 'maximum-paths {most:.0f}', weights or preferences of its own"
        )


def _lacking(heard: TelemetryWindow, name: str, quiet: Unannounced) -> Iterator[str]:
    """Give the networks of hosts to which a switch has fewer ways than the design."""
    for part, track in sorted(heard.of("route_ways").items()):
        switch, _, prefix = part.partition(" ")
        if switch == name and track.last is not None and prefix not in quiet.owners:
            yield prefix


def _not_offered(
    network: DesignedNetwork,
    heard: TelemetryWindow,
    quiet: Unannounced,
    ways: Mapping[int, Mapping[str, Sequence[str]]],
    name: str,
) -> int:
    """Return how many ways a switch lacks because its neighbours have no route to offer.

    Those neighbours, or the switch that keeps it from them, are to blame.
    """
    plant, number = network.plant, network.plant.number(name)
    far = {
        interface_name(plant, port): network.far_end(cable, name).partition("[")[0]
        for cable in network.by_device[name]
        for port in cable.ends
        if port.device == number
    }
    count = sum(quiet.short.get((name, prefix), 0) for prefix in quiet.owners)
    for prefix in _lacking(heard, name, quiet):
        count += sum(
            heard.last("route_ways", f"{far[interface]} {prefix}") == 0
            for interface in ways[number].get(prefix, ())
        )
    return count


def _few(
    network: DesignedNetwork, heard: TelemetryWindow, name: str, uses: Mapping[str, int]
) -> Iterator[str]:
    """Give the ports of a switch over which too few routes lead."""
    plant, number = network.plant, network.plant.number(name)
    for cable in network.by_device[name]:
        for port in cable.ends:
            over = heard.last("routes_over", plant.port_name(port))
            if (
                port.device == number
                and over is not None
                and over < uses.get(interface_name(plant, port), 0)
            ):
                yield plant.port_name(port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unannounced:
    """Networks of hosts that no switch but their own has a route to.

    Attributes:
        owners: The switch that should announce each.
        short: How many ways each switch lacks to each of them.
        reports: What the others say of each.
    """

    owners: Mapping[str, str] = field(default_factory=dict)
    short: Mapping[tuple[str, str], int] = field(default_factory=dict)
    reports: Mapping[str, Sequence[Report]] = field(default_factory=dict)


def unannounced(
    network: DesignedNetwork, heard: TelemetryWindow, gone: Collection[int]
) -> Unannounced:
    """Return the networks of hosts that all other switches lack though cables lead there.

    Args:
        network: As designed.
        heard: What was said.
        gone: Cables that carry no routes, for reasons that are known.
    """
    own = {part: track.last for part, track in heard.of("route_ways").items()}
    lacking = {part.partition(" ")[2] for part, ways in own.items() if ways == 0}
    if not lacking:
        return Unannounced()
    told = {part.partition("[")[0] for part in heard.of("routes_over")}
    devices = network.plant.devices
    ways = expected_ways(network.plant, network.underlay, gone)
    owners: dict[str, str] = {}
    short: dict[tuple[str, str], int] = {}
    reports: dict[str, Sequence[Report]] = {}
    for link in network.underlay.host_links:
        prefix, owner = str(link.switch_address.network), devices[link.switch_port.device].name
        should = {
            devices[number].name: len(some[prefix])
            for number, some in ways.items()
            if prefix in some and devices[number].name in told
        }
        others = [name for name in should if name != owner]
        if prefix not in lacking or len(others) < LEAST_WITNESSES:
            continue
        if all(own.get(f"{name} {prefix}") == 0 for name in others):
            owners[prefix] = owner
            short |= {
                (name, prefix): count
                for name, count in should.items()
                if own.get(f"{name} {prefix}") == 0
            }
            said = (heard.said("route_ways", f"{name} {prefix}", bool) for name in others)
            reports[prefix] = [replace(one, is_so=True) for some in said for one in some]
    return Unannounced(owners=owners, short=short, reports=reports)


def _unannounced(
    network: DesignedNetwork, heard: TelemetryWindow, quiet: Unannounced, *, is_settling: bool
) -> Iterator[Finding]:
    """Give the switches that announce too little, but for want of the address itself."""
    lost = unaddressed(network, heard)
    by_owner: dict[str, list[str]] = defaultdict(list)
    for link in network.underlay.host_links if quiet.owners else ():
        prefix = str(link.switch_address.network)
        if prefix in quiet.owners and network.plant.devices[link.host].name not in lost:
            by_owner[quiet.owners[prefix]].append(prefix)
    for name, prefixes in sorted(by_owner.items()):
        reports = quiet.reports[prefixes[0]]
        count = min(one.num_looks for one in reports)
        part = network.part_called(name)
        if part is None or (is_settling and count <= LOOKS_TO_SETTLE):
            continue
        more = f" and {len(prefixes) - MOST_NAMED} more" if len(prefixes) > MOST_NAMED else ""
        text = (
            f"none of {len(reports)} other switches has a route to "
            f"{', '.join(prefixes[:MOST_NAMED])}{more}, at {looks(count)}: it announces none"
        )
        sure = believed(TRUST[Trouble.MISSING_ROUTES], reports)
        found = network.finding(
            part,
            Trouble.MISSING_ROUTES,
            text,
            confidence=sure,
            magnitude=len(prefixes),
            gain=1.0,
        )
        wanted = [IPv4Network(prefix) for prefix in prefixes]
        yield replace(found, hurts=_behind(network, wanted))


def without_unannounced(
    network: DesignedNetwork, heard: TelemetryWindow, observed: Observed, gone: Collection[int]
) -> Observed:
    """Return *observed* less the flows to hosts whose network no other switch knows."""
    names = vertex_names(network.fabric)
    wanted = [IPv4Network(prefix) for prefix in unannounced(network, heard, gone).owners]
    if not wanted:
        return observed
    lost = {names[gpu] for gpu in _behind(network, wanted)}
    kept = tuple(flow for flow in observed.flows if flow.target not in lost)
    return observed.model_copy(update={"flows": kept})


def _behind(network: DesignedNetwork, wanted: Sequence[IPv4Network]) -> tuple[int, ...]:
    """Return the GPUs of the hosts that lie in some networks."""
    gpus: set[int] = set()
    for link in network.underlay.host_links:
        if any(one.overlaps(link.host_address.network) for one in wanted):
            gpus |= set(network.gpus.get(network.plant.devices[link.host].name, ()))
    return tuple(sorted(gpus))


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
