"""Zero-touch provisioning: what DHCP and HTTP servers give to switches that boot first."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.app.deploy.files import MANIFEST, manifest_text
from netloom.app.deploy.folder import write_folder
from netloom.app.deploy.run import deployment_of
from netloom.errors import SpecError
from netloom.formats.zero_touch.kea import BootReservation, kea_text
from netloom.formats.zero_touch.macs import parse_macs
from netloom.ops.deploy.management import management_address
from netloom.ops.switch_systems import files_of, system_of
from netloom.results.write import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.app.deploy.run import Deployment
    from netloom.ops.deploy.intent import Intent
    from netloom.ops.switch_systems import Day0
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.spec.site.section import ManagementSettings, ZeroTouchSettings

__all__ = ["ZeroTouchReport", "ztp"]

KEA: Final = "kea/kea-dhcp4.conf"
_VARIABLE: Final = re.compile(r"\$\{([A-Z][A-Z0-9_]{0,63})\}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZeroTouchReport:
    """The files of zero-touch provisioning.

    Attributes:
        files: The content of each, by its path.
        variables: Secrets that ``envsubst`` must put in before the folder is served.
        unreserved: Switches of which no MAC address is known.
        folder: Where they were written; empty where they were not.
        removed: Files of an earlier one that were removed there.
    """

    files: Mapping[str, str]
    variables: tuple[str, ...]
    unreserved: tuple[str, ...]
    folder: str = ""
    removed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/zero-touch.md documents; files by name only."""
        return {
            "folder": self.folder,
            "files": sorted(self.files),
            "variables": list(self.variables),
            "unreserved": list(self.unreserved),
            "removed": list(self.removed),
        }


def ztp(
    scenario: Scenario | Deployment,
    macs: Path,
    *,
    out: Path | None = None,
    catalog: Catalog | None = None,
) -> ZeroTouchReport:
    """Return what switches that boot for the first time are given, and write it to a folder.

    >>> import netloom as nl
    >>> ztp(nl.load("cluster.yaml"), Path("macs.csv")).unreserved  # doctest: +SKIP

    Args:
        scenario: Its cluster and ``site`` matter.
        macs: A CSV file: the name of each switch and the MAC address of its management port.
        out: The folder to write to: ``kea/`` for the DHCP server, ``http/`` for the web server.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: the scenario does not say where files are served, or the list is wrong.
        OutputError: a file cannot be written.
    """
    intent = deployment_of(scenario, catalog).intent
    management, settings = _asked(intent)
    known = _macs(macs, intent)
    files: dict[str, str] = {}
    reservations: list[BootReservation] = []
    for number in range(len(intent.site.nics), len(intent.site.plant.devices)):
        name = intent.site.hostnames[number]
        found = _day0(intent, number, f"{settings.url}/{name}", management.gateway)
        if found is not None:
            files |= {f"http/{name}/{file}": text for file, text in found.files.items()}
        if name in known:
            reservations.append(_reservation(intent, number, known[name], settings.url, found))
    files[KEA] = kea_text(
        reservations,
        site=intent.site.scenario.site,
        management=management,
        interface=settings.interface,
    )
    files[MANIFEST] = manifest_text(files)
    switches = intent.site.hostnames[len(intent.site.nics) :]
    report = ZeroTouchReport(
        files=files,
        variables=tuple(sorted({v for text in files.values() for v in _VARIABLE.findall(text)})),
        unreserved=tuple(name for name in switches if name not in known),
    )
    if out is None:
        return report
    return replace(report, folder=str(out), removed=write_folder(out, files, write_atomically))


def _asked(intent: Intent) -> tuple[ManagementSettings, ZeroTouchSettings]:
    site = intent.site.scenario.site
    if intent.underlay is None:
        raise SpecError(
            key="cluster.fabric.technology",
            what="switches of InfiniBand are set up by their subnet manager",
            remedy="use 'deploy render'",
        )
    if site.management is None or site.zero_touch is None:
        missing = "management" if site.management is None else "zero_touch"
        remedy = {
            "management": "add 'management: {network: 10.0.0.0/22, gateway: 10.0.0.1}'",
            "zero_touch": "add 'zero_touch: {url: http://10.0.0.2/day0}'",
        }[missing]
        raise SpecError(key=f"site.{missing}", what="missing", remedy=remedy)
    return site.management, site.zero_touch


def _macs(path: Path, intent: Intent) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error})", remedy="name another file"
        ) from error
    found = parse_macs(text, str(path))
    strangers = found.keys() - set(intent.site.hostnames[len(intent.site.nics) :])
    if strangers:
        raise SpecError(
            file=str(path),
            what=f"{min(strangers)} is no switch of the scenario",
            remedy="use the names of 'deploy render': leaf000, spine000",
        )
    return found


def _day0(intent: Intent, number: int, url: str, gateway: str) -> Day0 | None:
    system = system_of(intent, number)
    if system.day0 is None:
        return None
    texts = {file.name: file.render(intent, number) for _, file, _ in files_of(intent, number)}
    return system.day0(texts, url, gateway)


def _reservation(
    intent: Intent, number: int, mac: str, url: str, found: Day0 | None
) -> BootReservation:
    address = management_address(intent, number)
    assert address is not None
    name = intent.site.hostnames[number]
    return BootReservation(
        hostname=name,
        mac=mac,
        address=address,
        option=found.option if found else "",
        url=f"{url}/{name}/{found.boots}" if found else "",
    )
