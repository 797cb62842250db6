"""SONiC: config_db.json, and FRR for its routing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.frr.conf import read_routes, render_configuration
from netloom.formats.frr.device import is_frr
from netloom.formats.frr.device import read_device as read_routing
from netloom.formats.sonic.config_db import config_db_text, frr_router, port_name, read_qos
from netloom.formats.sonic.day0 import day0
from netloom.formats.sonic.device import is_config_db, read_device, settings
from netloom.formats.sonic.read import read_hosts, read_ports
from netloom.ops.deploy.structure import sections
from netloom.ops.switch_systems import LANES_A_CAGE, PortLabels, SwitchFile, SwitchOs

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent

__all__ = ["ENTRY"]


def _routing(intent: Intent, number: int) -> str:
    return render_configuration(
        frr_router(intent, number),
        hostname=intent.site.hostnames[number],
        has_loopback=False,
        overlay=intent.overlay(number),
    )


ENTRY: Final = SwitchOs(
    name="sonic",
    title="SONiC",
    # sonic-net's list of supported devices and platforms (recalled)
    asics=("Spectrum", "Tomahawk", "Trident", "Jericho", "Teralynx", "Silicon One"),
    vendors=(),
    port_name=port_name,
    labels=PortLabels(pattern=r"Ethernet(?P<lanes>\d{1,4})", default_ways=LANES_A_CAGE),
    files=(
        SwitchFile(
            name="sonic/config_db.json",
            render=config_db_text,
            read_hosts=read_hosts,
            read_qos=read_qos,
            read_ports=read_ports,
            read_device=read_device,
            settings=settings,
            is_like=is_config_db,
            checked_by="yanglint",
        ),
        SwitchFile(
            name="sonic/frr.conf",
            render=_routing,
            read_routes=read_routes,
            read_device=read_routing,
            settings=sections,
            is_like=is_frr,
            checked_by="vtysh",
        ),
    ),
    day0=day0,
)
