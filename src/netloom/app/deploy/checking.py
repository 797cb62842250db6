"""Judge the files of a deployment with the programs that will read them, and with our own rules."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
from netloom.ops.deploy.overlay import VXLAN_BYTES
from netloom.ops.deploy.ports import PlannedPort, check_nic, check_port, check_strays
from netloom.ops.deploy.rules import Broken
from netloom.ops.site import peer_of
from netloom.ops.switch_systems import switch_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.ports import PortQos
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
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.severity))


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
    yield from _routers(intent, files)
    yield from _qualities(intent, files)
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


def _routers(intent: Intent, files: Mapping[str, str]) -> Iterator[Broken]:
    """Yield switches without an autonomous system, and neighbours in one."""
    for _, file in switch_files():
        if file.read_asn is not None:
            yield from _asns(intent, files, file.name, file.read_asn)


def _asns(
    intent: Intent, files: Mapping[str, str], name: str, read: Callable[[str], int | None]
) -> Iterator[Broken]:
    site, asns = intent.site, {}
    for number in range(len(site.nics), len(site.plant.devices)):
        path = f"switches/{site.hostnames[number]}/{name}"
        asn = read(files.get(path, ""))
        if asn is None:
            yield _error(path, "is missing, or has no 'router bgp'", "render it again")
        else:
            asns[number] = asn
    links = (
        (cable.lower.device, cable.upper.device)
        for cable in site.plant.cables
        if not site.is_host(cable.lower)
    )
    yield from rules.check_routers(asns, links, names=site.hostnames)


def _qualities(intent: Intent, files: Mapping[str, str]) -> Iterator[Broken]:
    for system, file in switch_files():
        if file.read_qos is not None and file.read_ports is not None:
            yield from _quality(intent, files, system, file)


def _quality(
    intent: Intent, files: Mapping[str, str], system: SwitchOs, file: SwitchFile
) -> Iterator[Broken]:
    assert file.read_qos is not None
    assert file.read_ports is not None
    switches, ports = [], {}
    for path, text in _ending(files, f"/{file.name}"):
        try:
            switches.append(file.read_qos(text, path))
            ports[path] = file.read_ports(text, path)
        except NetloomError as error:
            yield _error(path, str(error), "render it again")
    scripts = _ending(files, "/nics.sh")
    hosts = [host_settings.read_qos(text, path) for path, text in scripts]
    switch = intent.site.network.design.switch
    for one in switches:
        yield from rules.check_switch(
            one, num_ports=intent.site.network.design.radix, buffer_bytes=switch.buffer_bytes
        )
    yield from rules.check_addresses([*switches, *hosts])
    rule = next((port for some in ports.values() for port in some.values() if port.pausing), None)
    if rule is not None:
        yield from _ports(intent, ports, rule, (system, file))
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
