"""Judge the files of a deployment with the programs that will read them, and with our own rules."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.app.deploy.devices import check_devices, read_devices
from netloom.app.deploy.subnets import engine_of
from netloom.app.deploy.tenants import check_tenants
from netloom.app.deploy.trial import try_subnets
from netloom.drivers import frr
from netloom.drivers import yanglint as sonic_yang
from netloom.drivers.programs import missing_packages
from netloom.errors import InfeasibleError, LabError, NetloomError
from netloom.formats.infiniband import ibsim_topology
from netloom.formats.infiniband import opensm_policy as opensm_files
from netloom.formats.nccl import host_settings
from netloom.formats.sonic import yang
from netloom.ops.deploy import rules
from netloom.ops.deploy.device import rule_of
from netloom.ops.deploy.overlay import VXLAN_BYTES
from netloom.ops.deploy.ports import PlannedPort, check_nic, check_port, check_strays
from netloom.ops.deploy.rules import Broken
from netloom.ops.site import peer_of
from netloom.ops.switch_systems import switch_files, system_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from netloom.ops.deploy.device import DeviceConfig
    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.ports import PortQos
    from netloom.ops.deploy.rules import SwitchQos
    from netloom.ops.switch_systems import SwitchFile, SwitchOs

__all__ = ["Checks", "check_deployment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What to check with.

    Attributes:
        guid: The port GUIDs that files speak of; the lab's when left out.
        sonic_models: A folder of SONiC's YANG models; without, they are not asked.
        has_programs: Whether to ask real programs: vtysh, OpenSM.
    """

    guid: Callable[[int], int] | None = None
    sonic_models: Path | None = None
    has_programs: bool = True


def check_deployment(
    intent: Intent, files: Mapping[str, str], checks: Checks
) -> tuple[Broken, ...]:
    """Return everything that is wrong with a deployment, errors first.

    Args:
        intent: What was asked for.
        files: By path, as rendered, perhaps changed since.
        checks: What to check with.
    """
    found = [*rules.check_intent(intent)]
    check = _ethernet if intent.underlay is not None else _infiniband
    found += check(intent, files, checks)
    return rules.by_cause(found)


def _infiniband(intent: Intent, files: Mapping[str, str], checks: Checks) -> Iterator[Broken]:
    for path, text in _ending(files, "/partitions.conf"):
        try:
            yield from rules.check_keys(opensm_files.read_keys(text, path), where=path)
        except NetloomError as error:
            yield _error(path, str(error), "render it again")
    guid = checks.guid or partial(ibsim_topology.port_guid_of, intent.site.plant)
    if not checks.has_programs:
        return
    try:
        yield from try_subnets(intent, files, engine_of(intent), guid)
    except (LabError, InfeasibleError) as error:
        yield _unasked("opensm", str(error))


def _ethernet(intent: Intent, files: Mapping[str, str], checks: Checks) -> Iterator[Broken]:
    if checks.has_programs:
        yield from _vtysh(files)
    devices, broken = read_devices(intent, files)
    unread = {one.where for one in broken}
    readable = {path: text for path, text in files.items() if path not in unread}
    known = [*broken, *_qualities(intent, readable, [device for _, device in devices])]
    yield from known
    # A port that a closer look has found wrong already is not told a second time.
    told = {one.where for one in known}
    yield from (one for one in check_devices(intent, devices) if one.where not in told)
    if intent.partitions:
        yield from check_tenants(intent, files)
    if checks.sonic_models is not None:
        yield from _yang(files, checks.sonic_models)


def _vtysh(files: Mapping[str, str]) -> Iterator[Broken]:
    missing = missing_packages(["vtysh"])
    if missing:
        yield _unasked("switches/*/frr.conf", f"apt-get install {missing[0]} (Debian's name)")
        return
    with tempfile.TemporaryDirectory(prefix="netloom-check-") as folder:
        draft = Path(folder) / "frr.conf"
        for path, text in _of_switches(files, "vtysh"):
            draft.write_text(text, encoding="utf-8")
            try:
                frr.check_configuration(draft)
            except LabError as error:
                yield _error(path, f"vtysh refuses it: {error}", "correct that line")


def _qualities(
    intent: Intent, files: Mapping[str, str], devices: Sequence[DeviceConfig]
) -> Iterator[Broken]:
    """Yield what is wrong with buffers and ports where files show them, and with hosts."""
    rule = None
    for system, file in switch_files():
        if file.read_qos is not None and file.read_ports is not None:
            found, ports = [], {}
            for path, text in _ending(files, f"/{file.name}"):
                try:
                    found.append(file.read_qos(text, path))
                    ports[path] = file.read_ports(text, path)
                except NetloomError as error:
                    yield _error(path, str(error), "render it again")
            yield from _switches(intent, found)
            every = (port for some in ports.values() for port in some.values())
            rule = next((port for port in every if port.pausing), rule)
            if rule is not None:
                yield from _ports(intent, ports, rule, (system, file))
    yield from _hosts(intent, files, devices, rule or rule_of(devices))


