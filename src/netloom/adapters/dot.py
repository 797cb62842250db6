"""Graphviz with ports: what NVIDIA Air, Cumulus PTM and UFM's cable validation read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.plant import Port
    from netloom.ops.site import Site

__all__ = ["dot_text"]


def dot_text(site: Site) -> str:
    """Return the graph, one edge a cable."""
    return "".join(f"{line}\n" for line in ("graph netloom {", *_lines(site), "}"))


def _lines(site: Site) -> Iterator[str]:
    seen = set()
    for number, name in enumerate(site.hostnames):
        if name not in seen:
            seen.add(name)
            level = site.plant.devices[number].name.partition(":")[0]
            yield f'  "{name}" [function="{"host" if number < len(site.nics) else level}"];'
    for cable in site.plant.cables:
        lower, upper = (_end(site, port) for port in cable.ends)
        yield f"  {lower} -- {upper};"


def _end(site: Site, port: Port) -> str:
    name = site.interface(port.device) if site.is_host(port) else f"swp{port.number}"
    return f'"{site.hostnames[port.device]}":"{name}"'
