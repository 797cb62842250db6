"""Questions to the Linux kernel by rtnetlink(7), and its answers: bytes, as ip and tc read them.

What is cut short or not understood is passed over; no bytes break a parser.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "ADDRESSES",
    "LINKS",
    "NEXT_HOPS",
    "QUEUES",
    "ROUTES",
    "RULES",
    "IpLink",
    "KernelRoute",
    "PolicyRule",
    "QueueCounts",
    "UdpFlow",
    "ask_namespace",
    "ask_way",
    "is_end",
    "parse_addresses",
    "parse_links",
    "parse_namespace",
    "parse_queues",
    "parse_routes",
    "parse_rules",
    "parse_unusable",
    "parse_way",
]

# Linux netlink.h, rtnetlink.h, if.h, if_link.h, if_addr.h, fib_rules.h, nexthop.h, net_namespace.h,
# pkt_sched.h and gen_stats.h.
AF_INET: Final = 2
IPPROTO_UDP: Final = 17
NLM_F_REQUEST: Final = 0x001
NLM_F_DUMP: Final = 0x300
NLMSG_ERROR: Final = 2
NLMSG_DONE: Final = 3
NLA_TYPE: Final = 0x3FFF  # less the flags of an attribute
RTM_NEWLINK: Final = 16
RTM_NEWADDR: Final = 20
RTM_NEWROUTE: Final = 24
RTM_NEWRULE: Final = 32
RTM_NEWQDISC: Final = 36
RTM_NEWNSID: Final = 88
RTM_NEWNEXTHOP: Final = 104
GET: Final = 2  # what is asked for has the number of its answer and this
IFF_UP: Final = 0x1
IFF_LOWER_UP: Final = 0x1_0000
NO_WAY: Final = 0x1 | 0x10  # RTNH_F_DEAD, RTNH_F_LINKDOWN
RTM_F_CLONED: Final = 0x200
RT_TABLE_MAIN: Final = 254
REFUSING: Final = frozenset({6, 7, 8})  # RTN_ and FR_ACT_: blackhole, unreachable, prohibit
# What every kernel begins with: priority and table of local, main and default.
FIRST_RULES: Final = frozenset({(0, 255), (32_766, 254), (32_767, 253)})
TC_H_ROOT: Final = 0xFFFF_FFFF
_HEAD: Final = struct.Struct("=IHHII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_LINK: Final = struct.Struct("=BxHiII")  # struct ifinfomsg
_ADDRESS: Final = struct.Struct("=BBBBI")  # struct ifaddrmsg
_ROUTE: Final = struct.Struct("=8BI")  # struct rtmsg, and struct fib_rule_hdr
_HOP: Final = struct.Struct("=HBBi")  # struct rtnexthop
_NEXT_HOP: Final = struct.Struct("=BBBBI")  # struct nhmsg
_QUEUE: Final = struct.Struct("=BxxxiIII")  # struct tcmsg
_SPACE: Final = struct.Struct("=Bxxx")  # struct rtgenmsg
_NUMBER: Final = struct.Struct("=I")
_SIGNED: Final = struct.Struct("=i")
_LARGE: Final = struct.Struct("=Q")
_PORT: Final = struct.Struct("!H")
# struct rtnl_link_stats64 begins with these.
_STATS: Final = struct.Struct("=8Q")
_COUNTERS: Final = (
    *("received_packets", "sent_packets", "received_bytes", "sent_bytes"),
    *("receive_errors", "send_errors", "receive_discards", "send_discards"),
)
_SENT: Final = struct.Struct("=QI")  # struct gnet_stats_basic
_WAITS: Final = struct.Struct("=III")  # struct gnet_stats_queue
_RATE: Final = struct.Struct("=8xI")  # struct tc_ratespec, bytes a second


def _asked(kind: int, body: bytes, flags: int = 0) -> bytes:
    size = _HEAD.size + len(body)
    return _HEAD.pack(size, kind + GET, NLM_F_REQUEST | flags, 1, 0) + body


def _attribute(kind: int, data: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(data), kind) + data + bytes(-len(data) % 4)


# For all of each.
LINKS: Final = _asked(RTM_NEWLINK, _LINK.pack(0, 0, 0, 0, 0), NLM_F_DUMP)
ADDRESSES: Final = _asked(RTM_NEWADDR, _ADDRESS.pack(AF_INET, 0, 0, 0, 0), NLM_F_DUMP)
ROUTES: Final = _asked(RTM_NEWROUTE, _ROUTE.pack(AF_INET, *[0] * 8), NLM_F_DUMP)
RULES: Final = _asked(RTM_NEWRULE, _ROUTE.pack(AF_INET, *[0] * 8), NLM_F_DUMP)
NEXT_HOPS: Final = _asked(RTM_NEWNEXTHOP, _NEXT_HOP.pack(0, 0, 0, 0, 0), NLM_F_DUMP)
QUEUES: Final = _asked(RTM_NEWQDISC, _QUEUE.pack(0, 0, 0, 0, 0), NLM_F_DUMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class IpLink:
    """An interface, its peer where it is virtual, and what it counted.

    Attributes:
        name: Of it.
        number: Of it in its namespace.
        is_up: Whether it is enabled and has carrier.
        peer: Number of the interface at the other end of a veth; None for others.
        peer_namespace: What its namespace calls that of the peer; None for the same or unknown.
        counters: By netloom's names (:mod:`netloom.ops.observe.metrics`).
        mtu_bytes: Its largest packet; None where it is not told.
    """

    name: str
    number: int
    is_up: bool
    peer: int | None
    peer_namespace: int | None
    counters: dict[str, int]
    mtu_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRoute:
    """A route by which a kernel forwards.

    Attributes:
        prefix: Where to; ``default`` for all.
        interfaces: The ways out in use, sorted; none where packets are refused.
        is_refused: Whether packets end here: a blackhole, or declared unreachable or prohibited.
    """

    prefix: str
    interfaces: tuple[str, ...]
    is_refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """A rule by which some packets do not follow the main table.

    Attributes:
        network: That they are sent to; all where the rule does not tell.
        is_refused: Whether they end here.
    """

    network: IPv4Network
    is_refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """What the queue at the root of an interface counted since it was made.

    Attributes:
        sent_bytes: Passed on to the interface.
        sent_packets: Likewise.
        dropped_packets: Thrown away, for want of room mostly.
        waiting_bytes: In it now.
        rate_bps: What it lets through, where it is a token bucket; None where it is another.
    """

    sent_bytes: int
    sent_packets: int
    dropped_packets: int
    waiting_bytes: int
    rate_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpFlow:
    """Datagrams of one five-tuple, as they come in at a switch."""

    source: IPv4Address
    target: IPv4Address
    source_port: int
    target_port: int
    interface: str


def ask_way(flow: UdpFlow, interface: int) -> bytes:
    """Return the question where a kernel would send a flow, as ``ip route get`` asks it.

    The kernel hashes what is asked as it hashes packets (``fib_multipath_hash_policy``), so that
    the answer holds for each five-tuple.

    Args:
        flow: Which.
        interface: Number of that which it comes in at.
    """
    body = _ROUTE.pack(AF_INET, 32, 32, *[0] * 6)
    body += _attribute(1, flow.target.packed) + _attribute(2, flow.source.packed)
    body += _attribute(3, _NUMBER.pack(interface))
    body += _attribute(27, bytes([IPPROTO_UDP]))
    body += _attribute(28, _PORT.pack(flow.source_port))
    body += _attribute(29, _PORT.pack(flow.target_port))
    return _asked(RTM_NEWROUTE, body)


def ask_namespace(descriptor: int) -> bytes:
    """Return the question what a namespace calls another, which is open in this process."""
    return _asked(RTM_NEWNSID, _SPACE.pack(0) + _attribute(3, _NUMBER.pack(descriptor)))


def is_end(data: bytes) -> bool:
    """Return whether no more answers follow."""
    return any(kind in {NLMSG_DONE, NLMSG_ERROR} for kind, _ in _messages(data))


def parse_links(data: bytes) -> tuple[IpLink, ...]:
    """Return the interfaces of a namespace, but for the loopback."""
    found = []
    for body, told in _told(data, RTM_NEWLINK, _LINK):
        _, _, number, flags, _ = _LINK.unpack_from(body)
        name = told.get(3, b"").rstrip(b"\0").decode("utf-8", errors="replace")[:32]
        if not name or name == "lo":
            continue
        changes = _value(_NUMBER, told.get(35))
        found.append(
            IpLink(
                name=name,
                number=number,
                is_up=flags & IFF_UP != 0 and flags & IFF_LOWER_UP != 0,
                peer=_value(_NUMBER, told.get(5)),
                peer_namespace=_value(_SIGNED, told.get(37)),
                # Every second change of carrier is to up.
                counters=_counters(told.get(23, b""))
                | ({} if changes is None else {"link_downs": changes // 2}),
                mtu_bytes=_value(_NUMBER, told.get(4)),
            )
        )
    return tuple(found)


def _counters(data: bytes) -> dict[str, int]:
    if len(data) < _STATS.size:
        return {}
    return dict(zip(_COUNTERS, _STATS.unpack_from(data), strict=True))


def parse_addresses(data: bytes) -> tuple[IPv4Interface, ...]:
    """Return the IPv4 addresses of a namespace, loopback ones left out."""
    found = []
    for body, told in _told(data, RTM_NEWADDR, _ADDRESS):
        family, length, *_ = _ADDRESS.unpack_from(body)
        local = told.get(2, told.get(1, b""))
        if family == AF_INET and len(local) == 4 and length <= 32:
            address = IPv4Interface((local, length))
            if not address.is_loopback:
                found.append(address)
    return tuple(found)


def parse_routes(data: bytes, names: Mapping[int, str]) -> tuple[KernelRoute, ...]:
    """Return the IPv4 routes of the main table, sorted by prefix, each prefix once.

    Of several routes to a prefix the kernel uses that of the least metric. A way whose interface
    has no carrier is left out; the kernel does not use it.

    Args:
        data: The kernel's answers to :data:`ROUTES`.
        names: Of its interfaces.
    """
    rows: list[tuple[int, KernelRoute]] = []
    for body, told in _told(data, RTM_NEWROUTE, _ROUTE):
        family, length, _, _, table, _, _, kind, flags = _ROUTE.unpack_from(body)
        is_main = (_value(_NUMBER, told.get(15)) or table) == RT_TABLE_MAIN
        if family != AF_INET or not is_main or flags & RTM_F_CLONED:
            continue
        target = told.get(1, bytes(4))
        if len(target) != 4 or length > 32:
            continue
        ways = () if kind in REFUSING else _ways(told, flags)
        prefix = str(IPv4Network((target, length), strict=False)) if length else "default"
        called = tuple(sorted(names.get(number, "") for number in ways))
        route = KernelRoute(prefix=prefix, interfaces=called, is_refused=kind in REFUSING)
        rows.append((_value(_NUMBER, told.get(6)) or 0, route))
    best: dict[str, KernelRoute] = {}
    for _, route in sorted(rows, key=lambda row: row[0]):
        best.setdefault(route.prefix, route)
    return tuple(sorted(best.values(), key=lambda one: one.prefix))


def _ways(told: dict[int, bytes], flags: int) -> tuple[int, ...]:
    """Return the interfaces by which a route leads, those that are in use."""
    several = told.get(9)
    if several is None:
        only = _value(_NUMBER, told.get(4))
        return () if only is None or flags & NO_WAY else (only,)
    found, place = [], 0
    while place + _HOP.size <= len(several):
        size, hop_flags, _, number = _HOP.unpack_from(several, place)
        if size < _HOP.size:
            break
        if not hop_flags & NO_WAY:
            found.append(number)
        place += _aligned(size)
    return tuple(found)


def parse_rules(data: bytes) -> tuple[PolicyRule, ...]:
    """Return the rules of IPv4, but for those that every kernel begins with, and of VRFs."""
    found = []
    for body, told in _told(data, RTM_NEWRULE, _ROUTE):
        family, length, source_length, _, table, _, _, action, _ = _ROUTE.unpack_from(body)
        target = told.get(1, bytes(4))
        if family != AF_INET or 19 in told or len(target) != 4 or length > 32:
            continue
        where = _value(_NUMBER, told.get(6)) or 0, _value(_NUMBER, told.get(15)) or table
        if where in FIRST_RULES and not length and not source_length:
            continue
        network = IPv4Network((target, length), strict=False)
        found.append(PolicyRule(network=network, is_refused=action in REFUSING))
    return tuple(found)


def parse_unusable(data: bytes) -> int:
    """Return how many next-hop objects of a namespace lead nowhere."""
    hops = (_NEXT_HOP.unpack_from(body) for body, _ in _told(data, RTM_NEWNEXTHOP, _NEXT_HOP))
    return sum(flags & NO_WAY != 0 for *_, flags in hops)


def parse_way(data: bytes) -> int:
    """Return the interface in an answer to :func:`ask_way`; 0 where the kernel refuses the flow."""
    for _, told in _told(data, RTM_NEWROUTE, _ROUTE):
        return _value(_NUMBER, told.get(4)) or 0
    return 0


def parse_namespace(data: bytes) -> int | None:
    """Return the number in an answer to :func:`ask_namespace`; None where it has none."""
    for _, told in _told(data, RTM_NEWNSID, _SPACE):
        number = _value(_SIGNED, told.get(1))
        return None if number is None or number < 0 else number
    return None


def parse_queues(data: bytes) -> dict[int, QueueCounts]:
    """Return the queues at the root of interfaces, by number."""
    found: dict[int, QueueCounts] = {}
    for body, told in _told(data, RTM_NEWQDISC, _QUEUE):
        _, number, _, parent, _ = _QUEUE.unpack_from(body)
        stats = dict(_attributes(told.get(7, b"")))
        sent, waits = stats.get(1, b""), stats.get(3, b"")
        if parent != TC_H_ROOT or len(sent) < _SENT.size or len(waits) < _WAITS.size:
            continue
        sent_bytes, sent_packets = _SENT.unpack_from(sent)
        _, waiting_bytes, dropped_packets = _WAITS.unpack_from(waits)
        found[number] = QueueCounts(
            sent_bytes=sent_bytes,
            sent_packets=sent_packets,
            dropped_packets=dropped_packets,
            waiting_bytes=waiting_bytes,
            rate_bps=_rate_bps(told),
        )
    return found


def _rate_bps(told: dict[int, bytes]) -> float | None:
    """Return what a token bucket lets through; None for another queue."""
    if told.get(1, b"").rstrip(b"\0") != b"tbf":
        return None
    options = dict(_attributes(told.get(2, b"")))
    rate = _value(_LARGE, options.get(4))  # where it does not fit into 32 bits
    rate = _value(_RATE, options.get(1)) if rate is None else rate
    return None if rate is None else 8.0 * rate


def _told(
    data: bytes, wanted: int, begin: struct.Struct
) -> Iterator[tuple[bytes, dict[int, bytes]]]:
    """Give the messages of a kind, and the attributes of each."""
    for kind, body in _messages(data):
        if kind == wanted and len(body) >= begin.size:
            yield body, dict(_attributes(body[begin.size :]))


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + _HEAD.size <= len(data):
        size, kind, *_ = _HEAD.unpack_from(data, place)
        if size < _HEAD.size:
            return
        yield kind, data[place + _HEAD.size : place + size]
        place += _aligned(size)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + _ATTRIBUTE.size <= len(data):
        size, kind = _ATTRIBUTE.unpack_from(data, place)
        if size < _ATTRIBUTE.size:
            return
        yield kind & NLA_TYPE, data[place + _ATTRIBUTE.size : place + size]
        place += _aligned(size)


def _value(form: struct.Struct, data: bytes | None) -> int | None:
    if data is None or len(data) < form.size:
        return None
    return int(form.unpack_from(data)[0])


def _aligned(size: int) -> int:
    return (size + 3) & ~3
