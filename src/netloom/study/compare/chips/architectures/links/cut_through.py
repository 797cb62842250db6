"""Cut-through at equal speeds, 250 ns a switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    changed = base.with_technology(latency_switch_s=250e-9)
    return changed.with_packets("switch", cut_through=True)


ENTRY = ChipArchitecture(
    name="cut-through",
    title="Cut-through at equal speeds, 250 ns a switch",
    group="links",
    changes="A packet leaves while its tail still comes in, and the pipeline is short.",
    family="rocev2",
    fidelity="packets",
    mapping=(
        "The engine's cut-through and 250 ns a switch in place of the catalogue's 667 ns; ports of "
        "unequal speed store and forward in real chips, and all are equal here."
    ),
    design=_design,
    limits=("Gains latency alone; a queue that is not empty stores the packet all the same.",),
    figures=(
        FigureRange(
            name="switch_s",
            low=250e-9,
            high=600e-9,
            unit="s",
            source=Source(
                citation="Tomahawk Ultra 250 ns; Teralynx 10 under 600 ns for all packet sizes",
                confidence="secondary",
            ),
        ),
    ),
    sources=(
        Source(
            citation="Broadcom Tomahawk Ultra launch (2025), as techzine.nl reports it",
            confidence="secondary",
        ),
        Source(citation="ServeTheHome on Teralynx 10", confidence="secondary"),
    ),
)
