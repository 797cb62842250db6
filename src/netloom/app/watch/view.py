"""What an InfiniBand scan saw besides numbers: GUIDs, LIDs, neighbours, cables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.formats.infiniband.diags import LinkRow
    from netloom.ops.observe.compare import Built
    from netloom.ops.observe.naming import Naming

__all__ = ["FabricDevice", "Uplink", "View"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricDevice:
    """A device as the fabric knows it."""

    guid: int
    lid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplink:
    """A port with its neighbour."""

    device: str
    port: int
    peer: str
    peer_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one scan saw.

    Attributes:
        nodes: By our name of the device.
        uplinks: Every port with a neighbour.
        built: The cables.
    """

    nodes: dict[str, FabricDevice]
    uplinks: tuple[Uplink, ...]
    built: Built

    @classmethod
    def of_links(cls, rows: Iterable[LinkRow], naming: Naming, built: Built) -> View:
        """Return what ``iblinkinfo`` saw."""
        rows = tuple(rows)
        return cls(
            nodes={naming.device(r.name): FabricDevice(guid=r.guid, lid=r.lid) for r in rows},
            uplinks=tuple(
                Uplink(device=here.device, port=here.port, peer=there.device, peer_port=there.port)
                for here, there in (
                    (naming.jack(row.name, row.port), naming.jack(row.peer_name, row.peer_port))
                    for row in rows
                    if row.peer_port is not None
                )
            ),
            built=built,
        )
