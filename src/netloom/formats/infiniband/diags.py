"""What the programs of infiniband-diags print, parsed into plain values.

Lines that a parser does not know it passes over, since versions differ; but text with no line it
knows is an error, never an empty answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from netloom.errors import LabError

__all__ = [
    "ForwardingTable",
    "IbNode",
    "LinkRow",
    "Manager",
    "NodePort",
    "PortErrors",
    "PortRow",
    "parse_counters",
    "parse_errors",
    "parse_forwarding",
    "parse_links",
    "parse_manager",
    "parse_ports",
    "parse_topology",
]

MAX_LINES: Final = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRow:
    """One port, from ``ibnetdiscover -p``.

    Attributes:
        kind: ``SW``, ``CA`` or ``RT``.
        lid: Of the port, or of its switch.
        port: Its number.
        guid: Of the port, or of its switch.
        width: ``4x``.
        speed: ``HDR``; also of a port that is down, where it means nothing.
        name: Description of the node.
        peer_lid: At the other end of the cable; None where there is none.
        peer_port: Likewise.
        peer_guid: Likewise.
        peer_name: Likewise.
    """

    kind: str
    lid: int
    port: int
    guid: int
    width: str
    speed: str
    name: str
    peer_lid: int | None = None
    peer_port: int | None = None
    peer_guid: int | None = None
    peer_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePort:
    """A port with a cable, from ``ibnetdiscover``."""

    port: int
    peer: str
    peer_port: int
    peer_name: str
    rate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IbNode:
    """A switch, adapter or router with its cables, from ``ibnetdiscover``.

    Attributes:
        id: ``S-0002c90000100001``; the letter says what it is.
        num_ports: Of it.
        name: Its description.
        lid: Of a switch; None for others, whose ports have them.
        ports: Those with a cable.
    """

    id: str
    num_ports: int
    name: str
    lid: int | None
    ports: tuple[NodePort, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """One port as ``iblinkinfo -l`` sees it.

    Attributes:
        guid: Of the port's node.
        name: Description of the node.
        lid: Of it.
        port: Its number.
        width: ``4X``; empty when down.
        lane_gbps: Rate of one lane; None when down.
        state: ``Active``, ``Init``, ``Armed`` or ``Down``.
        physical_state: ``LinkUp``, ``Polling``, ``Disabled``.
        peer_name: At the other end; empty where none answers.
        peer_port: Likewise; None.
        could_be: What both ends could do better: ``53.125 Gbps``.
    """

    guid: int
    name: str
    lid: int
    port: int
    width: str
    lane_gbps: float | None
    state: str
    physical_state: str
    peer_name: str
    peer_port: int | None
    could_be: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortErrors:
    """Counters of one port over their thresholds, from ``ibqueryerrors``."""

    guid: int
    name: str
    port: int
    counters: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """The subnet manager that answers, from ``sminfo``."""

    lid: int
    guid: int
    activity: int
    priority: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingTable:
    """Ports by destination LID of one switch, from ``ibroute`` or a dump of OpenSM's."""

    lid: int
    guid: int
    name: str
    ports: dict[int, int]


