"""Credits of the receiver (UET RCCC)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return base.with_choices(transport="rccc")


ENTRY = ChipArchitecture(
    name="uet-rccc",
    title="Credits of the receiver (UET RCCC)",
    group="receivers",
    changes=(
        "The receiver grants what its port can take, in turn to all senders; what was sent before "
        "the first grant may be trimmed."
    ),
    family="uet",
    fidelity="packets",
    mapping=(
        "UET's RCCC as uet-htsim has it: pulls of 16 KiB at 0.99 of the port, first window of 1.5 "
        "products."
    ),
    design=_design,
    limits=(
        ("Sees the last link alone: congestion inside a tapered network needs marks as well."),
    ),
    figures=(
        FigureRange(
            name="credit_bytes",
            low=2048,
            high=16384,
            unit="B",
            source=Source(
                citation=(
                    "ultraethernet/uet-htsim @40ccb05, uec.cpp and uec_mp.cpp: 4 packets a "
                    "pull, EQDS 8 x 512 B"
                ),
                confidence="published",
            ),
        ),
    ),
    sources=(
        Source(
            citation="ultraethernet/uet-htsim @40ccb05, uec.cpp and uec_mp.cpp",
            confidence="published",
        ),
    ),
)
