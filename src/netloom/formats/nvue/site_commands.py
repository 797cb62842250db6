"""NVUE: settings of a site rather than of its fabric: management, time, logs, monitoring, logins.

Secrets are taken from the environment where the commands run: ``${NAME}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.management import management_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.spec.site.section import SiteSettings

__all__ = ["owned", "site_commands"]

VRF: Final = "mgmt"  # the one that Cumulus Linux has for its management port
FABRIC: Final = ("interface", "qos", "router", "vrf", "evpn", "nve")
SERVICES: Final = (
    "service ntp",
    "service dns",
    "service syslog",
    "service snmp-server",
    "system aaa tacacs",
    "system aaa authentication-order",
)


def owned(site: SiteSettings) -> tuple[str, ...]:
    """Return the parts of the configuration that are netloom's: what it does not set is removed.

    Services are, once the scenario's ``site`` names any of them.
    """
    services = (site.dns, site.ntp, site.syslog, site.snmp, site.aaa)
    return FABRIC + (SERVICES if any(services) else ())


def site_commands(intent: Intent, number: int) -> Iterator[str]:
    """Yield the commands that the scenario's ``site`` asks for, management port first."""
    site = intent.site.scenario.site
    address = management_address(intent, number)
    port = "nv set interface eth0 ip"
    yield f"{port} address {address or 'dhcp'}"
    if site.management is not None:
        yield f"{port} gateway {site.management.gateway}"
    if site.management is None or site.management.vrf:
        yield f"{port} vrf {VRF}"
    vrf = "default" if site.management is not None and not site.management.vrf else VRF
    for server in site.dns:
        yield f"nv set service dns {vrf} server {server}"
    for server in site.ntp:
        yield f"nv set service ntp {vrf} server {server}"
    yield from _monitoring(site, vrf)
    yield from _logins(site, vrf)


def _monitoring(site: SiteSettings, vrf: str) -> Iterator[str]:
    if site.syslog is not None:
        for server in site.syslog.servers:
            yield f"nv set service syslog {vrf} server {server}"
    if site.snmp is not None:
        snmp = "nv set service snmp-server"
        yield f"{snmp} enable on"
        yield f"{snmp} listening-address all vrf {vrf}"
        yield f'{snmp} readonly-community "${{{site.snmp.community_variable}}}" access any'
        for name, text in (("location", site.snmp.location), ("contact", site.snmp.contact)):
            if text:
                yield f"{snmp} system-{name} '{text}'"


def _logins(site: SiteSettings, vrf: str) -> Iterator[str]:
    if site.aaa is None:
        return
    tacacs = "nv set system aaa tacacs"
    yield f"{tacacs} enable on"
    yield f"{tacacs} vrf {vrf}"
    for place, address in enumerate(site.aaa.tacacs, start=1):
        yield f"{tacacs} server {place} host {address}"
        yield f'{tacacs} server {place} secret "${{{site.aaa.key_variable}}}"'
    yield "nv set system aaa authentication-order 1 tacacs"
    yield "nv set system aaa authentication-order 2 local"