_PORT_ROW: Final = re.compile(
    r"(?P<kind>SW|CA|RT)\s+(?P<lid>\d{1,6})\s+(?P<port>\d{1,3})\s+0x(?P<guid>[0-9a-f]{16})"
    r"\s+(?P<width>\S{1,8})\s+(?P<speed>\S{1,12})"
    r"(?:\s+-\s+(?:SW|CA|RT)\s+(?P<plid>\d{1,6})\s+(?P<pport>\d{1,3})\s+0x(?P<pguid>[0-9a-f]{16})"
    r"\s+\(\s'(?P<name>.{0,80}?)'\s-\s'(?P<pname>.{0,80})'\s\)|\s+'(?P<alone>.{0,80})')\s*",
    re.ASCII,
)
_NODE: Final = re.compile(
    r'(?P<kind>Switch|Ca|Rt)\s+(?P<ports>\d{1,3})\s+"(?P<id>[^"]{1,64})"\s+#\s+"(?P<name>[^"]{0,80})"'
    r"(?:.*?\slid (?P<lid>\d{1,6}))?.*",
    re.ASCII,
)
_NODE_PORT: Final = re.compile(
    r'\[(?P<port>\d{1,3})\](?:\([0-9a-fx]{1,20}\))?\s+"(?P<peer>[^"]{1,64})"\[(?P<pport>\d{1,3})\]'
    r'[^#]{0,40}#\s+(?:lid \d+ lmc \d+ )?"(?P<name>[^"]{0,80})" lid \d{1,6} (?P<rate>\S{1,16}).*',
    re.ASCII,
)
_LINK_ROW: Final = re.compile(
    r'0x(?P<guid>[0-9a-f]{16})\s+"\s*(?P<name>[^"]{0,80})"\s+(?P<lid>\d{1,6})\s+(?P<port>\d{1,3})'
    r"\[[^\]]{0,4}\]\s==\((?P<link>[^)]{0,80})\)==>(?P<peer>.*)",
    re.ASCII,
)
_LINK: Final = re.compile(
    r"(?:\s*(?P<width>\d{1,2}X)\s+(?P<lane>[\d.]{1,12}) Gbps)?\s*"
    r"(?P<state>\w{1,12})/\s*(?P<phys>\w{1,24}).*",
    re.ASCII,
)
_LINK_PEER: Final = re.compile(
    r'\s+0x[0-9a-f]{16}\s+\d{1,6}\s+(?P<port>\d{1,3})\[[^\]]{0,4}\]\s"(?P<name>[^"]{0,80})"(?P<rest>.*)',
    re.ASCII,
)
_COULD_BE: Final = re.compile(r"Could be ([\d.]{1,12} Gbps|\d{1,2}X)", re.ASCII)
_COUNTER: Final = re.compile(r"(?P<name>[A-Za-z0-9]{1,48}):\.{1,48}(?P<value>\d{1,20})", re.ASCII)
_ERROR_NODE: Final = re.compile(
    r'(?:Errors|Data Counters) for (?:0x(?P<guid>[0-9a-f]{1,16}) )?"(?P<name>[^"]{0,80})"', re.ASCII
)
_ERROR_PORT: Final = re.compile(
    r"\s*GUID 0x(?P<guid>[0-9a-f]{1,16}) port (?P<port>\d{1,3}|ALL):(?P<rest>.*)", re.ASCII
)
_ERROR: Final = re.compile(r"\[([A-Za-z0-9]{1,48}) == (\d{1,20})", re.ASCII)
_SMINFO: Final = re.compile(
    r"sminfo: sm lid (?P<lid>\d{1,6}) sm guid 0x(?P<guid>[0-9a-f]{1,16}), activity count "
    r"(?P<activity>\d{1,20}) priority (?P<priority>\d{1,3}) state \d{1,3} "
    r"(?:SMINFO_)?(?P<state>\w{1,20})",
    re.ASCII,
)
_TABLE: Final = re.compile(
    r"Unicast lids .*? of switch (?:DR path .*? )?Lid (?P<lid>\d{1,6})\b.*? guid "
    r"0x(?P<guid>[0-9a-f]{1,16}) \((?P<name>.{0,80})\):",
    re.ASCII,
)
_ENTRY: Final = re.compile(r"0x(?P<lid>[0-9a-f]{1,5})\s+(?P<port>\d{1,3})\s+[:#]", re.ASCII)


def _known(program: str, text: str, *, found: bool) -> None:
    """Raise LabError when nothing in *text* was understood though there is some."""
    if not found:
        start = text.strip()[:80]
        raise LabError(
            what=f"{program}: what it printed is not understood ({start!r})",
            remedy="is the fabric up?",
        )


def parse_ports(text: str) -> tuple[PortRow, ...]:
    """Return the ports that ``ibnetdiscover -p`` printed.

    Raises:
        LabError: it is not what that program prints.
    """
    rows = [_PORT_ROW.fullmatch(line) for line in text.splitlines()[:MAX_LINES]]
    found = tuple(_port_row(match) for match in rows if match)
    _known("ibnetdiscover -p", text, found=bool(found))
    return found


def _port_row(match: re.Match[str]) -> PortRow:
    has_peer = match["plid"] is not None
    return PortRow(
        kind=match["kind"],
        lid=int(match["lid"]),
        port=int(match["port"]),
        guid=int(match["guid"], 16),
        width=match["width"],
        speed=match["speed"],
        name=match["name"] if has_peer else match["alone"],
        peer_lid=int(match["plid"]) if has_peer else None,
        peer_port=int(match["pport"]) if has_peer else None,
        peer_guid=int(match["pguid"], 16) if has_peer else None,
        peer_name=match["pname"] if has_peer else None,
    )


