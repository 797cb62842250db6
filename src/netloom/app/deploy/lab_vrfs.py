"""The VRFs of a lab's switch: namespaces beside its own, with the ports and tunnels of tenants.

On a switch with VRF devices a port is put into one. Here each VRF is a namespace that only the
switch's daemons see (zebra ``-n``), which kernels without VRF devices have too, and a port's
twin is put into it: a macvlan in passthru mode, which takes all that comes in at the port and
leaves the port itself, its shaper, its filter and its carrier where they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netloom.drivers import frr, netns
from netloom.drivers.programs import run, wait_for
from netloom.errors import LabError
from netloom.formats.frr import state
from netloom.ops.deploy.overlay import VXLAN_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from ipaddress import IPv4Address

    from netloom.formats.frr.state import Route

__all__ = ["Flood", "HostPort", "LabVrf", "LabVrfs", "Rooms", "parse_room"]

VXLAN_PORT: Final = 4789  # RFC 7348, section 5
NOTICED_S: Final = 120.0  # zebra looks once a second for a new namespace
TTL: Final = 64
ARP_NEVER: Final = 8  # Linux ip-sysctl, arp_ignore: answer for no local address
FLOOD_KEY: Final = "00:00:00:00:00:00"  # the key of a tunnel's flood list
_KINDS: Final = ("bridge", "vxlan")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LabVrf:
    """A VRF with its tunnel; of one half made, the VNI is 0."""

    name: str
    vni: int

    def __str__(self) -> str:
        """Return it as plans show it."""
        return f"kernel / vrf {self.name} / vni {self.vni}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Flood:
    """Where a VRF's tunnel sends what is for everybody: a leaf that has the VRF too."""

    vrf: str
    leaf: str

    def __str__(self) -> str:
        """Return it as plans show it."""
        return f"kernel / vrf {self.vrf} / leaf {self.leaf}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class HostPort:
    """A host's port: in a VRF, in the switch's own where that is empty, or off without address."""

    name: str
    vrf: str
    address: str

    def __str__(self) -> str:
        """Return it as plans show it."""
        where = f"vrf {self.vrf or 'default'} / {self.address}" if self.address else "off"
        return f"kernel / port {self.name} / {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """All VRFs of a switch, and where its hosts' ports are."""

    rooms: frozenset[LabVrf]
    floods: frozenset[Flood]
    ports: frozenset[HostPort]

    def without(self, other: Rooms) -> tuple[LabVrf | Flood | HostPort, ...]:
        """Return what is here and not in *other*, in order."""
        return (
            *sorted(self.rooms - other.rooms),
            *sorted(self.floods - other.floods),
            *sorted(self.ports - other.ports),
        )

    @property
    def names(self) -> frozenset[str]:
        """The VRFs' names."""
        return frozenset(room.name for room in self.rooms)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabVrfs:
    """How a lab's switch is to be divided.

    Attributes:
        pathspace: Its namespace.
        zebra: The process whose view of namespaces its daemons share.
        loopback: Where its tunnels end.
        wanted: How it shall be.
    """

    pathspace: str
    zebra: int
    loopback: IPv4Address
    wanted: Rooms

    def difference(self) -> tuple[str, ...]:
        """Return what would change, a line each.

        Raises:
            LabError: the switch is not there.
        """
        held, wanted = self.held(), self.wanted
        old, new = held.without(wanted), wanted.without(held)
        return (*(f"- {one}" for one in old), *(f"+ {one}" for one in new))

    def held(self) -> Rooms:
        """Return how it is.

        Raises:
            LabError: the switch is not there.
        """
        wanted = {port.name for port in self.wanted.ports}
        own = _rows(run(["ip", "-n", self.pathspace, "-j", "addr", "show"]))
        rooms, floods, seated = [], list[Flood](), {}
        for name in self._names():
            room, inside = parse_room(name, self._ip("-n", name, "-j", "-d", "addr", "show"))
            rooms.append(room)
            floods += self._floods(room)
            seated.update({port.name: port for port in inside})
        ports = (seated.get(row["ifname"]) or _own(row) for row in own if row["ifname"] in wanted)
        return Rooms(rooms=frozenset(rooms), floods=frozenset(floods), ports=frozenset(ports))

    def _floods(self, room: LabVrf) -> list[Flood]:
        if not room.vni:
            return []
        said = self._view(["bridge", "-n", room.name, "-j", "fdb", "show", "dev", f"vx{room.vni}"])
        leaves = (row.get("dst") for row in _rows(said) if row.get("mac") == FLOOD_KEY)
        return [Flood(vrf=room.name, leaf=str(leaf)) for leaf in leaves if leaf]

    def routes(self, vrf: str) -> tuple[Route, ...]:
        """Return the IPv4 routes that the kernel forwards by in a VRF.

        Raises:
            LabError: there is no such VRF.
        """
        return state.parse_fib(self._ip("-n", vrf, "-j", "-4", "route", "show"))

    def prepare(self, wanted: Rooms) -> None:
        """Make the VRFs that *wanted* has, and put ports where it has them.

        VRFs that it has not stay until :meth:`finish`, since FRR must forget them first.

        Raises:
            LabError: the kernel refuses, or zebra does not notice.
        """
        held = self.held()
        old = {room.name: room for room in held.rooms}
        for room in sorted(wanted.rooms - held.rooms):
            self._make(room, is_there=room.name in old)
            self._tell(room, old.get(room.name, room))
        self._flood(wanted)
        moving = {port.name for port in wanted.ports - held.ports}
        for port in sorted(held.ports):
            if port.name in moving and port.vrf:
                self._inside(port.vrf, [["link", "del", port.name]])
        for port in sorted(wanted.ports - held.ports):
            self._seat(port)

    def _flood(self, wanted: Rooms) -> None:
        """Let tunnels lead to the leaves that *wanted* has."""
        held, vnis = self.held(), {room.name: room.vni for room in wanted.rooms}
        changes = [("append", flood) for flood in sorted(wanted.floods - held.floods)]
        changes += [("del", flood) for flood in sorted(held.floods - wanted.floods)]
        for act, flood in changes:
            if flood.vrf in vnis:
                where = ["dev", f"vx{vnis[flood.vrf]}", "dst", flood.leaf, "self", "permanent"]
                self._view(["bridge", "-n", flood.vrf, "fdb", act, FLOOD_KEY, *where])

    def finish(self, wanted: Rooms) -> None:
        """Remove the VRFs that *wanted* has not.

        Raises:
            LabError: the kernel refuses.
        """
        stale = sorted(self.held().names - wanted.names)
        for name in stale:
            self._ip("netns", "del", name)
        if stale and not wait_for(lambda: self._noticed(stale, here=False), timeout_s=NOTICED_S):
            raise LabError(
                what=f"{self.pathspace}: zebra still has {', '.join(stale)}", remedy="see its log"
            )

    def stubs(self, wanted: Rooms) -> str:
        """Return what frr.conf must still say of VRFs that *wanted* has not.

        zebra 8.4.4 ends when a namespace goes that its VRF was told to let go before.
        """
        names = sorted(self.held().names - wanted.names)
        stubs = (["vrf " + name, frr.namespace_line(name), "exit-vrf", ""] for name in names)
        return "".join("\n".join(stub) for stub in stubs)

    def _names(self) -> list[str]:
        folder = Path(f"/proc/{self.zebra}/root{netns.FOLDER}")
        try:
            return sorted(path.name for path in folder.iterdir())
        except OSError as error:
            raise LabError(
                what=f"{self.pathspace}: its zebra is gone ({error.strerror})",
                remedy="bring the lab up",
            ) from error

    def _make(self, room: LabVrf, *, is_there: bool) -> None:
        """Make a VRF, or what is missing of it.

        zebra must know the namespace before anything is in it: of links that it finds there it
        mistakes which bridge they belong to. The bridge's MAC address is what others send to, so
        it does not change with what is plugged in; its number is not another bridge's.

        zebra 8.4.4 forgets the MAC address of a leaf when a route to it changes: it handles the
        old one's going after the new one's coming. So tunnels can ask for it: the bridge has the
        address of the tunnel's end, and what is for everybody goes to all leaves with the VRF.
        """
        if not is_there:
            self._ip("netns", "add", room.name)
        if not wait_for(lambda: self._noticed([room.name], here=True), timeout_s=NOTICED_S):
            raise LabError(
                what=f"{self.pathspace}: zebra does not see {room.name}", remedy="see its log"
            )
        settings = {**netns.SYSCTLS, **dict.fromkeys(netns.FORWARDING, "1")}
        pairs = [f"{key}={value}" for key, value in settings.items()]
        self._view(["ip", "netns", "exec", room.name, "sysctl", "-q", "-w", *pairs])
        self._clear(room.name)
        bridge, tunnel, mtu = f"br{room.vni}", f"vx{room.vni}", str(netns.MTU_BYTES - VXLAN_BYTES)
        mac = ":".join(f"{byte:02x}" for byte in (0x02, 0x6E, *self.loopback.packed))
        self._inside(
            room.name,
            [
                ["link", "set", "lo", "up"],
                [
                    *("link", "add", "index", str(room.vni), "name", bridge, "mtu", mtu),
                    *("address", mac, "type", "bridge", "stp_state", "0"),
                ],
                ["link", "set", bridge, "addrgenmode", "none", "up"],
                ["addr", "add", f"{self.loopback}/32", "dev", bridge],
            ],
        )
        self._outside(self._tunnel(room, tunnel, mtu))
        self._inside(
            room.name,
            [
                ["link", "set", tunnel, "master", bridge, "addrgenmode", "none"],
                ["link", "set", tunnel, "up"],
            ],
        )

    def _tell(self, room: LabVrf, old: LabVrf) -> None:
        """Tell zebra the VNI of a VRF.

        Done here and not left to frr-reload.py 8.4.4: where it has lines for ``router bgp`` too,
        it may put ``vrf NAME`` after them without leaving that block, where it begins a policy.
        """
        forget = ["-c", f"no vni {old.vni}"] if old.vni not in (0, room.vni) else []
        lines = ["-c", "configure terminal", "-c", f"vrf {room.name}", *forget]
        run(frr.vtysh_argv(self.pathspace, [*lines, "-c", f"vni {room.vni}"]))

    def _tunnel(self, room: LabVrf, name: str, mtu: str) -> list[list[str]]:
        """Return the commands for a tunnel: it keeps the class of packets, and marks on them."""
        ends = ["local", str(self.loopback), "dstport", str(VXLAN_PORT)]
        marks = ["tos", "inherit", "ttl", str(TTL)]
        kind = ["type", "vxlan", "id", str(room.vni), *ends, *marks]
        return [
            ["link", "add", name, "mtu", mtu, *kind],
            ["link", "set", name, "netns", room.name],
        ]

    def _clear(self, name: str) -> None:
        """Remove the bridge and the tunnel that a namespace may have of an earlier try."""
        rows = _rows(self._ip("-n", name, "-j", "-d", "link", "show"))
        stale = [row["ifname"] for row in rows if _kind(row) in _KINDS]
        self._inside(name, [["link", "del", one] for one in stale])

    def _seat(self, port: HostPort) -> None:
        """Put a port into its VRF; the switch's own stack then answers nothing there."""
        quiet = bool(port.vrf)
        settings = [
            f"net.ipv4.conf.{port.name}.arp_ignore={ARP_NEVER if quiet else 0}",
            f"net.ipv6.conf.{port.name}.disable_ipv6={int(quiet)}",
        ]
        run(netns.exec_argv(self.pathspace, ["sysctl", "-q", "-w", *settings]))
        self._outside([["addr", "flush", "dev", port.name]])
        if quiet:
            twin = ["name", port.name, "netns", port.vrf, "type", "macvlan", "mode", "passthru"]
            self._outside([["link", "add", "link", port.name, *twin]])
            self._inside(port.vrf, _addressed(port))
        elif port.address:
            self._outside(_addressed(port))
        self._outside([["link", "set", port.name, "up" if port.address else "down"]])

    def _noticed(self, names: Sequence[str], *, here: bool) -> bool | None:
        """Return True once zebra has all of *names* as live VRFs, or none of them."""
        said = run(frr.vtysh_argv(self.pathspace, ["-c", "show vrf"]))
        rows = [line.split() for line in said.splitlines()]
        live = {words[1] for words in rows if len(words) > 4 and words[4] == "netns"}
        return True if all((name in live) == here for name in names) else None

    def _ip(self, *arguments: str) -> str:
        return self._view(["ip", *arguments])

    def _view(self, argv: list[str]) -> str:
        """Run a program that sees the namespaces that the switch's daemons see."""
        return run(["nsenter", f"--target={self.zebra}", "--mount", "--net", "--", *argv])

    def _outside(self, commands: list[list[str]]) -> None:
        self._batch([], commands)

    def _inside(self, vrf: str, commands: list[list[str]]) -> None:
        self._batch(["-n", vrf], commands)

    def _batch(self, where: list[str], commands: list[list[str]]) -> None:
        for command in commands:
            self._ip(*where, *command)


