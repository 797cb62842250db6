"""Network namespaces, the virtual cables between them, their shapers and their packet filters.

All of it needs root. Commands to iproute2 go in batches, one process for many.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import run
from netloom.errors import LabError
from netloom.formats.linux.netfilter import DropRule, Interface, parse_interfaces, render_filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "End",
    "add",
    "batch",
    "cable_commands",
    "check_root",
    "clear_loss",
    "configure",
    "exec_argv",
    "inside",
    "interfaces",
    "namespaces",
    "remove",
    "set_carrier",
    "set_loss",
    "set_rate",
    "shape_argv",
]

FOLDER: Final = Path("/run/netns")
CLONE_NEWNET: Final = 0x4000_0000  # Linux sched.h
MTU_BYTES: Final = 9000  # jumbo frames, as RoCE networks run
BURST_BYTES: Final = 64 * 1024
QUEUE_BYTES: Final = 400 * 1024
# A host has one way out; a switch forwards, hashes flows by their ports as RoCE switches do, and
# answers at once on addresses it just got.
SYSCTLS: Final = {
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.default.ignore_routes_with_linkdown": "1",
    "net.ipv4.fib_multipath_hash_policy": "1",
    "net.ipv6.conf.default.accept_dad": "0",
}
FORWARDING: Final = ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a virtual cable: an interface in a namespace."""

    namespace: str
    interface: str


def check_root() -> None:
    """Raise LabError unless we may make namespaces."""
    if os.geteuid() != 0:
        raise LabError(
            what="a RoCE lab makes network namespaces, which needs root",
            remedy="run it with sudo, or try a scenario with InfiniBand, which needs no privileges",
        )


def namespaces(prefix: str) -> tuple[str, ...]:
    """Return the namespaces whose names begin with *prefix*."""
    assert len(prefix) > 3, "every namespace of the machine would do"
    try:
        return tuple(sorted(p.name for p in FOLDER.iterdir() if p.name.startswith(prefix)))
    except OSError:
        return ()


def batch(commands: Iterable[Sequence[str]], *, namespace: str = "") -> None:
    """Run commands of ``ip`` in one process.

    Raises:
        LabError: one of them failed; those after it were not run.
    """
    text = "".join(f"{' '.join(command)}\n" for command in commands)
    if text:
        inside = ["-n", namespace] if namespace else []
        run(["ip", *inside, "-batch", "-"], text=text, timeout_s=120.0)


def add(names: Sequence[str]) -> None:
    """Make namespaces."""
    batch(["netns", "add", name] for name in names)


def remove(names: Sequence[str]) -> None:
    """Remove namespaces, and with them their interfaces."""
    batch(["netns", "del", name] for name in names)


def exec_argv(namespace: str, argv: Sequence[str]) -> list[str]:
    """Return the arguments that run *argv* inside a namespace."""
    return ["ip", "netns", "exec", namespace, *argv]


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Let this thread's new sockets belong to a namespace.

    Raises:
        LabError: it is gone, or we may not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        there = os.open(FOLDER / namespace, os.O_RDONLY)
    except OSError as error:
        os.close(home)
        raise LabError(
            what=f"namespace {namespace} is gone", remedy="bring the lab up again"
        ) from error
    try:
        if libc.setns(there, CLONE_NEWNET):
            raise LabError(
                what=f"namespace {namespace}: {os.strerror(ctypes.get_errno())}",
                remedy="run it as root",
            )
        yield
    finally:
        back = libc.setns(home, CLONE_NEWNET)
        os.close(there)
        os.close(home)
        assert back == 0, "we are lost in another namespace"


def configure(namespace: str, *, forwards: bool) -> None:
    """Set what a device's kernel does with packets."""
    settings = {**SYSCTLS, **dict.fromkeys(FORWARDING, str(int(forwards)))}
    pairs = [f"{key}={value}" for key, value in settings.items()]
    run(exec_argv(namespace, ["sysctl", "-q", "-w", *pairs]))


def cable_commands(one: End, other: End) -> list[list[str]]:
    """Return what ``ip`` must do to put a cable between two namespaces; it is then up."""
    ends = [
        ["name", end.interface, "netns", end.namespace, "mtu", str(MTU_BYTES)]
        for end in (one, other)
    ]
    return [["link", "add", *ends[0], "type", "veth", "peer", *ends[1]]]


def shape_argv(interface: str, rate_bps: float) -> list[str]:
    """Return the command of ``tc`` that limits what an interface sends."""
    limits = ["rate", f"{round(rate_bps)}bit", "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES)]
    return ["qdisc", "replace", "dev", interface, "root", "tbf", *limits]


def set_rate(end: End, rate_bps: float) -> None:
    """Limit what one end of a cable sends."""
    run(["tc", "-n", end.namespace, *shape_argv(end.interface, rate_bps)])


def shape(namespace: str, rates_bps: dict[str, float]) -> None:
    """Limit what the interfaces of a namespace send, all in one process."""
    lines = [" ".join(shape_argv(name, rate_bps)) for name, rate_bps in rates_bps.items()]
    run(["tc", "-n", namespace, "-batch", "-"], text="".join(f"{line}\n" for line in lines))


def set_carrier(end: End, *, up: bool) -> None:
    """Enable or disable one end of a cable; the other end sees its carrier come or go."""
    batch([["link", "set", "dev", end.interface, "up" if up else "down"]], namespace=end.namespace)


def set_loss(namespace: str, losses: Sequence[DropRule]) -> None:
    """Drop what *losses* say, and nothing else, at the interfaces of a namespace."""
    run(exec_argv(namespace, ["nft", "-f", "-"]), text=render_filter(losses))


def clear_loss(namespace: str) -> None:
    """Drop nothing any more."""
    set_loss(namespace, ())


def interfaces(namespace: str) -> tuple[Interface, ...]:
    """Return the interfaces of a namespace with their counters.

    Raises:
        LabError: there is no such namespace.
    """
    return parse_interfaces(run(["ip", "-n", namespace, "-j", "-s", "link", "show"]))
