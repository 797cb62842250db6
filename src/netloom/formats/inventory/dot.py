"""Graphviz with ports: what NVIDIA Air, Cumulus PTM and UFM's cable validation read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.switch_systems import SWITCH_SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.plant import Port
    from netloom.ops.site import Site

__all__ = ["dot_text"]


def dot_text(site: Site) -> str:
    """Return the graph, one edge a cable; ports of switches as Cumulus Linux calls them."""
    return "".join(f"{line}\n" for line in ("graph netloom {", *_lines(site), "}"))


def _lines(site: Site) -> Iterator[str]:
    seen = set()
    for number, name in enumerate(site.hostnames):
        if name not in seen:
            seen.add(name)
            level = site.level(number)
            yield f'  "{name}" [function="{"host" if level == "node" else level}"];'
    for cable in site.plant.cables:
        lower, upper = (_end(site, port) for port in cable.ends)
        yield f"  {lower} -- {upper};"


def _end(site: Site, port: Port) -> str:
    port_name = SWITCH_SYSTEMS.get("cumulus").port_name
    name = site.interface(port.device) if site.is_host(port) else port_name(site, port)
    return f'"{site.hostnames[port.device]}":"{name}"'
