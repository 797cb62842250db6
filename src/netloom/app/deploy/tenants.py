"""Whether the files of switches, in every language they are written in, keep tenants apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError
from netloom.formats import tenant_routes as switch_texts
from netloom.formats.eos import config as eos
from netloom.formats.frr import conf as frr_files
from netloom.formats.sonic import config_db as sonic
from netloom.formats.sonic import read as sonic_read
from netloom.ops.deploy.isolation import check_ports, check_routes
from netloom.ops.deploy.rules import Broken
from netloom.ops.site import peer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.isolation import SwitchPorts, SwitchRoutes
    from netloom.ops.plant import Port
    from netloom.ops.site import Site

    Routes = Callable[[str, str], SwitchRoutes]
    Hosts = Callable[[str, str], SwitchPorts]
    Namer = Callable[[Site, Port], str]

__all__ = ["check_tenants"]


def _linux_name(site: Site, port: Port) -> str:
    return site.linux_name(port)


ROUTES: Final[dict[str, Routes]] = {
    "frr.conf": frr_files.read_routes,
    "sonic/frr.conf": frr_files.read_routes,
    "eos.conf": switch_texts.eos_routes,
    "nvue.sh": switch_texts.nvue_routes,
}
HOSTS: Final[dict[str, tuple[Hosts, Namer]]] = {
    "sonic/config_db.json": (sonic_read.read_hosts, sonic.port_name),
    "eos.conf": (switch_texts.eos_hosts, eos.port_name),
    "nvue.sh": (switch_texts.nvue_hosts, _linux_name),
}


def check_tenants(intent: Intent, files: Mapping[str, str]) -> Iterator[Broken]:
    """Yield what the files of switches do not keep apart; a file that is not there is left out."""
    site = intent.site
    for number in range(len(site.nics), len(site.plant.devices)):
        folder = f"switches/{site.hostnames[number]}"
        for name, read in ROUTES.items():
            path = f"{folder}/{name}"
            if path in files:
                yield from check_routes(intent, number, read(files[path], path))
        for name, (read_hosts, namer) in HOSTS.items():
            path = f"{folder}/{name}"
            if path in files:
                try:
                    found = read_hosts(files[path], path)
                except NetloomError as error:
                    what = str(error)
                    yield Broken(severity="error", where=path, what=what, remedy="render it anew")
                    continue
                yield from check_ports(intent, number, found, _names(site, number, namer))


def _names(site: Site, number: int, namer: Namer) -> dict[int, str]:
    """Return what a switch calls the port of each of its hosts."""
    ends = (peer_of(cable, number) for cable in site.cables_of[number])
    return {peer.device: namer(site, own) for own, peer in ends if site.is_host(peer)}
