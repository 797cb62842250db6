"""An EOS running-config, written by netloom or not, as a switch.

Forms of commands are those of EOS's manual and of Arista's AVD (eos_cli_config_gen). Settings of a
``qos profile`` count for the ports that have it as their ``service-profile``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.device import Bfd, BgpNeighbour, DeviceConfig, PortConfig
from netloom.ops.deploy.ports import Marks
from netloom.ops.deploy.structure import reading, sections, unknown_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.structure import Setting

__all__ = ["is_eos", "read_device"]

_HARMLESS_WORDS: Final = (
    "service hostname dns ip ipv6 ntp logging snmp-server aaa tacacs-server radius-server "
    "username clock management daemon vrf spanning-tree lldp alias banner transceiver "
    "terminattr no boot enable switch event-handler queue-monitor sflow errdisable platform "
    "hardware system mac mlag vlan agent prompt load-interval end route-map monitor tap "
    "schedule dhcp peer-filter environment cvx router-id maximum-paths"
)
_INSIDE_PORT_WORDS: Final = (
    "description switchport ipv6 load-interval lldp logging flowcontrol transceiver arp vrf "
    "dcbx spanning-tree sflow phy error-correction ptp vlan channel-group mac snmp lacp"
)
_SESSION_WORDS: Final = (
    "description update-source ebgp-multihop send-community maximum-routes next-hop-unchanged "
    "next-hop-self out-delay password allowas-in route-map idle-restart-timer rib-in maximum- "
    "accepted-routes route-reflector-client local-as weight activate shutdown"
)
DEFAULT_MTU_BYTES: Final = 1500
DEFAULT_BFD: Final = Bfd(interval_ms=300, multiplier=3)  # EOS manual: 300, 300, 3
# EOS manual, default DSCP map: each eight to their own number, but 0 to 7 and 8 to 15 swapped.
DEFAULT_MAP: Final = {dscp: {0: 1, 1: 0}.get(dscp // 8, dscp // 8) for dscp in range(64)}
# First words of sections and lines that cannot make a rule wrong.
_HARMLESS: Final = frozenset(_HARMLESS_WORDS.split())
_INSIDE_PORT: Final = frozenset(_INSIDE_PORT_WORDS.split())
_PORT: Final = re.compile(r"interface (Ethernet\d{1,3}(?:/\d{1,3}){0,2})", re.ASCII)
_OTHER: Final = re.compile(r"interface ((?:Loopback|Vlan|Management|Port-Channel|Vxlan|Tunnel)\S*)")
_SPEED: Final = re.compile(r"speed (?:forced |auto )?(\d{1,4})g(?:full|abase|-\d)?\S*", re.ASCII)
_MARKS: Final = re.compile(
    r"random-detect ecn minimum-threshold (\d{1,12}) (bytes|kbytes|mbytes) maximum-threshold "
    r"(\d{1,12}) (?:bytes|kbytes|mbytes)(?: max-mark-probability (\d{1,3}))?(?: weight \d{1,2})?",
    re.ASCII,
)
_INSIDE_BGP: Final = (
    "maximum-paths",
    "address-family ",
    "vrf ",
    "bgp ",
    "no bgp ",
    "timers bgp ",
    "update wait",
    "distance bgp",
    "graceful-restart",
    "redistribute ",
    "network ",
)
_UNITS: Final = {"bytes": 1, "kbytes": 1_000, "mbytes": 1_000_000}
_QUEUE: Final = re.compile(r"(?:uc-)?tx-queue (\d{1,2})", re.ASCII)
_CLASS: Final = re.compile(r"qos map dscp ([\d ,-]{1,200}) to traffic-class (\d)", re.ASCII)
_TO_QUEUE: Final = re.compile(
    r"qos map traffic-class ([\d ,-]{1,40}) to tx-queue (\d{1,2})", re.ASCII
)
_PAUSE: Final = re.compile(r"priority-flow-control priority (\d) (no-drop|drop)", re.ASCII)
_NEIGHBOUR: Final = re.compile(r"neighbor (?:interface )?(\S{1,64}) (.{1,200})", re.ASCII)
_BFD: Final = re.compile(
    r"bfd interval (\d{1,6}) min[-_]rx (\d{1,6}) multiplier (\d{1,3})", re.ASCII
)


@dataclass
class _Quality:
    """What a port or a profile says of lossless traffic; None where it is silent."""

    is_on: bool = False
    pausing: set[int] = field(default_factory=set)
    marks: dict[int, Marks] = field(default_factory=dict)
    trusts: str = ""
    profile: str = ""


@dataclass
class _EosLines:
    """What was read so far."""

    hostname: str = ""
    asn: int | None = None
    router_id: str = ""
    mtu: int = DEFAULT_MTU_BYTES
    is_down: bool = False
    ports: dict[str, PortConfig] = field(default_factory=dict)
    quality: dict[str, _Quality] = field(default_factory=dict)
    profiles: dict[str, _Quality] = field(default_factory=dict)
    addresses: list[str] = field(default_factory=list)
    map: dict[int, int] = field(default_factory=lambda: dict(DEFAULT_MAP))
    queues: dict[int, int] = field(default_factory=dict)
    is_watched: bool = False
    bfd: Bfd = DEFAULT_BFD
    neighbours: dict[str, dict[str, str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def is_eos(text: str) -> bool:
    """Return whether a text is such a file."""
    return bool(re.search(r"^interface Ethernet\d", text, re.MULTILINE)) and bool(
        re.search(r"^   \S", text, re.MULTILINE) or "! device:" in text
    )


def read_device(text: str, where: str) -> DeviceConfig:
    """Return the switch that a running-config describes.

    Raises:
        SpecError: a number in it is none.
    """
    found = _EosLines()
    with reading(where, "an EOS configuration"):
        found.unknown = unknown_to(partial(_read, found), sections(text))
        return _device(found, where)


def _device(found: _EosLines, where: str) -> DeviceConfig:
    return DeviceConfig(
        where=where,
        system="eos",
        hostname=found.hostname,
        asn=found.asn,
        router_id=found.router_id,
        addresses=tuple(found.addresses),
        ports={name: _finished(found, port) for name, port in found.ports.items()},
        neighbours=tuple(_neighbours(found)),
        unknown=tuple(found.unknown),
    )


def _read(found: _EosLines, path: Setting) -> bool:
    """Take in one line with the sections it stands in; false where it is not understood."""
    if port := _PORT.fullmatch(path[0]):
        return _port(found, port[1], path[1:])
    if other := _OTHER.fullmatch(path[0]):
        return _other(found, other[1], path[1:])
    if path[0].startswith("router bgp "):
        return _bgp(found, path)
    return _section(found, path)


def _section(found: _EosLines, path: Setting) -> bool:
    if path[0].startswith("qos profile "):
        profile = found.profiles.setdefault(path[0].split()[2], _Quality())
        return len(path) == 1 or _quality(profile, path[1:])
    if path[0] == "router bfd":
        return _router_bfd(found, path[1:])
    if path[0].startswith("interface defaults"):
        return _defaults(found, path[1:])
    return _line(found, path)


def _line(found: _EosLines, path: Setting) -> bool:
    line = path[0]
    if line.startswith("hostname ") and len(path) == 1:
        found.hostname = line.split()[1]
    elif classes := _CLASS.fullmatch(line):
        for dscp in _numbers(classes[1]):
            found.map[dscp] = int(classes[2])
    elif queues := _TO_QUEUE.fullmatch(line):
        for number in _numbers(queues[1]):
            found.queues[number] = int(queues[2])
    elif line.startswith("priority-flow-control pause watchdog"):
        found.is_watched |= "timeout" in line or "action" in line
    elif line.startswith(("qos ", "class-map", "policy-map", "router ", "priority-flow-control")):
        return False  # they may change what rules are about
    else:
        return line.split()[0] in _HARMLESS
    return True


def _numbers(text: str) -> Iterator[int]:
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        yield from range(int(first), min(int(last or first), 63) + 1)


def _defaults(found: _EosLines, rest: Setting) -> bool:
    match rest:
        case () | ("ethernet",):
            pass
        case ("ethernet", "shutdown" | "no shutdown" as line):
            found.is_down = line == "shutdown"
        case (line, *_) if line.startswith("mtu "):
            found.mtu = int(line.split()[1])
        case _:
            return False
    return True


def _port(found: _EosLines, name: str, rest: Setting) -> bool:
    port = found.ports.get(name) or PortConfig(name=name, is_up=not found.is_down)
    found.ports[name] = port
    quality = found.quality.setdefault(name, _Quality())
    if not rest:
        return True
    line, words = rest[0], rest[0].split()
    if line in {"shutdown", "no shutdown"}:
        port = replace(port, is_up=line != "shutdown")
    elif words[0] == "mtu":
        port = replace(port, mtu_bytes=int(words[1]))
    elif words[:2] == ["ip", "address"]:
        addresses = (*port.addresses, words[2])
        port = replace(port, addresses=addresses, uses=(*port.uses, "an address"))
    elif words[0] == "description":
        port = replace(port, uses=(*port.uses, "a description"))
    elif speed := _SPEED.fullmatch(line):
        port = replace(port, rate_bps=1e9 * int(speed[1]))
    elif interval := _BFD.fullmatch(line):
        found.bfd = Bfd(interval_ms=int(interval[2]), multiplier=int(interval[3]))
    elif words[0] in _INSIDE_PORT or words[:2] in (["no", "switchport"], ["no", "lldp"]):
        pass
    else:
        return _quality(quality, rest)
    found.ports[name] = port
    return True


def _quality(quality: _Quality, rest: Setting) -> bool:
    line = rest[0]
    if pause := _PAUSE.fullmatch(line):
        (quality.pausing.add if pause[2] == "no-drop" else quality.pausing.discard)(int(pause[1]))
    elif line in {"priority-flow-control on", "priority-flow-control mode on"}:
        quality.is_on = True
    elif line in {"no priority-flow-control", "priority-flow-control off"}:
        quality.is_on = False
    elif line.startswith("priority-flow-control pause watchdog"):
        return "disable" not in line and not line.startswith("no ")
    elif line.startswith("qos trust "):
        quality.trusts = line.split()[2]
    elif line.startswith("service-profile "):
        quality.profile = line.split()[1]
    elif queue := _QUEUE.fullmatch(line):
        return len(rest) == 1 or _queue(quality, int(queue[1]), rest[1])
    else:
        return False
    return True


def _queue(quality: _Quality, number: int, line: str) -> bool:
    if marks := _MARKS.fullmatch(line):
        unit = _UNITS[marks[2]]
        quality.marks[number] = Marks(
            least_bytes=unit * int(marks[1]),
            most_bytes=unit * int(marks[3]),
            mark_pct=int(marks[4] or 100),
        )
        return True
    return line.startswith(
        ("bandwidth ", "no priority", "priority strict", "shape ", "random-detect ecn count")
    )


def _other(found: _EosLines, name: str, rest: Setting) -> bool:
    if rest and rest[0].startswith("ip address ") and not name.startswith("Management"):
        found.addresses.append(rest[0].split()[2])
    return not name.startswith(("Port-Channel", "Tunnel")) or not rest


def _router_bfd(found: _EosLines, rest: Setting) -> bool:
    if not rest:
        return True
    interval = re.fullmatch(
        r"interval (\d{1,6}) min[-_]rx (\d{1,6}) multiplier (\d{1,3}).*", rest[0]
    )
    if interval:
        found.bfd = Bfd(interval_ms=int(interval[2]), multiplier=int(interval[3]))
    return interval is not None


def _bgp(found: _EosLines, path: Setting) -> bool:
    if len(path) == 1:
        asn = path[0].split()[2]
        found.asn = int(asn) if asn.isdecimal() else None
        return asn.isdecimal()
    line = path[1]
    if line.startswith("router-id "):
        found.router_id = line.split()[1]
    elif line.startswith(("neighbor ", "no neighbor ")) and len(path) == 2:
        return _neighbour(found, line)
    else:
        return line.startswith(_INSIDE_BGP)
    return True


def _neighbour(found: _EosLines, line: str) -> bool:
    match = _NEIGHBOUR.fullmatch(line.removeprefix("no "))
    if match is None or line.startswith("no "):
        return match is not None and match[2] == "activate"
    row, words = found.neighbours.setdefault(match[1], {}), match[2].split()
    match words:
        case ["peer", "group"] | ["peer-group"]:
            row["is_group"] = "yes"
        case ["peer", "group", name] | ["peer-group", name]:
            row["group"] = name
        case ["peer-group", name, "remote-as", asn]:
            row |= {"group": name, "asn": asn}
        case ["remote-as", asn]:
            row["asn"] = asn
        case ["bfd"]:
            row["bfd"] = "on"
        case ["bfd", "interval", _, "min-rx" | "min_rx", receive, "multiplier", count]:
            row |= {"bfd": "on", "interval": receive, "multiplier": count}
        case ["timers", _, hold]:
            row["hold"] = hold
        case _:
            return words[0] in _SESSION
    return True


# Of a session, what rules are not about.
_SESSION: Final = frozenset(_SESSION_WORDS.split())


def _neighbours(found: _EosLines) -> Iterator[BgpNeighbour]:
    """Yield sessions; what a neighbour leaves out is its group's."""
    for name, own in found.neighbours.items():
        if own.get("is_group"):
            continue
        row = {**found.neighbours.get(own.get("group", ""), {}), **own}
        asn, hold = row.get("asn", ""), row.get("hold", "")
        yield BgpNeighbour(
            name=name,
            remote_as=int(asn) if asn.isdecimal() else None,
            bfd=_session_bfd(found, row),
            hold_s=int(hold) if hold.isdecimal() else None,
        )


def _session_bfd(found: _EosLines, row: dict[str, str]) -> Bfd | None:
    if "bfd" not in row:
        return None
    return Bfd(
        interval_ms=int(row.get("interval", found.bfd.interval_ms)),
        multiplier=int(row.get("multiplier", found.bfd.multiplier)),
    )


def _finished(found: _EosLines, port: PortConfig) -> PortConfig:
    """Return a port with what its profile and the switch as a whole say."""
    own = found.quality.get(port.name, _Quality())
    profile = found.profiles.get(own.profile, _Quality())
    is_on = own.is_on or profile.is_on
    pausing = frozenset(own.pausing or profile.pausing) if is_on else frozenset()
    sessions = ("a BGP session",) if port.name in found.neighbours else ()
    trusts = own.trusts or profile.trusts
    return replace(
        port,
        mtu_bytes=port.mtu_bytes or found.mtu,
        pausing=pausing,
        is_watched=found.is_watched,
        queue_of=found.queues,
        marks={**profile.marks, **own.marks},
        # A routed port goes by DSCP unless told otherwise (EOS manual).
        priority_of=found.map if trusts in {"", "dscp"} else {},
        uses=tuple(dict.fromkeys((*port.uses, *sessions))),
    )
