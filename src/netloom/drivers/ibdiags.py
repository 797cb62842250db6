"""infiniband-diags: thin calls of its programs, and the parsers of what they print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import run
from netloom.errors import LabError
from netloom.formats.infiniband.counters import parse_port_counters
from netloom.formats.infiniband.diags import (
    ForwardingTable,
    IbNode,
    LinkRow,
    Manager,
    PortErrors,
    PortRow,
    parse_counters,
    parse_errors,
    parse_forwarding,
    parse_links,
    parse_manager,
    parse_ports,
    parse_topology,
)
from netloom.formats.infiniband.partition_keys import parse_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = [
    "Client",
    "clear_counters",
    "counters",
    "errors",
    "links",
    "manager",
    "nodes",
    "partition_keys",
    "port_counters",
    "ports",
    "set_extended_speed",
    "set_port",
    "table",
]

TIMEOUT_S: Final = 120.0
MAX_TRIES: Final = 20  # of a path query: each has a second of its own for an answer
CHANGED: Final = "After PortInfo set"  # ibportstate's words before what a port has become


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """From where the programs are run.

    Attributes:
        env: What leads them to a port: nothing on a real host, ibsim's variables in a lab.
        folder: Their working directory.
    """

    env: Mapping[str, str]
    folder: Path

    def run(self, *argv: str) -> str:
        """Run a program of infiniband-diags and return what it printed.

        An exit status other than 0 is no error when something was printed: these programs give
        it whenever any device of the fabric did not answer.

        Raises:
            LabError: it is not installed, printed nothing and failed, or did not end.
        """
        return run(argv, env=self.env, cwd=self.folder, timeout_s=TIMEOUT_S, lenient=True)


def ports(client: Client) -> tuple[PortRow, ...]:
    """Return every port that answers, from ``ibnetdiscover -p``."""
    return parse_ports(client.run("ibnetdiscover", "-p"))


def nodes(client: Client) -> tuple[IbNode, ...]:
    """Return every node that answers with its cables, from ``ibnetdiscover``."""
    return parse_topology(client.run("ibnetdiscover"))


def links(client: Client) -> tuple[LinkRow, ...]:
    """Return every port with its state and speed, from ``iblinkinfo -l``."""
    return parse_links(client.run("iblinkinfo", "-l"))


def errors(client: Client) -> tuple[PortErrors, ...]:
    """Return the ports whose error counters are over ibqueryerrors' thresholds."""
    return parse_errors(client.run("ibqueryerrors"))


def counters(client: Client, lid: int, port: int, *, extended: bool = False) -> dict[str, int]:
    """Return the counters of one port, from ``perfquery``; the 64-bit ones when *extended*."""
    more = ["-x"] if extended else []
    return parse_counters(client.run("perfquery", *more, str(lid), str(port)))


def clear_counters(client: Client, lid: int, port: int) -> None:
    """Set the counters of one port to zero."""
    client.run("perfquery", "-R", str(lid), str(port))


def manager(client: Client) -> Manager:
    """Return the subnet manager of the subnet."""
    return parse_manager(client.run("sminfo"))


def table(client: Client, lid: int) -> ForwardingTable:
    """Return the unicast forwarding table of the switch at *lid*."""
    return parse_forwarding(client.run("ibroute", str(lid)))[0]


def set_extended_speed(client: Client, guid: int, port: int, speeds: int) -> None:
    """Allow a switch's port only some speeds: 1 is FDR, 2 EDR, 4 HDR, their sum several.

    The link takes them on when it comes up the next time.

    Raises:
        LabError: the port is as before.
    """
    set_port(client, guid, port, "espeed", str(speeds))


def set_port(client: Client, guid: int, port: int, *change: str) -> None:
    """Change a switch's port by ``ibportstate``.

    The subnet manager says which LID a GUID has. A busy one may not answer in time: ibportstate
    prints so, changes nothing, and is run again.

    Raises:
        LabError: the port is as before.
    """
    said = ""
    for _ in range(MAX_TRIES):
        said = client.run("ibportstate", "-G", f"0x{guid:016x}", str(port), *change)
        if CHANGED in said:
            return
    raise LabError(
        what=f"ibportstate {' '.join(change)} on port {port} of 0x{guid:016x}: {said.strip()}",
        remedy="check that the subnet manager runs (sminfo)",
    )


def partition_keys(ask: Callable[..., str], guid: int) -> tuple[int, ...]:
    """Return the keys of the port with this GUID, membership bit included, in their order.

    Args:
        ask: Runs a program of infiniband-diags and returns what it printed.
        guid: Of the port.

    Raises:
        LabError: the port does not answer.
    """
    return parse_keys(ask("smpquery", "-G", "pkeys", f"0x{guid:016x}", "1"))


ERRORS: Final = (
    *("SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors"),
    *("PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards"),
    *("PortXmitConstraintErrors", "PortRcvConstraintErrors", "LocalLinkIntegrityErrors"),
    *("ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitWait"),
)


def port_counters(run: Callable[..., str], folder: Path) -> tuple[PortErrors, ...]:
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
        PortErrors(
            guid=one.guid,
            name=one.name,
            port=one.port,
            counters={**one.counters, **none, **by_port.get((one.guid, one.port), {})},
        )
        for one in data
    )
