"""EOS: settings of a site rather than of its fabric: management, time, logs, monitoring, logins.

A secret is written as ``${NAME}``: ``envsubst`` puts it in where the file is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.management import management_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.spec.site.section import SiteSettings

__all__ = ["site_lines"]

VRF: Final = "MGMT"
_LEVELS: Final = {
    "debug": "debugging",
    "info": "informational",
    "notice": "notifications",
    "warning": "warnings",
    "error": "errors",
    "critical": "critical",
}


def site_lines(intent: Intent, number: int) -> Iterator[str]:
    """Yield what the scenario's ``site`` asks for, in the order of a running-config."""
    site = intent.site.scenario.site
    vrf = VRF if site.management is not None and site.management.vrf else ""
    of_vrf = f" vrf {vrf}" if vrf else ""
    yield from _monitoring(site, of_vrf)
    yield from _logins(site, of_vrf)
    yield from _management(intent, number, vrf)


def _monitoring(site: SiteSettings, of_vrf: str) -> Iterator[str]:
    if site.syslog is not None:
        level = _LEVELS[site.syslog.level]
        for server in site.syslog.servers:
            yield f"logging{of_vrf} host {server}"
        yield f"logging trap {level}"
        yield "!"
    for address in site.dns:
        yield f"ip name-server{of_vrf} {address}"
    if site.domain:
        yield f"dns domain {site.domain}"
    for server in site.ntp:
        yield f"ntp server{of_vrf} {server}"
    if site.snmp is not None:
        for name, text in (("contact", site.snmp.contact), ("location", site.snmp.location)):
            if text:
                yield f"snmp-server {name} {text}"
        yield f"snmp-server community ${{{site.snmp.community_variable}}} ro"
        if of_vrf:
            yield f"snmp-server{of_vrf}"
    yield "!"


def _logins(site: SiteSettings, of_vrf: str) -> Iterator[str]:
    if site.aaa is not None:
        for address in site.aaa.tacacs:
            yield f"tacacs-server host {address}{of_vrf} key 0 ${{{site.aaa.key_variable}}}"
        yield "aaa authentication login default group tacacs+ local"
        yield "!"
    if site.admin_secret_variable is not None:
        secret = f"${{{site.admin_secret_variable}}}"
        yield f"username admin privilege 15 role network-admin secret sha512 {secret}"
        yield "!"


def _management(intent: Intent, number: int, vrf: str) -> Iterator[str]:
    """Yield the management port: by DHCP unless the scenario numbers it."""
    asked = intent.site.scenario.site.management
    if vrf:
        yield f"vrf instance {vrf}"
        yield "!"
    yield "interface Management1"
    if vrf:
        yield f"   vrf {vrf}"
    yield f"   ip address {management_address(intent, number) or 'dhcp'}"
    yield "!"
    if asked is not None:
        yield f"ip route{f' vrf {vrf}' if vrf else ''} 0.0.0.0/0 {asked.gateway}"
        yield "!"
    yield "management api http-commands"
    yield "   no shutdown"
    if vrf:
        yield "   !"
        yield f"   vrf {vrf}"
        yield "      no shutdown"
    yield "!"
