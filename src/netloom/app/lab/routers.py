"""What the switches of a RoCE lab believe and do: sessions, and routes of daemon and kernel."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Final

from netloom.app.lab.ethernet import DeviceAddresses, DeviceKernels, NamespacedDevice
from netloom.drivers import frr, kernel, vty
from netloom.errors import LabError
from netloom.ops.deploy import timers
from netloom.ops.lab import namespace_of
from netloom.ops.observe.devices import printable
from netloom.ops.observe.observation import Observation, Reading, whole
from netloom.ops.underlay import expected_ways, interface_name, underlay_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from netloom.app.lab.store import LabFolder
    from netloom.drivers.kernel import ForwardingState
    from netloom.formats.frr.neighbours import Neighbour
    from netloom.formats.frr.state import Route
    from netloom.ops.plant import Plant

__all__ = [
    "RouterDaemons",
    "RouterState",
    "addresses_of",
    "daemons_of",
    "is_fair",
    "kernels_of",
    "named_devices",
    "routers_of",
]

# An answer takes milliseconds; one that takes this long says that the machine is busy. A daemon
# is silent after ten times as long (vty.ANSWER_S).
QUICK_S: Final = 1.0
QUICK_SHARE: Final = 0.9  # of the answers of other switches, for the machine not to be busy
DETECTION_S: Final = timers.BFD_MS * timers.BFD_MULTIPLIER / 1000  # by BFD, as designed
MAX_PART: Final = 200  # letters of the name of a policy and its port
WORKERS: Final = 8  # daemons that are asked at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterState:
    """What one switch believes: BGP and BFD sessions, its daemon's routes and its kernel's.

    Attributes:
        machine: The switch.
        peers: Interfaces over which it should have BGP sessions.
        ways: How many it should have to each host's network; only routes to these are told.
    """

    machine: NamespacedDevice
    peers: tuple[str, ...]
    ways: Mapping[str, int]

    @property
    def prefixes(self) -> frozenset[str]:
        """The networks of all hosts that it should reach."""
        return frozenset(self.ways)

    @property
    def source(self) -> str:
        """Its name."""
        return f"routes {self.machine.name}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Ask the daemons and the kernel once.

        Raises:
            LabError: one of them does not answer.
        """
        space, name = self.machine.namespace, self.machine.name
        sessions = list(self._sessions(time_s))
        believed = vty.routes(space)
        held = kernel.forwarding_state(space)
        seen = [*sessions, *self._routes(believed, held, time_s)]
        unusable = float(held.num_unusable)
        seen.append(Observation(time_s, name, "unusable_next_hops", unusable))
        return whole(self.source, time_s, seen, cursor=cursor)

    def _sessions(self, time_s: float) -> Iterator[Observation]:
        told = {peer.name: peer for peer in vty.bgp_neighbours(self.machine.namespace)}
        for name in dict.fromkeys((*self.peers, *told)):
            yield from self._session(self.machine.part(name), told.get(name), time_s)
        watched = vty.bfd_sessions(self.machine.namespace)
        for name in sorted(set(self.peers) - {session.interface for session in watched}):
            if name in told and told[name].is_up:  # one that is not is a finding of its own
                yield Observation(time_s, self.machine.part(name), "bfd_missing", 1.0)
        for session in watched:
            part = self.machine.part(session.interface)
            yield Observation(time_s, part, "bfd_up", float(session.is_up))
            if not session.is_up:
                yield Observation(time_s, part, "bfd_hears", float(session.hears))
            elif not math.isclose(session.own_detection_s, DETECTION_S):
                yield Observation(time_s, part, "bfd_detection_s", session.own_detection_s)

    @staticmethod
    def _session(part: str, peer: Neighbour | None, time_s: float) -> Iterator[Observation]:
        """Give what is told of a BGP session; one that the daemon does not know is down."""
        yield Observation(time_s, part, "bgp_up", float(peer is not None and peer.is_up))
        if peer is None or peer.is_shut:  # one that is not configured is closed likewise
            yield Observation(time_s, part, "bgp_shut", 1.0)
        if peer is None:
            return
        yield Observation(time_s, part, "bgp_prefixes", float(peer.num_accepted))
        if peer.is_up and peer.hold_s not in {0.0, float(timers.HOLD_S)}:
            yield Observation(time_s, part, "bgp_hold_s", peer.hold_s)
        for direction, policy in peer.policies:
            what = printable(f"{part} {direction} {policy}", MAX_PART)
            yield Observation(time_s, what, "bgp_policy", 1.0)

    def _routes(
        self, routes: Iterable[Route], held: ForwardingState, time_s: float
    ) -> Iterable[Observation]:
        name = self.machine.name
        believed = {r.prefix: r.interfaces for r in routes if r.prefix in self.prefixes}
        real = {r.prefix: r.interfaces for r in held.routes if r.prefix in self.prefixes}
        differ = sum(believed.get(p, ()) != real.get(p, ()) for p in self.prefixes)
        yield Observation(time_s, name, "rib_ways", float(sum(map(len, believed.values()))))
        yield Observation(time_s, name, "fib_ways", float(sum(map(len, real.values()))))
        yield Observation(time_s, name, "divergent_routes", float(differ))
        over = Counter(interface for ways in real.values() for interface in ways)
        for peer in self.peers:
            part = self.machine.part(peer)
            yield Observation(time_s, part, "routes_over", float(over[peer]))
        yield from self._short(believed, time_s)
        yield from self._foreign(held, time_s)

    def _short(
        self, believed: Mapping[str, tuple[str, ...]], time_s: float
    ) -> Iterator[Observation]:
        """Give the networks of hosts to which routing has fewer ways than the design."""
        for prefix, count in self.ways.items():
            own = len(believed.get(prefix, ()))
            if own < count:
                part = f"{self.machine.name} {prefix}"
                yield Observation(time_s, part, "route_ways", float(own))

    def _foreign(self, held: ForwardingState, time_s: float) -> Iterator[Observation]:
        """Give the routes and rules for a host's network that refuse packets, or lead past it."""
        lengths = {int(prefix.rpartition("/")[2]) for prefix in self.prefixes}
        for route in held.routes:
            inside = _within(route.prefix, lengths) & self.prefixes
            if inside and route.is_refused:
                part = f"{self.machine.name} {route.prefix}"
                yield Observation(time_s, part, "route_refused", 1.0)
            elif inside and route.prefix not in self.prefixes:
                part = f"{self.machine.name} {route.prefix}"
                yield Observation(time_s, part, "route_foreign", 1.0)
        for rule in held.rules:  # they go before all routes
            metric = "route_refused" if rule.is_refused else "route_foreign"
            if any(IPv4Network(prefix).overlaps(rule.network) for prefix in self.prefixes):
                yield Observation(time_s, f"{self.machine.name} {rule.network}", metric, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterDaemons:
    """Whether the routing daemons of all switches answer.

    Attributes:
        machines: The switches.
    """

    machines: tuple[NamespacedDevice, ...]

    @property
    def source(self) -> str:
        """Its name."""
        return "daemons"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Ask every daemon once.

        Raises:
            LabError: some do not answer, and others are so slow that this proves nothing.
        """
        asked = [(one, daemon) for one in self.machines for daemon in frr.DAEMONS]
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            waits = list(pool.map(lambda one: vty.answer_s(one[0].namespace, one[1]), asked))
        by_switch = defaultdict[str, list[float | None]](list)
        for (machine, _), wait_s in zip(asked, waits, strict=True):
            by_switch[machine.name].append(wait_s)
        if not is_fair(by_switch):
            message = "daemons do not answer, and those of other switches do so late or not at all"
            raise LabError(what=message, remedy="the machine may be busy; look again")
        seen = [
            Observation(time_s, f"{one.name} {daemon}", "daemon_silent", float(wait_s is None))
            for (one, daemon), wait_s in zip(asked, waits, strict=True)
        ]
        return whole(self.source, time_s, seen, cursor=cursor)


def is_fair(by_switch: Mapping[str, Sequence[float | None]]) -> bool:
    """Return whether daemons that do not answer are to blame for it, and not a busy machine.

    Args:
        by_switch: How long the daemons of each switch took to answer; None: too long.
    """
    well = [some for some in by_switch.values() if None not in some]
    if len(well) == len(by_switch):
        return True
    quick = [wait_s is not None and wait_s < QUICK_S for some in well for wait_s in some]
    return 2 * len(well) >= len(by_switch) and sum(quick) >= QUICK_SHARE * len(quick)


def _within(prefix: str, lengths: Iterable[int]) -> frozenset[str]:
    """Return the networks of these lengths that *prefix* lies in, itself included."""
    try:
        network = IPv4Network(prefix)
    except ValueError:  # default
        return frozenset()
    shorter = [length for length in lengths if length <= network.prefixlen]
    return frozenset(str(network.supernet(new_prefix=length)) for length in shorter)


def named_devices(place: LabFolder, plant: Plant) -> list[NamespacedDevice]:
    """Return every device of a lab with its namespace and interfaces, in the plant's order."""
    ports: list[dict[str, int]] = [{} for _ in plant.devices]
    for cable in plant.cables:
        for port in cable.ends:
            ports[port.device][interface_name(plant, port)] = port.number
    return [
        NamespacedDevice(
            name=device.name, namespace=namespace_of(place.mark, device.name), ports=ports[number]
        )
        for number, device in enumerate(plant.devices)
    ]


def kernels_of(place: LabFolder, plant: Plant) -> DeviceKernels:
    """Return the kernels of a lab's devices."""
    return DeviceKernels(machines=tuple(named_devices(place, plant)))


def addresses_of(place: LabFolder, plant: Plant) -> DeviceAddresses:
    """Return the addresses of a lab's devices, to be compared with the design's."""
    underlay, devices = underlay_of(plant), plant.devices
    owners = {int(one.loopback): one.name for one in underlay.routers}
    for link in underlay.host_links:
        owners[int(link.host_address.ip)] = devices[link.host].name
        owners[int(link.switch_address.ip)] = devices[link.switch_port.device].name
    return DeviceAddresses(machines=tuple(named_devices(place, plant)), owners=owners)


def daemons_of(place: LabFolder, plant: Plant) -> RouterDaemons:
    """Return the routing daemons of a lab's switches, to be asked whether they answer."""
    machines = named_devices(place, plant)
    routers = underlay_of(plant).routers
    return RouterDaemons(machines=tuple(machines[one.device] for one in routers))


def routers_of(place: LabFolder, plant: Plant) -> list[RouterState]:
    """Return the switches of a lab, each to be asked what it believes."""
    machines, underlay = named_devices(place, plant), underlay_of(plant)
    ways = expected_ways(plant, underlay)
    return [
        RouterState(
            machine=machines[one.device],
            peers=one.peers,
            ways={prefix: len(own) for prefix, own in ways[one.device].items()},
        )
        for one in underlay.routers
    ]
