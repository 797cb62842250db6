"""Operating systems of switches by name: what they are told, read back, and call their ports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.isolation import SwitchPorts, SwitchRoutes
    from netloom.ops.deploy.ports import PortQos
    from netloom.ops.deploy.rules import SwitchQos
    from netloom.ops.plant import Port
    from netloom.ops.site import Site
    from netloom.parts.parts import Switch

__all__ = ["SWITCH_SYSTEMS", "PortLabels", "SwitchFile", "SwitchOs", "switch_files"]

LANES_A_CAGE: Final = 8  # of QSFP-DD and OSFP


@dataclass(frozen=True, slots=True, kw_only=True)
class PortLabels:
    """How what stands beside a port becomes its number.

    Attributes:
        pattern: Of a whole label. Its groups give the cage counted from 1 (``cage``) or from 0
            (``zero``), or the first lane of the port among all lanes (``lanes``); and in a split
            cage the port by its number (``way``), from 0 (``from_zero``), or by the first of its
            lanes (``lane``).
        default_ways: Ports that a cage is split into unless told; for ``lanes`` the lanes a port.
    """

    pattern: str
    default_ways: int = 1

    def number(self, label: str, ways: int) -> int | None:
        """Return the number of a port, counted from 1; None where it is no such label.

        Args:
            label: As printed.
            ways: Ports that each cage is split into; with ``lanes``, the lanes of each port.
        """
        match = re.fullmatch(self.pattern, label, re.ASCII)
        groups = match.groupdict() if match else {}
        found = {key: int(text) for key, text in groups.items() if text}
        if "lanes" in found and found["lanes"] % ways == 0:
            return found["lanes"] // ways + 1
        cage = found.get("cage", found.get("zero", -2) + 1)
        way = _way(found, ways)
        return (cage - 1) * ways + way if cage >= 1 and 1 <= way <= ways else None


def _way(found: Mapping[str, int], ways: int) -> int:
    if "lane" in found:  # a port of two lanes or four goes by the first of them
        return (found["lane"] - 1) * ways // LANES_A_CAGE + 1
    return found.get("way", found.get("from_zero", 0) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchFile:
    """One file of a switch.

    Attributes:
        name: Its path in the folder of the switch: ``sonic/config_db.json``.
        render: Returns its text for a switch of the plant; empty where the switch needs none.
        read_routes: Returns what it announces and takes in, VRF by VRF.
        read_hosts: Returns where it puts ports with addresses.
        read_qos: Returns what it says of queues and buffers.
        read_ports: Returns what it says of each port, by the port's name.
        read_asn: Returns its autonomous system; None where it has none.
        checked_by: The program that can say whether it is well formed: ``vtysh``, ``yanglint``.
    """

    name: str
    render: Callable[[Intent, int], str]
    read_routes: Callable[[str, str], SwitchRoutes] | None = None
    read_hosts: Callable[[str, str], SwitchPorts] | None = None
    read_qos: Callable[[str, str], SwitchQos] | None = None
    read_ports: Callable[[str, str], Mapping[str, PortQos]] | None = None
    read_asn: Callable[[str], int | None] | None = None
    checked_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchOs:
    """One operating system.

    Attributes:
        name: What ``--labels`` calls it.
        title: What people call it.
        asics: What names of ASICs that it runs on begin with; an empty one means any.
        vendors: Whose switches it runs on; empty for anybody's.
        port_name: Returns what it calls a port of a switch.
        labels: How it numbers them.
        files: What it is told; empty where netloom does not write for it.
    """

    name: str
    title: str
    asics: tuple[str, ...]
    vendors: tuple[str, ...]
    port_name: Callable[[Site, Port], str]
    labels: PortLabels
    files: tuple[SwitchFile, ...]

    def runs_on(self, switch: Switch) -> bool:
        """Return whether a switch of the catalogue can run it."""
        is_vendor = not self.vendors or switch.vendor in self.vendors
        return is_vendor and switch.asic.startswith(self.asics)


SWITCH_SYSTEMS: Final = Register[SwitchOs](
    kind="switch system",
    traits=SwitchOs,
    home="netloom.formats.switch_systems",
    entry_point_group="netloom.switch_systems",
)


def switch_files() -> Iterator[tuple[SwitchOs, SwitchFile]]:
    """Yield every file that netloom writes for a switch, with the system that reads it."""
    for system in SWITCH_SYSTEMS.entries():
        for file in system.files:
            yield system, file
