"""The counters of every port of an InfiniBand fabric, in two scans of ``ibqueryerrors``.

``--counters`` gives what each port sent and received; without it come errors, only those above a
threshold. The threshold is zero here, whatever the site has configured, so that a port which the
first scan names and the second does not has no errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["PortCounters", "parse_port_counters", "port_counters"]

MOST_LINES: Final = 4_000_000
ERRORS: Final = (
    *("SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors"),
    *("PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards"),
    *("PortXmitConstraintErrors", "PortRcvConstraintErrors", "LocalLinkIntegrityErrors"),
    *("ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitWait"),
)

_NODE: Final = re.compile(
    r'(?:Errors|Data Counters) for 0x(?P<guid>[0-9a-f]{1,16}) "(?P<name>[^"]{0,80})"', re.ASCII
)
_PORT: Final = re.compile(
    r"\s*GUID 0x[0-9a-f]{1,16} port (?P<port>\d{1,3}|ALL):(?P<rest>.*)", re.ASCII
)
_COUNTER: Final = re.compile(r"\[([A-Za-z0-9]{1,48}) == (\d{1,20})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortCounters:
    """What one port counted, by the names of infiniband-diags."""

    guid: int
    name: str
    port: int
    counters: dict[str, int]


def parse_port_counters(text: str) -> tuple[PortCounters, ...]:
    """Return the ports that one scan printed; none is a good answer where none has errors.

    Sums over all ports of a switch are left out.

    Raises:
        LabError: it is not what ibqueryerrors prints.
    """
    node: re.Match[str] | None = None
    is_known = "## Summary:" in text
    found = []
    for line in text.splitlines()[:MOST_LINES]:
        if head := _NODE.match(line):
            node, is_known = head, True
        elif node and (match := _PORT.match(line)) and match["port"] != "ALL":
            counted = {key: int(value) for key, value in _COUNTER.findall(match["rest"])}
            guid, port = int(node["guid"], 16), int(match["port"])
            found.append(PortCounters(guid=guid, name=node["name"], port=port, counters=counted))
    if not is_known:
        start = text.strip()[:80]
        message = (
            f"ibqueryerrors: what it printed is not understood ({start!r}); is a subnet manager up?"
        )
        raise LabError(message)
    return tuple(found)


def port_counters(run: Callable[..., str], folder: Path) -> tuple[PortCounters, ...]:
    """Return what every port that answers counted; errors it does not name are zero.

    Args:
        run: Runs a program of infiniband-diags and returns what it printed.
        folder: For the file of thresholds.

    Raises:
        LabError: nothing answers.
    """
    thresholds = folder / "thresholds"
    thresholds.write_text("", encoding="ascii")
    data = parse_port_counters(run("ibqueryerrors", "--counters"))
    errors = parse_port_counters(run("ibqueryerrors", "--threshold-file", str(thresholds)))
    by_port = {(one.guid, one.port): one.counters for one in errors}
    none = dict.fromkeys(ERRORS, 0)
    return tuple(
        PortCounters(
            guid=one.guid,
            name=one.name,
            port=one.port,
            counters={**one.counters, **none, **by_port.get((one.guid, one.port), {})},
        )
        for one in data
    )
