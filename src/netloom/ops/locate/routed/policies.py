"""Whose route policy takes ways away: filters and preferences at either end of a session.

A switch that lacks ways is seldom the one that was changed. A policy acts where routes are taken
from a neighbour (``in``) or announced to one (``out``), at any hop between the switch that lacks
ways and the one that the hosts hang on.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, Report, believed
from netloom.ops.underlay import interface_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow

__all__ = ["LackingSwitch", "RoutePolicy", "blamed_policies", "policies_of", "policy_findings"]

MOST_NAMED: Final = 4
IN: Final = "in"
OUT: Final = "out"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePolicy:
    """A policy that the design does not have.

    Attributes:
        port: Of the switch that was told to apply it.
        direction: ``in`` for what it takes from its neighbour, ``out`` for what it announces.
        name: As the switch calls it, such as ``route-map X``.
    """

    port: str
    direction: str
    name: str

    @property
    def switch(self) -> str:
        """The switch that applies it."""
        return self.port.partition("[")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LackingSwitch:
    """A switch that has fewer ways to hosts than the design leaves it.

    Attributes:
        name: Of it.
        prefixes: Networks of hosts to which ways are missing.
        num_short: How many ways, to all of them.
        few: Ports over which too few routes lead.
        num_looks: At how many looks in a row.
    """

    name: str
    prefixes: tuple[str, ...]
    num_short: int
    few: frozenset[str]
    num_looks: int


def policies_of(heard: TelemetryWindow) -> dict[tuple[str, str], list[RoutePolicy]]:
    """Return the policies that switches tell of, by port and direction."""
    found: dict[tuple[str, str], list[RoutePolicy]] = defaultdict(list)
    for part, track in sorted(heard.of("bgp_policy").items()):
        port, direction, name = (*part.split(" ", 2), "", "")[:3]
        if track.last and direction in {IN, OUT}:
            found[port, direction].append(RoutePolicy(port=port, direction=direction, name=name))
    return found


def blamed_policies(
    network: DesignedNetwork,
    policies: Mapping[tuple[str, str], Sequence[RoutePolicy]],
    ways: Mapping[int, Mapping[str, Sequence[str]]],
    lacking: LackingSwitch,
) -> tuple[RoutePolicy, ...]:
    """Return the policies that may keep ways from a switch, none where there are none.

    Those on the ways that it lacks come first; else one that prefers another way does it.

    Args:
        network: As designed.
        policies: That there are.
        ways: Interfaces that each switch should use to each network.
        lacking: The switch, and what it lacks.
    """
    if not policies:
        return ()
    along = [
        (port in lacking.few, one)
        for prefix in lacking.prefixes
        for port, one in _along(network, policies, ways, lacking.name, prefix)
    ]
    on_few = dict.fromkeys(one for is_few, one in along if is_few)
    return tuple(on_few or dict.fromkeys(one for _, one in along))


def _along(
    network: DesignedNetwork,
    policies: Mapping[tuple[str, str], Sequence[RoutePolicy]],
    ways: Mapping[int, Mapping[str, Sequence[str]]],
    name: str,
    prefix: str,
) -> Iterator[tuple[str, RoutePolicy]]:
    """Give the policies at each hop to a network, with the port of the first hop."""
    plant = network.plant
    first = plant.number(name)
    edge = [(first, port) for port in _ports(network, first, ways[first].get(prefix, ()))]
    seen: set[tuple[int, str]] = set()
    firsts = {port: port for _, port in edge}
    while edge:
        device, port = edge.pop()
        cable, begin = network.at[port], firsts[port]
        far = network.far_end(cable, plant.devices[device].name)
        for key in ((port, IN), (far, OUT)):
            yield from ((begin, one) for one in policies.get(key, ()))
        beyond = plant.number(far.partition("[")[0])
        for further in _ports(network, beyond, ways.get(beyond, {}).get(prefix, ())):
            if (beyond, further) not in seen:
                seen.add((beyond, further))
                firsts.setdefault(further, begin)
                edge.append((beyond, further))


def _ports(network: DesignedNetwork, device: int, interfaces: Iterable[str]) -> list[str]:
    """Return the ports to other switches that a device calls so."""
    plant, wanted = network.plant, set(interfaces)
    return [
        plant.port_name(port)
        for cable in network.by_device[plant.devices[device].name]
        for port in cable.ends
        if port.device == device
        and interface_name(plant, port) in wanted
        and plant.devices[cable.lower.device].role == "switch"
    ]


def policy_findings(
    network: DesignedNetwork,
    blamed: Sequence[tuple[LackingSwitch, Sequence[RoutePolicy]]],
) -> Iterator[Finding]:
    """Give each switch whose policies keep ways from others, or from itself.

    Args:
        network: As designed.
        blamed: Switches that lack ways, with the policies that may do that; where several
            switches have one, that which explains most is taken first.
    """
    left = list(blamed)
    while left:
        short: dict[str, int] = defaultdict(int)
        for lacking, some in left:
            for switch in {one.switch for one in some}:
                short[switch] += lacking.num_short
        owner = max(sorted(short), key=lambda name: short[name])
        own = [pair for pair in left if any(one.switch == owner for one in pair[1])]
        left = [pair for pair in left if pair not in own]
        yield _finding(network, owner, own)


def _finding(
    network: DesignedNetwork,
    owner: str,
    own: Sequence[tuple[LackingSwitch, Sequence[RoutePolicy]]],
) -> Finding:
    part = network.part_called(owner)
    assert part is not None, owner
    policies = dict.fromkeys(p for _, some in own for p in some if p.switch == owner)
    words = [_words(network, one) for one in policies]
    more = f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    count = min(lacking.num_looks for lacking, _ in own)
    short = ", ".join(f"{one.name} {one.num_short}" for one, _ in own[:MOST_NAMED])
    text = (
        f"{'; '.join(words[:MOST_NAMED])}{more}, which the design does not have; "
        f"ways to hosts that are missing: {short}"
        f"{' and others' if len(own) > MOST_NAMED else ''}, at {looks(count)}"
    )
    return network.finding(
        part,
        Trouble.ROUTE_POLICY,
        text,
        confidence=believed(TRUST[Trouble.ROUTE_POLICY], [Report(is_so=True, num_looks=count)]),
        magnitude=float(sum(lacking.num_short for lacking, _ in own)),
    )


def _words(network: DesignedNetwork, one: RoutePolicy) -> str:
    cable = network.at[one.port]
    neighbour = network.far_end(cable, one.switch).partition("[")[0]
    verb = "takes from" if one.direction == IN else "announces to"
    return f"{one.name} on what it {verb} {neighbour} at {one.port} (cable:{cable.number})"
