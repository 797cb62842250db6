"""SONiC: tables of a site rather than of its fabric: management, time, logs, monitoring, logins.

Fields are those of SONiC's Configuration.md (sonic-buildimage, src/sonic-yang-models/doc). A
secret is written as ``${NAME}``: ``envsubst`` puts it in where the file is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.ops.deploy.management import management_address

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent
    from netloom.spec.site.section import SiteSettings

__all__ = ["site_tables"]

Table = dict[str, Any]
_SEVERITIES: Final = {"warning": "warn", "critical": "crit"}  # what SONiC calls otherwise


def site_tables(intent: Intent, number: int) -> dict[str, Table]:
    """Return the tables that the scenario's ``site`` asks for; those alone."""
    site = intent.site.scenario.site
    vrf = "mgmt" if site.management is not None and site.management.vrf else "default"
    tables = {
        **_management(intent, number, site),
        "DNS_NAMESERVER": {address: {} for address in site.dns},
        "NTP_SERVER": {name: {"association_type": "server"} for name in site.ntp},
        "NTP": {"global": {"vrf": vrf}} if site.ntp else {},
        "SYSLOG_SERVER": _syslog(site, vrf),
        **_snmp(site),
        **_aaa(site, vrf),
    }
    return {name: table for name, table in tables.items() if table}


def _management(intent: Intent, number: int, site: SiteSettings) -> dict[str, Table]:
    address = management_address(intent, number)
    if address is None or site.management is None:
        return {}
    return {
        "MGMT_PORT": {"eth0": {"alias": "eth0", "admin_status": "up"}},
        "MGMT_INTERFACE": {f"eth0|{address}": {"gwaddr": site.management.gateway}},
        "MGMT_VRF_CONFIG": {
            "vrf_global": {"mgmtVrfEnabled": "true" if site.management.vrf else "false"}
        },
    }


def _syslog(site: SiteSettings, vrf: str) -> Table:
    if site.syslog is None:
        return {}
    level = _SEVERITIES.get(site.syslog.level, site.syslog.level)
    return {name: {"severity": level, "vrf": vrf} for name in site.syslog.servers}


def _snmp(site: SiteSettings) -> dict[str, Table]:
    snmp = site.snmp
    if snmp is None:
        return {}
    texts = {"LOCATION": {"Location": snmp.location}, "CONTACT": {"Contact": snmp.contact}}
    return {
        "SNMP_COMMUNITY": {f"${{{snmp.community_variable}}}": {"TYPE": "RO"}},
        "SNMP": {key: row for key, row in texts.items() if all(row.values())},
    }


def _aaa(site: SiteSettings, vrf: str) -> dict[str, Table]:
    """Return TACACS+ servers; local accounts are asked where none of them answers."""
    if site.aaa is None:
        return {}
    return {
        "AAA": {"authentication": {"login": "tacacs+,local", "failthrough": "True"}},
        "TACPLUS": {"global": {"auth_type": "login", "passkey": f"${{{site.aaa.key_variable}}}"}},
        "TACPLUS_SERVER": {
            address: {"priority": str(place), "tcp_port": "49", "vrf": vrf}
            for place, address in enumerate(site.aaa.tacacs, start=1)
        },
    }
