"""Trimming and pulls, shallow queues (NDP)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    packet = int(base.technology.payload_bytes + base.technology.header_bytes)
    changed = base.with_choices(transport="ndp", load_balancing="oblivious")
    return changed.with_packets("switch", queue_bytes=8 * packet, return_headers=True)


ENTRY = ChipArchitecture(
    name="ndp",
    title="Trimming and pulls, shallow queues (NDP)",
    group="receivers",
    changes=(
        "Queues of eight packets; what does not fit is trimmed, the receiver pulls packet by "
        "packet."
    ),
    family="uet",
    fidelity="packets",
    mapping=(
        "The engine's pulled transport over trimming queues of eight packets; headers that do not "
        "fit go back to their sender. Packets are sprayed in turn."
    ),
    design=_design,
    limits=("One pull a packet: a receiver at 800 Gb/s sends 24 million a second.",),
    figures=(),
    sources=(
        Source(
            citation=(
                "Handley et al., Re-architecting datacenter networks and stacks for low "
                "latency and high performance, SIGCOMM 2017, abstract and project page"
            ),
            confidence="published",
        ),
        Source(citation="htsim compositequeue.cpp", confidence="published"),
    ),
)
