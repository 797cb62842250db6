"""Probes between the hosts of a RoCE lab: small and full datagrams of known five-tuples.

One process opens sockets in the namespaces of all hosts; so sender and receiver share a clock
and nothing must be started inside. Which way a five-tuple takes is asked of every kernel on it.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.app.lab.queues import QueueCensus
from netloom.drivers import netns
from netloom.drivers.kernel import ways_out
from netloom.errors import LabError
from netloom.formats.linux.rtnetlink import UdpFlow
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import interface_name, underlay_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from ipaddress import IPv4Address

    from netloom.app.lab.queues import PortUse
    from netloom.app.lab.store import LabFolder
    from netloom.ops.plant import Cable, Plant, Port

__all__ = [
    "Flow",
    "ProbeRound",
    "Probed",
    "flows_of",
    "paths_of",
    "probe",
    "probe_round",
    "rounds_of",
]

PORT: Final = 4791  # RoCEv2 (InfiniBand Architecture Specification, annex A17)
FIRST_SOURCE_PORT: Final = 0xC000
SOURCE_PORTS: Final = 2  # of each pair, so that most pairs try two ways
TARGETS: Final = 6  # of each host
ROUNDS: Final = 20  # datagrams of each flow, at least
MAX_ROUNDS: Final = 50
MAX_DATAGRAMS: Final = 20_000  # of all flows: few flows send more each, for small losses
PACE_S: Final = 0.008  # between rounds: a host sends some 50 KB in one, half its 100 Mbit/s
PATIENCE_S: Final = 0.15  # for the last to arrive, on a machine that has nothing else to do
SLOWER: Final = 4  # the last may take this many times as long as the slowest that has arrived
MAX_PATIENCE_S: Final = 2.0
SMALL_BYTES: Final = 64
LARGE_BYTES: Final = 4096  # the largest payload of RoCEv2
LOCK: Final = "probes.lock"
MAX_HOPS: Final = 16
_HEAD: Final = struct.Struct("!IIQ")
SO_TIMESTAMPNS: Final = 35  # Linux socket.h: the kernel says when a datagram came in
_STAMP: Final = struct.Struct("@qq")
IP_RECVTOS: Final = 13  # Linux in.h: the kernel says with which service a datagram came in
# Linux in.h: never in pieces, whatever a path was once told to carry. RDMA is not, and pieces have
# no ports, so that they would go another way than was asked for.
IP_MTU_DISCOVER: Final = 10
IP_PMTUDISC_PROBE: Final = 3
# As RDMA is sent (docs/operate/deploy.md): code point 26, ECN-capable (RFC 3168: ECT(0)).
SERVICE: Final = 26 << 2 | 0b10
ECN_BITS: Final = 0b11
ABOUT_BYTES: Final = socket.CMSG_SPACE(_STAMP.size) + socket.CMSG_SPACE(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Datagrams of one five-tuple and size.

    Attributes:
        source: Place of the sending host in the plant.
        target: Of the receiving one.
        source_port: UDP.
        is_large: Whether they are full ones.
    """

    source: int
    target: int
    source_port: int
    is_large: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What became of a flow.

    Attributes:
        links: The links it crosses, each as its cable and the port that sends, as far as they
            are known.
        sent: Datagrams.
        lost: Of these, how many never arrived.
        latencies_s: How long each of the others was on its way, by the kernel's clock; ascending.
        ends_at: Place of the device that refuses it, does not tell where it goes on to, or is a
            host that it was not meant for; None when its way is known to its target.
        ecn_cleared: Of those that arrived, how many without the ECN bits they were sent with.
        dscp_changed: Likewise how many with another code point.
    """

    flow: Flow
    links: tuple[tuple[Cable, Port], ...]
    sent: int
    lost: int
    ends_at: int | None = None
    latencies_s: tuple[float, ...] = ()
    ecn_cleared: int = 0
    dscp_changed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRound:
    """What became of some flows, and what the ports did meanwhile.

    Attributes:
        probed: Of each flow, in their order.
        loads: Of each port that tells its queue.
    """

    probed: tuple[Probed, ...]
    loads: tuple[PortUse, ...] = ()


def flows_of(plant: Plant) -> tuple[Flow, ...]:
    """Return probes from every host to others all over the network, of both sizes."""
    hosts = [number for number, device in enumerate(plant.devices) if device.role == "host"]
    count = len(hosts)
    strides = sorted(
        {max(1, round(count * step / (TARGETS + 1))) for step in range(1, TARGETS + 1)}
    )
    return tuple(
        Flow(
            source=host,
            target=hosts[(place + stride) % count],
            source_port=FIRST_SOURCE_PORT + port,
            is_large=is_large,
        )
        for place, host in enumerate(hosts)
        for stride in strides
        if stride % count
        for port in range(SOURCE_PORTS)
        for is_large in (False, True)
    )


def rounds_of(num_flows: int) -> int:
    """Return how many datagrams of each flow are sent."""
    return max(ROUNDS, min(MAX_ROUNDS, MAX_DATAGRAMS // max(num_flows, 1)))


def probe(place: LabFolder, plant: Plant, flows: Sequence[Flow]) -> tuple[Probed, ...]:
    """Send the probes and return what became of each, in their order; see :func:`probe_round`."""
    return probe_round(place, plant, flows).probed


def probe_round(place: LabFolder, plant: Plant, flows: Sequence[Flow]) -> ProbeRound:
    """Send the probes and return what became of them, and how full the lab's queues were.

    Raises:
        LabError: we are not root, or a namespace is gone.
    """
    netns.check_root()
    rounds = rounds_of(len(flows))
    paths = paths_of(place, plant, flows)
    census = QueueCensus.of(place, plant)
    with _alone(place), ExitStack() as stack:
        bench = _Bench.open(place, plant, flows, stack)
        before = census.read()
        arrived = bench.send(flows, rounds)
        sent = census.read()
        bench.wait_for(arrived, rounds * len(flows))
    probed = tuple(
        Probed(
            flow=flow,
            links=paths[number],
            sent=rounds,
            lost=rounds - len(arrived.latencies_s[number]),
            ends_at=_end(flow, paths[number]),
            latencies_s=tuple(sorted(arrived.latencies_s[number])),
            ecn_cleared=arrived.ecn_cleared[number],
            dscp_changed=arrived.dscp_changed[number],
        )
        for number, flow in enumerate(flows)
    )
    flows_at = Counter(link for path in paths for link in path)
    crossed = {link: rounds * count for link, count in flows_at.items()}
    loads = census.uses((before, sent, census.read()), crossed)
    return ProbeRound(probed=probed, loads=tuple(loads))


@contextmanager
def _alone(place: LabFolder) -> Iterator[None]:
    """Wait until no other netloom probes the lab: a watch and a healer share the hosts' ports."""
    descriptor = os.open(place.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _end(flow: Flow, links: Sequence[tuple[Cable, Port]]) -> int | None:
    """Return the device at which what is known of a flow's way ends before its target."""
    last = _far(links[-1]).device if links else flow.source
    return None if last == flow.target else last


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """Sockets: to send from by host and source port, and to receive at by host."""

    addresses: dict[int, str]
    senders: dict[tuple[int, int], socket.socket]
    receivers: list[socket.socket]

    @classmethod
    def open(
        cls, place: LabFolder, plant: Plant, flows: Iterable[Flow], stack: ExitStack
    ) -> _Bench:
        links = underlay_of(plant).host_links
        addresses = {link.host: str(link.host_address.ip) for link in links}
        wanted: dict[int, set[int]] = {}
        for flow in flows:
            wanted.setdefault(flow.source, set()).add(flow.source_port)
            wanted.setdefault(flow.target, set())
        senders, receivers = {}, []
        for host, ports in wanted.items():
            with netns.inside(namespace_of(place.mark, plant.devices[host].name)):
                receivers.append(stack.enter_context(_udp(PORT)))
                for port in sorted(ports):
                    senders[host, port] = stack.enter_context(_udp(port))
        return cls(addresses=addresses, senders=senders, receivers=receivers)

    def send(self, flows: Sequence[Flow], rounds: int) -> _Arrived:
        """Send the datagrams of each flow and return what has arrived so far.

        Each round has another order: a queue that a round fills throws away its last, which would
        be those of one host each time.
        """
        arrived = _Arrived.of(len(flows), rounds)
        for turn in range(rounds):
            due_s = time.monotonic() + PACE_S
            for number in np.random.default_rng(turn).permutation(len(flows)).tolist():
                flow = flows[number]
                size = LARGE_BYTES if flow.is_large else SMALL_BYTES
                now_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)  # as the kernel's stamps
                data = _HEAD.pack(number, turn, now_ns).ljust(size, b"\0")
                sender = self.senders[flow.source, flow.source_port]
                try:
                    sender.sendto(data, (self.addresses[flow.target], PORT))
                except OSError:
                    continue  # no carrier, or no room: lost
            self._receive(arrived, until_s=due_s)
        return arrived

    def wait_for(self, arrived: _Arrived, count: int) -> None:
        """Take in the rest of *count* datagrams, as long as one may still be on its way."""
        patience_s = min(MAX_PATIENCE_S, max(PATIENCE_S, SLOWER * arrived.slowest_s))
        self._receive(arrived, until_s=time.monotonic() + patience_s, enough=count)

    def _receive(self, arrived: _Arrived, *, until_s: float, enough: int | None = None) -> None:
        while enough is None or arrived.count < enough:
            left_s = until_s - time.monotonic()
            ready = select.select(self.receivers, [], [], max(0.0, left_s))[0]
            for receiver in ready:
                arrived.take(receiver)
            if left_s <= 0:
                return


