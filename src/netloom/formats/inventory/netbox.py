"""NetBox: devices and cables in the columns of its bulk import."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netloom.ops.plant import Port
    from netloom.ops.site import Site

__all__ = ["cables_csv", "devices_csv", "interfaces_csv"]

# NetBox's own words: netbox/dcim/choices.py, CableTypeChoices and InterfaceTypeChoices (recalled).
MEDIA: Final = {
    "dac": "dac-passive",
    "acc": "dac-active",
    "aoc": "aoc",
    "multimode": "mmf-om4",
    "singlemode": "smf",
}
INTERFACES: Final = {
    ("infiniband", 100): "infiniband-edr",
    ("infiniband", 200): "infiniband-hdr",
    ("infiniband", 400): "infiniband-ndr",
    ("infiniband", 800): "infiniband-xdr",
    ("ethernet", 100): "100gbase-x-qsfp28",
    ("ethernet", 200): "200gbase-x-qsfp56",
    ("ethernet", 400): "400gbase-x-osfp",
    ("ethernet", 800): "800gbase-x-osfp",
}

_DEVICES: Final = (
    *("name", "role", "manufacturer", "device_type", "site"),
    *("rack", "position", "face", "status"),
)
_CABLES: Final = (
    *("side_a_device", "side_a_type", "side_a_name"),
    *("side_b_device", "side_b_type", "side_b_name"),
    *("type", "status", "label", "length", "length_unit"),
)


def devices_csv(site: Site) -> str:
    """Return every node and switch, as planned."""
    return _csv(_DEVICES, _devices(site))


def _devices(site: Site) -> Iterator[tuple[str, ...]]:
    seen = set()
    for number, name in enumerate(site.hostnames):
        if name in seen:
            continue
        seen.add(name)
        is_node = number < len(site.nics)
        part = site.network.node if is_node else site.network.design.switch
        kind = "gpu-node" if is_node else site.level(number)
        seat = site.seat(number)
        yield (
            *(name, kind, _vendor(site, is_node=is_node), part.name, "site-1"),
            *(seat.rack, str(seat.unit), "front", "planned"),
        )


def _vendor(site: Site, *, is_node: bool) -> str:
    return site.network.gpu.vendor if is_node else site.network.design.switch.vendor


def interfaces_csv(site: Site) -> str:
    """Return the ports that have cables, for devices whose types do not list them."""
    return _csv(("device", "name", "type"), _interfaces(site))


def _interfaces(site: Site) -> Iterator[tuple[str, ...]]:
    is_infiniband = site.network.technology.protocol == "infiniband"
    protocol = "infiniband" if is_infiniband else "ethernet"
    for cable in site.plant.cables:
        kind = INTERFACES.get((protocol, round(cable.rate_bps / 1e9)), "other")
        for port in cable.ends:
            yield site.hostnames[port.device], site.label(port), kind


def cables_csv(site: Site) -> str:
    """Return every cable, as planned; its devices and interfaces must exist first."""
    return _csv(_CABLES, _cables(site))


def _cables(site: Site) -> Iterator[tuple[str, ...]]:
    for cable in site.plant.cables:
        length_m = site.length_m(cable)
        run = site.run(cable)
        kind = MEDIA.get(run.cable.medium, "") if run else ""
        sides = tuple(cell for port in cable.ends for cell in _side(site, port))
        yield (*sides, kind, "planned", f"cable:{cable.number}", f"{length_m:.0f}", "m")


def _side(site: Site, port: Port) -> tuple[str, str, str]:
    return site.hostnames[port.device], "dcim.interface", site.label(port)


def _csv(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()