def parse_topology(text: str) -> tuple[IbNode, ...]:
    """Return the nodes that ``ibnetdiscover`` printed, or that a file of its format holds.

    Raises:
        LabError: it is not what that program prints.
    """
    heads: list[re.Match[str]] = []
    cables: list[list[NodePort]] = []
    for line in text.splitlines()[:MAX_LINES]:
        if head := _NODE.fullmatch(line):
            heads.append(head)
            cables.append([])
        elif heads and (match := _NODE_PORT.fullmatch(line)):
            cables[-1].append(_node_port(match))
    _known("ibnetdiscover", text, found=bool(heads))
    return tuple(_node(head, some) for head, some in zip(heads, cables, strict=True))


def _node_port(match: re.Match[str]) -> NodePort:
    return NodePort(
        port=int(match["port"]),
        peer=match["peer"],
        peer_port=int(match["pport"]),
        peer_name=match["name"],
        rate=match["rate"],
    )


def _node(head: re.Match[str], cables: list[NodePort]) -> IbNode:
    return IbNode(
        id=head["id"],
        num_ports=int(head["ports"]),
        name=head["name"],
        lid=int(head["lid"]) if head["lid"] else None,
        ports=tuple(cables),
    )


def parse_links(text: str) -> tuple[LinkRow, ...]:
    """Return the ports that ``iblinkinfo -l`` printed.

    Raises:
        LabError: it is not what that program prints.
    """
    rows = [_LINK_ROW.fullmatch(line) for line in text.splitlines()[:MAX_LINES]]
    found = tuple(row for match in rows if match and (row := _link_row(match)))
    _known("iblinkinfo", text, found=bool(found))
    return found


def _link_row(match: re.Match[str]) -> LinkRow | None:
    link = _LINK.fullmatch(match["link"])
    if link is None:
        return None
    peer = _LINK_PEER.fullmatch(match["peer"])
    return LinkRow(
        guid=int(match["guid"], 16),
        name=match["name"],
        lid=int(match["lid"]),
        port=int(match["port"]),
        width=link["width"] or "",
        lane_gbps=_number(link["lane"]),
        state=link["state"],
        physical_state=link["phys"],
        peer_name=peer["name"] if peer else "",
        peer_port=int(peer["port"]) if peer else None,
        could_be=tuple(_COULD_BE.findall(peer["rest"])) if peer else (),
    )


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:  # two dots
        return None


def parse_counters(text: str) -> dict[str, int]:
    """Return the counters that ``perfquery`` printed, by name.

    Raises:
        LabError: it is not what that program prints.
    """
    found = {match["name"]: int(match["value"]) for match in _COUNTER.finditer(text)}
    _known("perfquery", text, found=bool(found))
    return found


def parse_errors(text: str) -> tuple[PortErrors, ...]:
    """Return the ports that ``ibqueryerrors`` printed; none is a good answer.

    Sums over all ports of a switch are left out.

    Raises:
        LabError: it is not what that program prints.
    """
    name, found = "", []
    is_known = not text.strip() or "## Summary:" in text
    for line in text.splitlines()[:MAX_LINES]:
        if head := _ERROR_NODE.match(line):
            name, is_known = head["name"], True
        elif (match := _ERROR_PORT.match(line)) and match["port"] != "ALL":
            counted = {key: int(value) for key, value in _ERROR.findall(match["rest"])}
            guid, port = int(match["guid"], 16), int(match["port"])
            found.append(PortErrors(guid=guid, name=name, port=port, counters=counted))
    _known("ibqueryerrors", text, found=is_known)
    return tuple(found)


def parse_manager(text: str) -> Manager:
    """Return the subnet manager that ``sminfo`` printed.

    Raises:
        LabError: it is not what that program prints.
    """
    match = _SMINFO.search(text)
    if match is None:
        _known("sminfo", text, found=False)
        raise AssertionError
    return Manager(
        lid=int(match["lid"]),
        guid=int(match["guid"], 16),
        activity=int(match["activity"]),
        priority=int(match["priority"]),
        state=match["state"].lower(),
    )


def parse_forwarding(text: str) -> tuple[ForwardingTable, ...]:
    """Return the tables that ``ibroute``, ``dump_lfts`` or OpenSM's opensm-lfts.dump hold.

    Raises:
        LabError: it is none of these.
    """
    tables: list[ForwardingTable] = []
    for line in text.splitlines()[:MAX_LINES]:
        if head := _TABLE.match(line):
            lid, guid = int(head["lid"]), int(head["guid"], 16)
            name = head["name"].strip("'")
            tables.append(ForwardingTable(lid=lid, guid=guid, name=name, ports={}))
        elif tables and (entry := _ENTRY.match(line)):
            tables[-1].ports[int(entry["lid"], 16)] = int(entry["port"])
    _known("ibroute", text, found=bool(tables))
    return tuple(tables)
