"""Operating systems of switches by name: what they are told, read back, and call their ports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from netloom.ops.deploy.device import DeviceConfig
    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.isolation import SwitchPorts, SwitchRoutes
    from netloom.ops.deploy.ports import PortQos
    from netloom.ops.deploy.rules import SwitchQos
    from netloom.ops.deploy.structure import Setting
    from netloom.ops.plant import Port
    from netloom.ops.site import Site
    from netloom.parts.parts import Switch

__all__ = [
    "SWITCH_SYSTEMS",
    "Day0",
    "PortLabels",
    "SwitchFile",
    "SwitchOs",
    "default_system",
    "files_of",
    "settings_reader",
    "switch_files",
    "system_of",
]

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
        read_device: Returns the switch that it describes, written by netloom or not.
        settings: Returns its settings with their places, so that files compare by what they say.
        is_like: Returns whether a text is of this kind.
        checked_by: The program that can say whether it is well formed: ``vtysh``, ``yanglint``.
    """

    name: str
    render: Callable[[Intent, int], str]
    read_routes: Callable[[str, str], SwitchRoutes] | None = None
    read_hosts: Callable[[str, str], SwitchPorts] | None = None
    read_qos: Callable[[str, str], SwitchQos] | None = None
    read_ports: Callable[[str, str], Mapping[str, PortQos]] | None = None
    read_asn: Callable[[str], int | None] | None = None
    read_device: Callable[[str, str], DeviceConfig] | None = None
    settings: Callable[[str], list[Setting]] | None = None
    is_like: Callable[[str], bool] | None = None
    checked_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day0:
    """What a switch fetches when it boots for the first time.

    Attributes:
        option: The DHCP option, by Kea's name, that tells it where to begin.
        boots: The file that the option names.
        files: All that it fetches, by name.
    """

    option: str
    boots: str
    files: Mapping[str, str]


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
        day0: Returns what it fetches at first, of the texts of its files by name, the URL of its
            folder and the gateway of its management port; None where it
            has none.
    """

    name: str
    title: str
    asics: tuple[str, ...]
    vendors: tuple[str, ...]
    port_name: Callable[[Site, Port], str]
    labels: PortLabels
    files: tuple[SwitchFile, ...]
    day0: Callable[[Mapping[str, str], str, str], Day0] | None = None

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


def default_system(switch: Switch) -> SwitchOs:
    """Return the system that a switch of the catalogue is taken to run.

    That of its vendor before one for its ASIC, and that before one for any: Cumulus Linux on
    NVIDIA's, EOS on Arista's, SONiC on others whose ASIC it knows, and else Linux with FRR.
    """
    found = [one for one in SWITCH_SYSTEMS.entries() if one.files and one.runs_on(switch)]
    return min(found, key=lambda one: (not one.vendors, "" in one.asics, one.name))


def system_of(intent: Intent, number: int) -> SwitchOs:
    """Return the operating system of switch *number* of the plant.

    What the scenario's ``site`` says of the switch itself, of its kind, or of all; else that of
    the catalogue's switch.

    Raises:
        SpecError: netloom writes no files for the system that the scenario names.
    """
    site, asked = intent.site, intent.site.scenario.site
    kind = site.plant.devices[number].name.partition(":")[0]
    for key, name in (
        (f"site.systems.{site.hostnames[number]}", asked.systems.get(site.hostnames[number])),
        (f"site.systems.{kind}", asked.systems.get(kind)),
        ("site.system", asked.system),
    ):
        if name is not None:
            return _written(name, key)
    return default_system(site.network.design.switch)


def _written(name: str, key: str) -> SwitchOs:
    known = [one.name for one in SWITCH_SYSTEMS.entries() if one.files]
    if name not in known:
        raise SpecError(
            key=key,
            what=f"netloom writes no files for {name!r}",
            remedy=f"use one of {', '.join(known)}",
        )
    return SWITCH_SYSTEMS.get(name)


def files_of(intent: Intent, number: int) -> Iterator[tuple[SwitchOs, SwitchFile, str]]:
    """Yield the files of a switch with its system, and their paths in a deployment."""
    system = system_of(intent, number)
    for file in system.files:
        yield system, file, f"switches/{intent.site.hostnames[number]}/{file.name}"


def settings_reader(path: str) -> Callable[[str], list[Setting]] | None:
    """Return what reads the settings of a switch's file, by its path; None where nothing does."""
    names = {file.name: file.settings for _, file in switch_files()}
    # The longest name that fits: sonic/frr.conf is no frr.conf of another system.
    fitting = (name for name in names if path.endswith(f"/{name}"))
    best = max(fitting, key=len, default="")
    return names.get(best)
