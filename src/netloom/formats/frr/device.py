"""A frr.conf, written by netloom or not, as the routing of a switch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.device import Bfd, BgpNeighbour, DeviceConfig
from netloom.ops.deploy.structure import reading, sections, unknown_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.structure import Setting

__all__ = ["is_frr", "read_device"]

_HARMLESS_WORDS: Final = (
    "frr hostname log service password enable line zebra vrf ip ipv6 route-map vtysh agentx "
    "no debug vni exit netns domainname username fpm access-list bgp"
)
_SESSION_WORDS: Final = (
    "description update-source ebgp-multihop advertisement-interval timers capability send- "
    "community next-hop-self password route-map activate ttl-security soft-reconfiguration"
)
DEFAULT_BFD: Final = Bfd(interval_ms=300, multiplier=3)  # FRR's bfdd: 300, 300, 3
_ROUTING: Final = re.compile(
    r"^(?:frr (?:version|defaults) |router bgp \d{1,10}$)", re.ASCII | re.MULTILINE
)
_DEEP: Final = re.compile(r"^   \S", re.MULTILINE)  # as EOS indents
_NEIGHBOUR: Final = re.compile(r"neighbor (\S{1,64}) (.{1,200})", re.ASCII)
# First words of lines that rules are not about.
_HARMLESS: Final = frozenset(_HARMLESS_WORDS.split())
_INSIDE_BGP: Final = ("bgp ", "no bgp ", "timers ", "maximum-paths", "address-family ", "no auto")
_SESSION: Final = frozenset(_SESSION_WORDS.split())


@dataclass
class _FrrLines:
    """What was read so far."""

    hostname: str = ""
    asn: int | None = None
    router_id: str = ""
    addresses: list[str] = field(default_factory=list)
    profiles: dict[str, dict[str, int]] = field(default_factory=dict)
    neighbours: dict[str, dict[str, str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def is_frr(text: str) -> bool:
    """Return whether a text is such a file."""
    return bool(_ROUTING.search(text)) and not _DEEP.search(text)


def read_device(text: str, where: str) -> DeviceConfig:
    """Return the routing that a frr.conf describes; it knows nothing of ports.

    Raises:
        SpecError: a number in it is none.
    """
    found = _FrrLines()
    with reading(where, "a frr.conf"):
        found.unknown = unknown_to(partial(_read, found), sections(text))
        return _device(found, where)


def _device(found: _FrrLines, where: str) -> DeviceConfig:
    return DeviceConfig(
        where=where,
        system="frr",
        hostname=found.hostname,
        asn=found.asn,
        router_id=found.router_id,
        addresses=tuple(found.addresses),
        neighbours=tuple(_neighbours(found)),
        unknown=tuple(found.unknown),
    )


def _read(found: _FrrLines, path: Setting) -> bool:
    words = path[0].split()
    if words[0] == "hostname" and len(words) == 2:
        found.hostname = words[1]
    elif words[:2] == ["router", "bgp"]:
        return _bgp(found, path, has_vrf="vrf" in words)
    elif words[0] == "interface":
        line = path[1] if len(path) > 1 else ""
        if line.startswith("ip address "):
            found.addresses.append(line.split()[2])
        return line.startswith(("ip ", "ipv6 ", "no ", "description")) or not line
    elif words[0] == "bfd":
        return _bfd(found, path[1:])
    else:
        return words[0] in _HARMLESS
    return True


def _bfd(found: _FrrLines, rest: Setting) -> bool:
    match rest:
        case () | (_,):
            if rest and rest[0].startswith("profile "):
                found.profiles.setdefault(rest[0].split()[1], {})
            return not rest or rest[0].startswith("profile ")
        case (profile, line, *_) if profile.startswith("profile "):
            row, words = found.profiles.setdefault(profile.split()[1], {}), line.split()
            if len(words) == 2 and words[1].isdecimal():
                row[words[0]] = int(words[1])
            return True
        case _:
            return False


def _bgp(found: _FrrLines, path: Setting, *, has_vrf: bool) -> bool:
    if len(path) == 1:
        asn = path[0].split()[2]
        found.asn = found.asn if has_vrf else int(asn)
        return True
    line = path[1]
    if line.startswith("bgp router-id ") and not has_vrf:
        found.router_id = line.split()[2]
    elif line.startswith("neighbor ") and len(path) == 2:
        return _neighbour(found, line)
    else:
        return line.startswith(_INSIDE_BGP)
    return True


def _neighbour(found: _FrrLines, line: str) -> bool:
    match = _NEIGHBOUR.fullmatch(line)
    if match is None:
        return False
    row, words = found.neighbours.setdefault(match[1], {}), match[2].split()
    match words:
        case ["peer-group"]:
            row["is_group"] = "yes"
        case ["interface", *rest]:
            row |= dict(zip(rest[::2], rest[1::2], strict=False))
        case ["peer-group" | "remote-as", value]:
            row[words[0]] = value
        case ["bfd"]:
            row["bfd"] = row.get("bfd", "on")
        case ["bfd", "profile", name]:
            row["bfd"] = name
        case ["bfd", count, receive, _] if count.isdecimal():
            row |= {"bfd": "on", "multiplier": count, "interval": receive}
        case ["timers", keep, hold] if keep.isdecimal():
            row["hold"] = hold
        case _:
            return words[0] in _SESSION
    return True


def _neighbours(found: _FrrLines) -> Iterator[BgpNeighbour]:
    """Yield sessions; what a neighbour leaves out is its group's."""
    for name, own in found.neighbours.items():
        if own.get("is_group"):
            continue
        row = {**found.neighbours.get(own.get("peer-group", ""), {}), **own}
        asn, hold = row.get("remote-as", ""), row.get("hold", "")
        yield BgpNeighbour(
            name=name,
            remote_as=int(asn) if asn.isdecimal() else None,
            bfd=_session_bfd(found, row),
            hold_s=int(hold) if hold.isdecimal() else None,
        )


def _session_bfd(found: _FrrLines, row: dict[str, str]) -> Bfd | None:
    if "bfd" not in row:
        return None
    profile = found.profiles.get(row["bfd"], {})
    return Bfd(
        interval_ms=int(
            row.get("interval", profile.get("receive-interval", DEFAULT_BFD.interval_ms))
        ),
        multiplier=int(
            row.get("multiplier", profile.get("detect-multiplier", DEFAULT_BFD.multiplier))
        ),
    )
