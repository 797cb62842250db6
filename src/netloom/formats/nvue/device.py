"""NVUE's configuration, written by netloom or not, as a switch.

Paths are those of NVIDIA's NVUE reference, 5.6 to 5.15: ``enable on`` and ``state enabled`` mean
the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.formats.nvue.tree import paths
from netloom.ops.deploy.device import Bfd, BgpNeighbour, DeviceConfig, PortConfig
from netloom.ops.deploy.ports import Marks
from netloom.ops.deploy.structure import reading, unknown_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.structure import Setting

__all__ = ["read_device"]

DEFAULT_MTU_BYTES: Final = 9216  # Cumulus Linux: of switch ports
# What 'qos roce' sets by itself, as 'nv show qos roce' prints it: DSCP 24 to 31 on priority 3, 48
# to 55 on priority 6, marks from 146.48 KiB to 1.43 MiB on class 3.
ROCE_PRIORITY: Final = 3
ROCE_MAP: Final = {dscp: dscp // 8 for dscp in range(64)}
ROCE_MARKS: Final = Marks(least_bytes=150_000, most_bytes=1_500_000, mark_pct=100)
DEFAULT_BFD: Final = Bfd(interval_ms=300, multiplier=3)
ON: Final = frozenset({"on", "enable", "enabled", "up", "true", "yes"})
# Begin paths that cannot make a rule wrong.
_HARMLESS: Final = (
    ("system",),
    ("service",),
    ("platform",),
    ("evpn",),
    ("nve",),
    ("bridge",),
)
_PORT: Final = re.compile(r"swp\d{1,4}(?:s\d)?", re.ASCII)
_WAYS: Final = re.compile(r"(\d)x(?:(\d{1,4})G)?", re.ASCII)
_SPEED: Final = re.compile(r"(\d{1,4})G", re.ASCII)


@dataclass
class _Queue:
    """ECN of a traffic class, setting by setting."""

    is_on: bool = False
    least: int = ROCE_MARKS.least_bytes
    most: int = ROCE_MARKS.most_bytes
    share: int = ROCE_MARKS.mark_pct


@dataclass
class _NvueSettings:
    """What was read so far."""

    hostname: str = ""
    asn: int | None = None
    router_id: str = ""
    ports: dict[str, PortConfig] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    splits: dict[str, tuple[int, float | None]] = field(default_factory=dict)
    roce: str = ""
    pausing: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    pause_profile: dict[str, str] = field(default_factory=dict)
    marks: dict[str, dict[int, _Queue]] = field(default_factory=lambda: defaultdict(dict))
    mark_profile: dict[str, str] = field(default_factory=dict)
    map: dict[int, int] = field(default_factory=dict)
    neighbours: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    unknown: list[str] = field(default_factory=list)


def read_device(text: str, where: str) -> DeviceConfig:
    """Return the switch that commands or a startup.yaml describe.

    Raises:
        SpecError: it is neither, or a number in it is none.
    """
    found = _NvueSettings()
    with reading(where, "NVUE's configuration"):
        found.unknown = unknown_to(partial(_read, found), paths(text), between=" ")
        return _device(found, where)


def _device(found: _NvueSettings, where: str) -> DeviceConfig:
    return DeviceConfig(
        where=where,
        system="cumulus",
        hostname=found.hostname,
        asn=found.asn,
        router_id=found.router_id,
        addresses=tuple(one for some in found.other.values() for one in some),
        ports={name: _finished(found, port) for name, port in found.ports.items()},
        neighbours=tuple(_neighbours(found)),
        unknown=tuple(found.unknown),
    )


def _read(found: _NvueSettings, path: Setting) -> bool:
    """Take in one setting; false where it is not understood."""
    match path:
        case ("system", "hostname", name):
            found.hostname = name
        case ("interface", name, *rest) if _PORT.fullmatch(name):
            return _interface(found, name, tuple(rest))
        case ("interface", name, "ip" | "ipv4", "address", address):
            found.other[name].append(address)
        case ("interface", "lo" | "eth0", *_):
            pass
        case ("qos", *rest):
            return _quality(found, tuple(rest))
        case ("router" | "vrf", *_):
            return _routing(found, path)
        case _:
            return any(path[: len(start)] == start for start in _HARMLESS)
    return True


def _routing(found: _NvueSettings, path: Setting) -> bool:
    match path:
        case ("router", "bgp", "autonomous-system" | "router-id" as name, value):
            return _bgp(found, "default", (name, value))
        case ("router", "bgp", "enable" | "state", _) | ("router", "bgp", "graceful-restart", *_):
            return True
        case ("router", "bfd" | "policy", *_):
            return True
        case ("vrf", vrf, "router", "bgp", *rest):
            return _bgp(found, vrf, tuple(rest))
        case ("vrf", _, "evpn" | "loopback", *_) | ("vrf", "mgmt", *_):
            return True
        case _:
            return False


def _port(found: _NvueSettings, name: str) -> PortConfig:
    return found.ports.get(name) or PortConfig(name=name, mtu_bytes=DEFAULT_MTU_BYTES)


def _interface(found: _NvueSettings, name: str, rest: Setting) -> bool:
    port = _port(found, name)
    match rest:
        case () | ("type", _) | ("ip", "vrf", _) | ("ip", "neighbor-discovery", *_):
            pass
        case ("description", *words):
            port = replace(port, uses=(*port.uses, "a description")) if words else port
        case ("link", *words):
            return _link(found, port, tuple(words))
        case ("ip" | "ipv4", "address", address, *_):
            addresses = (*port.addresses, address)
            port = replace(port, addresses=addresses, uses=(*port.uses, "an address"))
        case ("qos", "pfc-watchdog", *words):
            port = replace(port, is_watched=not words or words[-1] in ON)
        case ("qos", "pfc", "profile", profile):
            found.pause_profile[name] = profile
        case ("qos", "congestion-control", "profile", profile):
            found.mark_profile[name] = profile
        case _:
            return False
    found.ports[name] = port
    return True


def _link(found: _NvueSettings, port: PortConfig, words: Setting) -> bool:
    match words:
        case ("mtu", size):
            port = replace(port, mtu_bytes=int(size))
        case ("state" | "admin-state", word, *_):
            port = replace(port, is_up=word in ON)
        case ("speed", speed) if rate := _SPEED.fullmatch(speed):
            port = replace(port, rate_bps=1e9 * int(rate[1]))
        case ("breakout", mode, *_) if ways := _WAYS.fullmatch(mode):
            rate_bps = 1e9 * int(ways[2]) if ways[2] else None
            found.splits[port.name] = int(ways[1]), rate_bps
            return True  # the cage itself is no port any more
        case ("fec" | "auto-negotiate" | "lanes" | "dot1x" | "flap-protection" | "speed", *_):
            pass
        case _:
            return False
    found.ports[port.name] = port
    return True


def _quality(found: _NvueSettings, rest: Setting) -> bool:
    match rest:
        case ("roce", *words):
            found.roce = _roce(tuple(words))
        case ("pfc", profile, "switch-priority", *words):
            found.pausing[profile].update(int(one) for word in words for one in word.split(","))
        case ("pfc", profile, "tx", word) if word not in ON:
            found.pausing[profile].clear()
        case ("pfc", _, *_) | ("pfc-watchdog", *_) | ("egress-scheduler", *_):
            pass
        case ("egress-queue-mapping" | "remark" | "traffic-pool" | "advance-buffer-config", *_):
            return False  # they may move RoCE to another queue or pool
        case ("congestion-control", profile, "traffic-class", classes, *words):
            return all(_marks(found, profile, one, tuple(words)) for one in classes.split(","))
        case ("mapping", _, "trust", *_):
            pass
        case ("mapping", _, "dscp", dscps, "switch-priority", priority):
            for dscp in dscps.split(","):
                found.map[int(dscp)] = int(priority)
        case _:
            return False
    return True


def _roce(words: Setting) -> str:
    """Return the mode of RoCE: lossless unless told."""
    match words:
        case () | ("mode", "lossless"):
            return "lossless"
        case ("enable" | "state", word) if word in ON:
            return "lossless"
        case ("enable" | "state", _):
            return "off"
        case ("mode", word):
            return word
        case _:
            return words[0]


def _marks(found: _NvueSettings, profile: str, number: str, words: Setting) -> bool:
    queue = found.marks[profile].setdefault(int(number), _Queue())
    match words:
        case ("ecn", word):
            queue.is_on = word in ON
        case ("min-threshold" | "min-threshold-bytes", *size):
            queue.least = int(size[0])
        case ("max-threshold" | "max-threshold-bytes", *size):
            queue.most = int(size[0])
        case ("probability", share):
            queue.share = int(share)
        case ("red", _):
            pass
        case _:
            return False
    return True


def _bgp(found: _NvueSettings, vrf: str, rest: Setting) -> bool:
    match rest:
        case ("autonomous-system", asn) if vrf == "default" and asn.isdecimal():
            found.asn = int(asn)
        case ("router-id", address) if vrf == "default":
            found.router_id = address
        case ("neighbor" | "peer-group", name, *words):
            found.neighbours[name]["is_group"] = "yes" if rest[0] == "peer-group" else ""
            return _neighbour(found.neighbours[name], tuple(words))
        case ("timers", "hold", seconds):
            found.neighbours[""]["hold"] = seconds
        case ("enable" | "state" | "autonomous-system" | "router-id" | "rd" | "timers", *_):
            pass
        case ("address-family" | "path-selection" | "route-import" | "route-export", *_):
            pass
        case _:
            return False
    return True


def _neighbour(row: dict[str, str], words: Setting) -> bool:
    match words:
        case ("remote-as" | "peer-group", value):
            row[words[0]] = value
        case ("bfd", *rest):
            return _bfd(row, tuple(rest))
        case ("timers", name, value):
            row[name] = value
        case ("type" | "description" | "address-family" | "enforce-first-as" | "ttl-security", *_):
            pass
        case ("enable" | "shutdown" | "update-source" | "multihop-ttl" | "nexthop", *_):
            pass
        case _:
            return not words
    return True


def _bfd(row: dict[str, str], words: Setting) -> bool:
    match words:
        case ("enable" | "state", word):
            row["bfd"] = word
        case ("detect-multiplier" | "min-rx-interval" | "min-tx-interval", value):
            row[words[0]] = value
        case ("profile", _):
            row["bfd"] = "on"
        case _:
            return False
    return True


def _neighbours(found: _NvueSettings) -> Iterator[BgpNeighbour]:
    """Yield sessions; what a neighbour leaves out is its group's."""
    for name, own in found.neighbours.items():
        if not name or own.get("is_group"):
            continue
        row = {**found.neighbours.get(own.get("peer-group", ""), {}), **own}
        asn, hold = row.get("remote-as", ""), row.get("hold", "")
        yield BgpNeighbour(
            name=name,
            remote_as=int(asn) if asn.isdecimal() else None,
            bfd=_session_bfd(row),
            hold_s=int(hold) if hold.isdecimal() else None,
        )


