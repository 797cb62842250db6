"""UALink scale-up domain."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="ualink-scale-up",
    title="UALink scale-up domain",
    group="catalogued",
    changes="An open load/store fabric of one switch stage inside a pod, beside NVLink.",
    family="rocev2",
    fidelity="catalogue",
    mapping=(
        "Figures alone; a node with another scale-up network is a part of your own catalogue."
    ),
    design=unchanged,
    limits=("No switch is on the market that was measured in public.",),
    figures=(
        FigureRange(
            name="max_accelerators",
            low=1024,
            high=1024,
            unit="",
            source=Source(
                citation="UALink 200G 1.0 (April 2025), probsee.com", confidence="secondary"
            ),
        ),
        FigureRange(
            name="lane_gbps",
            low=200,
            high=200,
            unit="Gb/s",
            source=Source(citation="UALink 200G 1.0", confidence="secondary"),
        ),
        FigureRange(
            name="effective_share",
            low=0.93,
            high=0.93,
            unit="share",
            source=Source(citation="UALink consortium: 93 % of the peak", confidence="secondary"),
        ),
    ),
    sources=(
        Source(
            citation="UALink 200G 1.0 specification, as probsee.com summarises it",
            confidence="secondary",
        ),
    ),
)