def _switches(intent: Intent, found: Sequence[SwitchQos]) -> Iterator[Broken]:
    design = intent.site.network.design
    for one in found:
        yield from rules.check_switch(
            one, num_ports=design.radix, buffer_bytes=design.switch.buffer_bytes
        )


def _hosts(
    intent: Intent,
    files: Mapping[str, str],
    devices: Sequence[DeviceConfig],
    rule: PortQos | None,
) -> Iterator[Broken]:
    """Yield where hosts disagree with switches; *rule* is a port that all others are like."""
    scripts = _ending(files, "/nics.sh")
    hosts = [host_settings.read_qos(text, path) for path, text in scripts]
    held = [(one.where, one.addresses) for one in hosts]
    held += [(device.where, device.every_address) for device in devices]
    yield from rules.check_addresses(held)
    if rule is None:
        return
    nics = [nic for path, text in scripts for nic in host_settings.read_nics(text, path)]
    tunnel_bytes = VXLAN_BYTES if intent.partitions else 0
    for nic in nics:
        yield from check_nic(nic, rule, tunnel_bytes=tunnel_bytes)
    yield from check_strays(rule, nics)
    yield from _nccl(files, rule)


def _ports(
    intent: Intent,
    found: Mapping[str, Mapping[str, PortQos]],
    rule: PortQos,
    written: tuple[SwitchOs, SwitchFile],
) -> Iterator[Broken]:
    """Yield what is wrong with the ports of all switches; those not on the plan are left out."""
    site, (system, file) = intent.site, written
    for number in range(len(site.nics), len(site.plant.devices)):
        if system_of(intent, number) is not system:
            continue
        path = f"switches/{site.hostnames[number]}/{file.name}"
        for cable in site.cables_of[number]:
            name = system.port_name(site, peer_of(cable, number)[0])
            plan = PlannedPort(rate_bps=cable.rate_bps, length_m=round(site.length_m(cable)))
            if path in found and name in found[path]:
                yield from check_port(found[path][name], rule, plan)
            elif path in found:
                yield _error(path, f"{name} is missing", "render it again")


def _nccl(files: Mapping[str, str], rule: PortQos) -> Iterator[Broken]:
    for path, text in files.items():
        if path.startswith("hosts/nccl"):
            tos = host_settings.read_traffic_class(text)
            if tos is None or rule.priority_of.get(tos >> 2) not in rule.pausing or not tos & 3:
                what = f"NCCL_IB_TC is {tos}, which switches do not pause, or may not mark"
                yield _error(path, what, "set it to 4 times the DSCP that is paused, plus 2")


def _yang(files: Mapping[str, str], models: Path) -> Iterator[Broken]:
    missing = missing_packages(["yanglint"])
    if missing:
        yield _unasked("sonic/config_db.json", f"apt-get install {missing[0]} (Debian's name)")
        return
    tables = sonic_yang.tables_of(models)
    with tempfile.TemporaryDirectory(prefix="netloom-check-") as folder:
        draft = Path(folder) / "config_db.xml"
        for path, text in _of_switches(files, "yanglint"):
            try:
                config = json.loads(text)
                draft.write_text(yang.instance(config, tables, where=path), encoding="utf-8")
                modules = sorted({tables[name].module for name in config})
                sonic_yang.lint(draft, models, modules)
            except (NetloomError, ValueError) as error:
                yield _error(path, f"SONiC's models refuse it: {error}", "correct that table")


def _of_switches(files: Mapping[str, str], program: str) -> list[tuple[str, str]]:
    """Return the files of switches that a program can check, by path."""
    names = {f"/{file.name}" for _, file in switch_files() if file.checked_by == program}
    return sorted({path: text for end in names for path, text in _ending(files, end)}.items())


def _ending(files: Mapping[str, str], end: str) -> list[tuple[str, str]]:
    return sorted((path, text) for path, text in files.items() if path.endswith(end))


def _error(where: str, what: str, remedy: str) -> Broken:
    return Broken(severity="error", where=where, what=what, remedy=remedy)


def _unasked(where: str, remedy: str) -> Broken:
    what = "was not tried with the program that reads it"
    return Broken(severity="warning", where=where, what=what, remedy=remedy)
