"""Spraying by paths that came back unmarked (REPS)."""

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
    return changed.with_choices(load_balancing="reps", transport="reorder")


ENTRY = ChipArchitecture(
    name="spray-reps",
    title="Spraying by paths that came back unmarked (REPS)",
    group="forwarding",
    changes=(
        "Senders use the source ports of packets that came back unmarked again: congestion "
        "anywhere on the way is avoided."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=(
        "The engine's REPS with eight cached ports over marks, a NIC that reorders, pauses and "
        "DCQCN as before."
    ),
    design=_design,
    limits=("Needs a mark for each packet to come back: acknowledgements of every packet.",),
    figures=(),
    sources=(
        Source(
            citation=(
                "Bonato et al., REPS, arXiv:2407.21625, abstract, and uet-htsim buffer_reps.cpp"
            ),
            confidence="published",
        ),
    ),
)