@dataclass(slots=True, kw_only=True)
class _Arrived:
    """What came in: by flow, how long each datagram was on its way.

    Attributes:
        rounds: How many datagrams of each flow are sent.
        latencies_s: From before it was sent to when the kernel had it at its target.
        ecn_cleared: By flow, how many came without the ECN bits they were sent with.
        dscp_changed: Likewise how many with another code point.
        count: Of all flows.
        slowest_s: The longest that one took until it was read here.
        seen: Flow and round of each; a network that doubles a datagram delivers it once.
    """

    rounds: int
    latencies_s: list[list[float]]
    ecn_cleared: list[int]
    dscp_changed: list[int]
    count: int = 0
    slowest_s: float = 0.0
    seen: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def of(cls, num_flows: int, rounds: int) -> _Arrived:
        """Return one into which nothing has come yet."""
        return cls(
            rounds=rounds,
            latencies_s=[[] for _ in range(num_flows)],
            ecn_cleared=[0] * num_flows,
            dscp_changed=[0] * num_flows,
        )

    def take(self, receiver: socket.socket) -> None:
        """Take in what waits at a socket; what is not ours does not count."""
        try:
            while True:
                data, about, _, _ = receiver.recvmsg(LARGE_BYTES, ABOUT_BYTES)
                self._count(data, about)
        except BlockingIOError:
            return

    def _count(self, data: bytes, about: Sequence[tuple[int, int, bytes]]) -> None:
        if len(data) < _HEAD.size:
            return
        number, turn, sent_ns = _HEAD.unpack_from(data)
        is_ours = number < len(self.latencies_s) and turn < self.rounds
        if is_ours and (number, turn) not in self.seen:
            self.seen.add((number, turn))
            now_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
            told = {(level, kind): data for level, kind, data in about}
            stamp = told.get((socket.SOL_SOCKET, SO_TIMESTAMPNS))
            came_ns = now_ns if stamp is None else _nanoseconds(stamp)
            service = told.get((socket.IPPROTO_IP, socket.IP_TOS), bytes([SERVICE]))[0]
            self.ecn_cleared[number] += not service & ECN_BITS
            self.dscp_changed[number] += service >> 2 != SERVICE >> 2
            # A clock that is set in between makes no latency below nothing.
            self.latencies_s[number].append(max(0, came_ns - sent_ns) / 1e9)
            self.count += 1
            self.slowest_s = max(self.slowest_s, (now_ns - sent_ns) / 1e9)


