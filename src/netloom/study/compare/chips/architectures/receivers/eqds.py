"""Edge-queued datagrams (EQDS)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return base.with_choices(transport="rccc").with_packets(
        "transport", pull_bytes=4096, restraint=None
    )


ENTRY = ChipArchitecture(
    name="eqds",
    title="Edge-queued datagrams (EQDS)",
    group="receivers",
    changes=(
        "Queues move from the network into the sending host; the receiver's credits let packets go."
    ),
    family="uet",
    fidelity="stand-in",
    mapping=(
        "RCCC with pulls of 4 KiB and 256 paths, no throttle of the receiver. EQDS as a tunnel "
        "under TCP and RDMA is not run."
    ),
    design=_design,
    limits=("The host must hold what waits.",),
    figures=(),
    sources=(
        Source(
            citation=(
                "Olteanu et al., An edge-queued datagram service for all datacenter "
                "traffic, NSDI 2022, abstract; uet-htsim eqds.cpp for its sizes"
            ),
            confidence="published",
        ),
    ),
)
