"""The Linux kernel: interfaces, routes and queues by rtnetlink(7), and adapters in sysfs.

A look asks every device of a lab; so no program is started. The sysfs reader takes the files that
node_exporter reads.
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.drivers.netns import FOLDER, inside
from netloom.errors import LabError
from netloom.formats.linux import rtnetlink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from ipaddress import IPv4Interface
    from pathlib import Path

    from netloom.formats.linux.rtnetlink import (
        IpLink,
        KernelRoute,
        PolicyRule,
        QueueCounts,
        UdpFlow,
    )

__all__ = [
    "AdapterPort",
    "DeviceState",
    "ForwardingState",
    "device_state",
    "forwarding_state",
    "namespace_ids",
    "queue_counts",
    "read_adapters",
    "ways_out",
]

MAX_FILE_BYTES: Final = 4096
MAX_ANSWERS: Final = 10_000
ANSWER_BYTES: Final = 1 << 16
PATIENCE_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """Interfaces and addresses of one device.

    Attributes:
        links: Its interfaces with what they counted.
        addresses: IPv4, but for loopback ones.
    """

    links: tuple[IpLink, ...]
    addresses: tuple[IPv4Interface, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingState:
    """What one device forwards by.

    Attributes:
        routes: Of IPv4.
        rules: By which packets do not follow the main table.
        num_unusable: Next-hop objects that lead nowhere.
    """

    routes: tuple[KernelRoute, ...]
    rules: tuple[PolicyRule, ...]
    num_unusable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterPort:
    """A port of an RDMA adapter, as sysfs has it; counters by the names of their files."""

    device: str
    port: int
    is_active: bool
    rate_bps: float | None
    counters: dict[str, int]


def device_state(namespace: str) -> DeviceState:
    """Return interfaces and addresses of a namespace.

    Raises:
        LabError: there is no such namespace.
    """
    with inside(namespace), _line() as line:
        return DeviceState(
            links=rtnetlink.parse_links(_all(line, rtnetlink.LINKS)),
            addresses=rtnetlink.parse_addresses(_all(line, rtnetlink.ADDRESSES)),
        )


def forwarding_state(namespace: str) -> ForwardingState:
    """Return what a namespace forwards by.

    Raises:
        LabError: there is no such namespace.
    """
    with inside(namespace), _line() as line:
        names = dict(socket.if_nameindex())
        return ForwardingState(
            routes=rtnetlink.parse_routes(_all(line, rtnetlink.ROUTES), names),
            rules=rtnetlink.parse_rules(_all(line, rtnetlink.RULES)),
            num_unusable=rtnetlink.parse_unusable(_all(line, rtnetlink.NEXT_HOPS)),
        )


def namespace_ids(namespace: str, others: Iterable[str]) -> dict[int, str]:
    """Return what a namespace calls others, by number; those it does not know are left out.

    Raises:
        LabError: there is no such namespace.
    """
    found: dict[int, str] = {}
    with inside(namespace), _line() as line:
        for name in others:
            with suppress(FileNotFoundError), (FOLDER / name).open("rb") as other:
                line.send(rtnetlink.ask_namespace(other.fileno()))
                number = rtnetlink.parse_namespace(line.recv(ANSWER_BYTES))
                if number is not None:
                    found[number] = name
    return found


def queue_counts(namespace: str) -> dict[str, QueueCounts]:
    """Return what the queues of a namespace's interfaces counted, as ``tc -s qdisc show`` does.

    Raises:
        LabError: there is no such namespace.
    """
    with inside(namespace), _line() as line:
        names = dict(socket.if_nameindex())
        found = rtnetlink.parse_queues(_all(line, rtnetlink.QUEUES))
    return {names[number]: counts for number, counts in found.items() if number in names}


def ways_out(namespace: str, flows: Sequence[UdpFlow]) -> list[str]:
    """Return the interface by which a namespace forwards each flow; empty where it refuses one.

    Raises:
        LabError: there is no such namespace.
    """
    with inside(namespace), _line() as line:
        names = dict(socket.if_nameindex())
        numbers = {name: number for number, name in names.items()}
        ways = []
        for flow in flows:
            if flow.interface not in numbers:
                ways.append("")
                continue
            line.send(rtnetlink.ask_way(flow, numbers[flow.interface]))
            ways.append(names.get(rtnetlink.parse_way(line.recv(ANSWER_BYTES)), ""))
    return ways


@contextmanager
def _line() -> Iterator[socket.socket]:
    """Give a socket to the kernel, of this thread's namespace.

    Raises:
        LabError: the kernel does not answer.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as line:
            line.settimeout(PATIENCE_S)
            line.connect((0, 0))
            yield line
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise LabError(what=f"the kernel does not answer by rtnetlink ({reason})") from error


def _all(line: socket.socket, question: bytes) -> bytes:
    """Return all answers to a question."""
    line.send(question)
    said = bytearray()
    for _ in range(MAX_ANSWERS):
        some = line.recv(ANSWER_BYTES)
        said += some
        if rtnetlink.is_end(some):
            break
    return bytes(said)


def read_adapters(root: Path) -> tuple[AdapterPort, ...]:
    """Return the ports of the RDMA adapters under ``/sys`` or a folder like it.

    What cannot be read is left out; a port without counters is still there.
    """
    folders = sorted((root / "class" / "infiniband").glob("*/ports/[0-9]*"))
    return tuple(_adapter_port(folder) for folder in folders if folder.name.isdigit())


def _adapter_port(folder: Path) -> AdapterPort:
    state, rate = _first_words(folder / "state"), _first_words(folder / "rate")
    files = sorted((folder / "counters").glob("*")) + sorted((folder / "hw_counters").glob("*"))
    found = {path.name: _first_words(path) for path in files}
    return AdapterPort(
        device=folder.parents[1].name,
        port=int(folder.name),
        is_active=state.startswith("4:"),  # "4: ACTIVE"
        rate_bps=_gigabits(rate),
        counters={name: int(text) for name, text in found.items() if _is_count(text)},
    )


def _first_words(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("ascii", errors="replace").strip()
    except OSError:
        return ""


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 20


def _gigabits(text: str) -> float | None:
    """Return the rate in ``400 Gb/sec (4X NDR)``; None where there is none."""
    try:
        return float(text.split(" ", 1)[0]) * 1e9
    except ValueError:
        return None
