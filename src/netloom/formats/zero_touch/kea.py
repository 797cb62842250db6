"""Kea's configuration: a reservation for each switch, with the URL of its own first file.

Option 67 (RFC 2132) names the file of SONiC and EOS, option 239 the script of Cumulus Linux, each
as its vendor documents zero-touch provisioning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Interface

    from netloom.spec.site.section import ManagementSettings, SiteSettings

__all__ = ["BootReservation", "kea_text"]

PROVISION_CODE: Final = 239
LIFETIME_S: Final = 3600
LEASES: Final = "/var/lib/kea/kea-leases4.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootReservation:
    """What a switch is given.

    Attributes:
        mac: Of its management port: ``00:11:22:33:44:55``.
        address: Of that port.
        option: The DHCP option that names its first file; empty where it has none.
        url: Of that file.
    """

    hostname: str
    mac: str
    address: IPv4Interface
    option: str = ""
    url: str = ""


def kea_text(
    reservations: Sequence[BootReservation],
    *,
    site: SiteSettings,
    management: ManagementSettings,
    interface: str,
) -> str:
    """Return kea-dhcp4.conf: strangers get no address, and reserved ones their options."""
    subnet = {
        "id": 1,
        "subnet": management.network,
        "reservations-in-subnet": True,
        "reservations-out-of-pool": True,
        "option-data": _options(site, management),
        "reservations": [_reservation(one) for one in reservations],
    }
    config = {
        "Dhcp4": {
            "interfaces-config": {"interfaces": [interface]},
            "lease-database": {"type": "memfile", "persist": True, "name": LEASES},
            "valid-lifetime": LIFETIME_S,
            "host-reservation-identifiers": ["hw-address"],
            "option-def": [
                {
                    "name": "provision-url",
                    "code": PROVISION_CODE,
                    "type": "string",
                    "space": "dhcp4",
                }
            ],
            "subnet4": [subnet],
        }
    }
    return json.dumps(config, indent=2) + "\n"


def _options(site: SiteSettings, management: ManagementSettings) -> list[dict[str, Any]]:
    options = [{"name": "routers", "data": management.gateway}]
    if site.dns:
        options.append({"name": "domain-name-servers", "data": ", ".join(site.dns)})
    if site.domain:
        options.append({"name": "domain-name", "data": site.domain})
    return options


def _reservation(one: BootReservation) -> dict[str, Any]:
    row: dict[str, Any] = {
        "hw-address": one.mac,
        "ip-address": str(one.address.ip),
        "hostname": one.hostname,
    }
    if one.option:
        # Sent though not asked for: a switch may not list what it can use.
        row["option-data"] = [{"name": one.option, "data": one.url, "always-send": True}]
    return row
