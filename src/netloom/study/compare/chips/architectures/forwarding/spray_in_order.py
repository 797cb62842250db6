"""Packet spraying, put in order by the NIC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    changed = base.with_technology(load_balancing="spray", recovery="reorder", flows_per_rank=1)
    return changed.with_choices(load_balancing="spray", transport="reorder")


ENTRY = ChipArchitecture(
    name="spray-in-order",
    title="Packet spraying, put in order by the NIC",
    group="forwarding",
    changes=(
        "Switches send packets over all links in turn; NICs place them in memory as they come and "
        "report messages in order."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=(
        "The engine's spray with a receiver that reorders; pauses, marks and DCQCN as before. A "
        "NIC has room for any disorder."
    ),
    design=_design,
    limits=(
        (
            "A link that is slow or lossy is met by every flow: what is sprayed blindly must be "
            "healthy."
        ),
    ),
    figures=(),
    sources=(
        Source(
            citation=(
                "Dixit et al., On the impact of packet spraying in data center "
                "networks, INFOCOM 2013"
            ),
            confidence="recalled",
        ),
        Source(
            citation="netloom docs/models/congestion.md, the engine's own rule",
            confidence="derived",
        ),
    ),
)
