"""The Linux kernel: interfaces with their counters, next hops, shapers, and adapters in sysfs.

Parsers take what ``ip -j`` and ``tc -j`` of iproute2 print; the sysfs reader takes the files that
node_exporter reads. An empty namespace is our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import run
from netloom.formats.linux.addresses import HeldAddress, parse_addresses
from netloom.formats.linux.iproute import (
    IpLink,
    NextHop,
    parse_links,
    parse_namespace_ids,
    parse_next_hops,
    parse_shapers,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "AdapterPort",
    "addresses",
    "links",
    "namespace_ids",
    "next_hops",
    "read_adapters",
    "shapers_bps",
]

MAX_FILE_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterPort:
    """A port of an RDMA adapter, as sysfs has it; counters by the names of their files."""

    device: str
    port: int
    is_active: bool
    rate_bps: float | None
    counters: dict[str, int]


def links(namespace: str = "") -> tuple[IpLink, ...]:
    """Return the interfaces of a namespace with what they counted.

    Raises:
        LabError: there is no such namespace.
    """
    return parse_links(run(["ip", *_inside(namespace), "-j", "-s", "-s", "link", "show"]))


def addresses(namespace: str = "") -> tuple[HeldAddress, ...]:
    """Return the IPv4 addresses of a namespace, but for loopback ones.

    Raises:
        LabError: there is no such namespace.
    """
    return parse_addresses(run(["ip", *_inside(namespace), "-j", "-4", "addr", "show"]))


def next_hops(namespace: str = "") -> tuple[NextHop, ...]:
    """Return the next-hop objects of a namespace.

    Raises:
        LabError: there is no such namespace.
    """
    return parse_next_hops(run(["ip", *_inside(namespace), "-j", "nexthop", "show"]))


def namespace_ids(namespace: str) -> dict[int, str]:
    """Return what other namespaces are called in *namespace*, by number.

    Raises:
        LabError: there is no such namespace.
    """
    return parse_namespace_ids(run(["ip", *_inside(namespace), "-j", "netns", "list-id"]))


def shapers_bps(namespace: str = "") -> dict[str, float]:
    """Return what each shaped interface of a namespace may send.

    Raises:
        LabError: there is no such namespace.
    """
    return parse_shapers(run(["tc", *_inside(namespace), "-j", "qdisc", "show"]))


def _inside(namespace: str) -> list[str]:
    return ["-n", namespace] if namespace else []


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
