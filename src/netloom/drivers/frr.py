"""FRR, the routing suite: configuration of a switch, its daemons, and what they know.

A switch runs zebra, bgpd and bfdd in its own namespace, with the namespace's name as FRR's
*pathspace*, so that many run beside one another.
"""

from __future__ import annotations

import pwd
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import find_program, read_tail, run, start, wait_for
from netloom.errors import LabError
from netloom.formats.frr.conf import namespace_line, render_configuration
from netloom.formats.frr.state import Peer, Route, parse_fib, parse_peers, parse_routes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.drivers.programs import Running

__all__ = [
    "DAEMONS",
    "check_configuration",
    "fib",
    "load_configuration",
    "make_folders",
    "namespace_line",
    "peers",
    "remove_folders",
    "render_configuration",
    "routes",
    "start_daemon",
    "vtysh_argv",
    "wait_ready",
]

DAEMONS: Final = ("zebra", "bfdd", "bgpd")  # in the order they are started
# Buffers for thousands of routes at once; VRFs that are namespaces (zebra then has no use for the
# kernel's nexthop objects).
ZEBRA_OPTIONS: Final = ("-s", "90000000", "--vrfwnetns")
CONFIGURATION: Final = Path("/etc/frr")
SOCKETS: Final = Path("/var/run/frr")


def check_configuration(path: Path) -> None:
    """Raise LabError unless ``vtysh -C`` accepts a configuration file; no daemon is needed."""
    run(["vtysh", "-C", "-f", str(path)])


def make_folders(pathspace: str, configuration: str) -> None:
    """Make the folders of a pathspace, with its configuration in place, all FRR's own.

    Args:
        pathspace: The namespace's name.
        configuration: The text of frr.conf.

    Raises:
        LabError: there is no user frr, or we may not.
    """
    try:
        user = pwd.getpwnam("frr")
        folders = (CONFIGURATION / pathspace, SOCKETS / pathspace)
        for folder in folders:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        (CONFIGURATION / pathspace / "frr.conf").write_text(configuration, encoding="ascii")
        shell = "service integrated-vtysh-config\n"
        (CONFIGURATION / pathspace / "vtysh.conf").write_text(shell, encoding="ascii")
        for folder in folders:
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, user.pw_uid, user.pw_gid)
    except KeyError as error:
        raise LabError(
            what="FRR's user 'frr' does not exist",
            remedy="apt-get install frr (Debian's name for it)",
        ) from error
    except OSError as error:
        raise LabError(
            what=f"FRR's folders cannot be made ({error})", remedy="run it as root"
        ) from error


def remove_folders(prefix: str) -> None:
    """Remove the folders of every pathspace whose name begins with *prefix*."""
    assert len(prefix) > 3, "every pathspace of the machine would do"
    for base in (CONFIGURATION, SOCKETS):
        for folder in base.glob(f"{prefix}*"):
            shutil.rmtree(folder, ignore_errors=True)


def start_daemon(
    daemon: str, pathspace: str, *, output: Path, env: Mapping[str, str], zebra: int = 0
) -> Running:
    """Start one daemon of a switch in the namespace that its pathspace is named after.

    VRFs are namespaces that only the daemons of their switch see; so zebra comes first, and the
    others join it.

    Args:
        daemon: One of :data:`DAEMONS`.
        pathspace: The namespace's name.
        output: The file for what it prints; its log lies beside its sockets, as it runs as
            user frr, who may not write to our folders.
        env: The lab's mark.
        zebra: The process that the others join.

    Raises:
        LabError: it is not installed, or cannot be started.
    """
    if daemon == "zebra":
        launch = [sys.executable, "-I", "-S", str(Path(__file__).with_name("frr_launch.py"))]
        place = ["ip", "netns", "exec", pathspace, *launch]
        options = list(ZEBRA_OPTIONS)
    else:
        place = ["nsenter", f"--target={zebra}", "--mount", "--net", "--"]
        options = []
    return start(
        [
            *(*place, find_program(daemon), "-N", pathspace, "-A", "127.0.0.1", *options),
            *("--log", f"file:{SOCKETS / pathspace / daemon}.log"),
        ],
        env=env,
        cwd=Path("/"),
        output=output,
    )


def wait_ready(
    daemon: str, pathspace: str, *, running: Running, output: Path, timeout_s: float = 120.0
) -> None:
    """Return when a daemon listens to vtysh.

    Raises:
        LabError: it ended, or does not in time; the message has the last line that it printed.
    """
    socket = SOCKETS / pathspace / f"{daemon}.vty"

    def ready() -> bool | None:
        if socket.exists():
            return True
        return None if running.is_alive else False

    if not wait_for(ready, timeout_s=timeout_s):
        said = read_tail(output, most_bytes=500).strip().splitlines()
        raise LabError(
            what=f"{daemon} of {pathspace} did not start",
            remedy=f"it said: {said[-1] if said else ''}",
        )


def load_configuration(pathspace: str) -> None:
    """Let the daemons of a pathspace read its frr.conf.

    Raises:
        LabError: a line of it was refused.
    """
    run(vtysh_argv(pathspace, ["-b"]))


def vtysh_argv(pathspace: str, arguments: list[str]) -> list[str]:
    """Return the arguments of ``vtysh`` for one switch."""
    return ["vtysh", "-N", pathspace, *arguments]


def routes(pathspace: str) -> tuple[Route, ...]:
    """Return the IPv4 routes that zebra selected: what FRR believes.

    Raises:
        LabError: zebra does not answer.
    """
    return parse_routes(run(vtysh_argv(pathspace, ["-c", "show ip route json"])))


def fib(namespace: str) -> tuple[Route, ...]:
    """Return the IPv4 routes that the kernel forwards by: what really happens.

    Raises:
        LabError: there is no such namespace.
    """
    return parse_fib(run(["ip", "-n", namespace, "-j", "-4", "route", "show"]))


def peers(pathspace: str) -> tuple[Peer, ...]:
    """Return the BGP sessions of a switch.

    Raises:
        LabError: bgpd does not answer.
    """
    return parse_peers(run(vtysh_argv(pathspace, ["-c", "show bgp ipv4 unicast summary json"])))