def _nanoseconds(stamp: bytes) -> int:
    seconds, nanoseconds = _STAMP.unpack_from(stamp)
    return int(seconds) * 10**9 + int(nanoseconds)


def _udp(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.settimeout(0)  # never wait
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, SERVICE)
    made.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
    made.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
    try:
        made.bind(("0.0.0.0", port))  # noqa: S104  (inside a namespace of the lab)
    except OSError as error:
        made.close()
        raise LabError(
            what=f"UDP port {port} is in use in the lab ({error.strerror})",
            remedy="is a job running in it?",
        ) from error
    return made


def paths_of(
    place: LabFolder, plant: Plant, flows: Sequence[Flow]
) -> list[tuple[tuple[Cable, Port], ...]]:
    """Return the links that each flow crosses, by asking every kernel on its way.

    Where one refuses a flow or does not answer, what is known of its way ends.

    Raises:
        LabError: a namespace is gone.
    """
    return _Ways(place=place, plant=plant).of(flows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ways:
    """The lab's kernels, to be asked for next hops."""

    place: LabFolder
    plant: Plant

    def of(self, flows: Sequence[Flow]) -> list[tuple[tuple[Cable, Port], ...]]:
        # Small and full datagrams of one five-tuple go one way.
        alike = [(flow.source, flow.target, flow.source_port) for flow in flows]
        once = dict(zip(alike, flows, strict=True))
        ways = dict(zip(once, self._each(tuple(once.values())), strict=True))
        return [ways[one] for one in alike]

    def _each(self, flows: Sequence[Flow]) -> list[tuple[tuple[Cable, Port], ...]]:
        at = {
            (port.device, interface_name(self.plant, port)): (cable, port)
            for cable in self.plant.cables
            for port in cable.ends
        }
        addresses = {k.host: k.host_address.ip for k in underlay_of(self.plant).host_links}
        paths: list[list[tuple[Cable, Port]]] = []
        for flow in flows:
            own = at.get((flow.source, "eth0"))
            paths.append([own] if own else [])
        ended: set[int] = set()
        for _ in range(MAX_HOPS):
            waiting = self._waiting(flows, paths, ended)
            if not waiting:
                break
            for device, numbers in waiting.items():
                some = [(flows[number], paths[number][-1]) for number in numbers]
                for number, way in zip(numbers, self._ask(device, some, addresses), strict=True):
                    link = at.get((device, way))
                    if link:
                        paths[number].append(link)
                    else:
                        ended.add(number)
        return [tuple(path) for path in paths]

    def _waiting(
        self, flows: Sequence[Flow], paths: list[list[tuple[Cable, Port]]], ended: set[int]
    ) -> dict[int, list[int]]:
        """Return the flows that have not arrived or ended, by the device that they stand at."""
        found: dict[int, list[int]] = {}
        for number, path in enumerate(paths):
            if number in ended or not path:
                continue
            if (device := _far(path[-1]).device) != flows[number].target:
                found.setdefault(device, []).append(number)
        return found

    def _ask(
        self,
        device: int,
        some: list[tuple[Flow, tuple[Cable, Port]]],
        addresses: dict[int, IPv4Address],
    ) -> list[str]:
        """Return the interface by which each flow leaves a device; empty where none is told."""
        if self.plant.devices[device].role == "host":
            return [""] * len(some)  # astray
        asked = [
            UdpFlow(
                source=addresses[flow.source],
                target=addresses[flow.target],
                source_port=flow.source_port,
                target_port=PORT,
                interface=interface_name(self.plant, _far(last)),
            )
            for flow, last in some
        ]
        return ways_out(namespace_of(self.place.mark, self.plant.devices[device].name), asked)


def _far(link: tuple[Cable, Port]) -> Port:
    cable, sender = link
    return cable.upper if sender == cable.lower else cable.lower
