"""Linux with FRR."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.formats.frr.conf import read_routes, render_configuration
from netloom.formats.frr.device import is_frr, read_device
from netloom.formats.frr.linux_vrfs import vrf_commands
from netloom.ops.deploy.structure import sections
from netloom.ops.switch_systems import PortLabels, SwitchFile, SwitchOs
from netloom.ops.underlay import interface_name

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent
    from netloom.ops.plant import Port
    from netloom.ops.site import Site

__all__ = ["ENTRY"]

_ASN: Final = re.compile(r"^router bgp (\d{1,10})\s*$", re.ASCII | re.MULTILINE)


def _configuration(intent: Intent, number: int) -> str:
    return render_configuration(
        intent.router(number),
        hostname=intent.site.hostnames[number],
        overlay=intent.overlay(number),
    )


def _asn(text: str) -> int | None:
    match = _ASN.search(text)
    return int(match[1]) if match else None


def _port_name(site: Site, port: Port) -> str:
    return interface_name(site.plant, port)


ENTRY: Final = SwitchOs(
    name="frr",
    title="Linux with FRR",
    asics=("",),
    vendors=(),
    port_name=_port_name,
    labels=PortLabels(pattern=r"swp(?P<cage>\d{1,4})"),
    files=(
        SwitchFile(
            name="frr.conf",
            render=_configuration,
            read_routes=read_routes,
            read_asn=_asn,
            read_device=read_device,
            settings=sections,
            is_like=is_frr,
            checked_by="vtysh",
        ),
        SwitchFile(name="vrfs.sh", render=vrf_commands),
    ),
)