def _addressed(port: HostPort) -> list[list[str]]:
    return [
        ["addr", "replace", port.address, "dev", port.name],
        ["link", "set", port.name, "up"],
    ]


def parse_room(name: str, text: str) -> tuple[LabVrf, tuple[HostPort, ...]]:
    """Return what ``ip -j -d addr show`` printed inside a VRF.

    Raises:
        LabError: it is not what that command prints.
    """
    rows = _rows(text)
    try:
        vnis = [int(row["linkinfo"]["info_data"]["id"]) for row in rows if _is_tunnel(row)]
        return LabVrf(name=name, vni=vnis[0] if len(vnis) == 1 else 0), tuple(_seated(name, rows))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"ip -j addr show: what it printed is not understood ({text[:80]!r})"
        raise LabError(message) from error


def _rows(text: str) -> list[dict[str, Any]]:
    """Return what ``ip -j`` or ``bridge -j`` printed."""
    try:
        rows = json.loads(text or "[]")
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        message = f"ip -j: what it printed is not understood ({text[:80]!r})"
        raise LabError(message)
    return rows


def _is_tunnel(row: dict[str, Any]) -> bool:
    """Return whether a row is a tunnel that works: half made ones have no bridge, or are down."""
    return _kind(row) == "vxlan" and "master" in row and "UP" in row["flags"]


def _kind(row: dict[str, Any]) -> str:
    return str(row.get("linkinfo", {}).get("info_kind", ""))


def _seated(vrf: str, rows: list[dict[str, Any]]) -> Iterator[HostPort]:
    for row in rows:
        if _kind(row) == "macvlan":
            address = _address(row) if "UP" in row["flags"] else ""
            yield HostPort(name=str(row["ifname"]), vrf=vrf, address=address)


def _own(row: dict[str, Any]) -> HostPort:
    """Return a port in the switch's own VRF; one with an address may be down for a fault."""
    address = _address(row) or ("no address" if "UP" in row["flags"] else "")
    return HostPort(name=str(row["ifname"]), vrf="", address=address)


def _address(row: dict[str, Any]) -> str:
    found = (one for one in row["addr_info"] if one["family"] == "inet")
    return next((f"{one['local']}/{one['prefixlen']}" for one in found), "")