def _session_bfd(row: dict[str, str]) -> Bfd | None:
    if row.get("bfd", "") not in ON:
        return None
    return Bfd(
        interval_ms=int(row.get("min-rx-interval", DEFAULT_BFD.interval_ms)),
        multiplier=int(row.get("detect-multiplier", DEFAULT_BFD.multiplier)),
    )


def _finished(found: _NvueSettings, port: PortConfig) -> PortConfig:
    """Return a port with what the switch as a whole, or a profile, says of all."""
    cage = re.sub(r"(?<=\d)s\d$", "", port.name)
    ways, rate = found.splits.get(cage, (None, None))
    profile = found.pause_profile.get(port.name, "default-global")
    pausing = frozenset(found.pausing.get(profile, ()))
    if found.roce == "lossless" and profile == "default-global":
        pausing |= {ROCE_PRIORITY}
    marks = _port_marks(found, found.mark_profile.get(port.name, "default-global"))
    sessions = ("a BGP session",) if port.name in found.neighbours else ()
    return replace(
        port,
        num_ways=ways,
        way_rate_bps=rate,
        pausing=pausing,
        marks=marks,
        priority_of={**(ROCE_MAP if found.roce in {"lossless", "lossy"} else {}), **found.map},
        uses=tuple(dict.fromkeys((*port.uses, *sessions))),
    )


def _port_marks(found: _NvueSettings, profile: str) -> dict[int, Marks]:
    marks = {ROCE_PRIORITY: ROCE_MARKS} if found.roce in {"lossless", "lossy"} else {}
    for number, queue in found.marks.get(profile, {}).items():
        if queue.is_on:
            marks[number] = Marks(
                least_bytes=queue.least, most_bytes=queue.most, mark_pct=queue.share
            )
        else:
            marks.pop(number, None)
    return marks
