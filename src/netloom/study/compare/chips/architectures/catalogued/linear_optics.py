"""Linear pluggable optics."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="linear-optics",
    title="Linear pluggable optics",
    group="catalogued",
    changes="Modules without a DSP: the chip's own SerDes drives the laser.",
    family="rocev2",
    fidelity="catalogue",
    mapping="Figures alone: what runs over the links is the same, less some 100 ns.",
    design=unchanged,
    limits=(
        ("The whole channel must be tuned together; a bad link is harder to blame on one part."),
    ),
    figures=(
        FigureRange(
            name="power_w_per_800g",
            low=8,
            high=9,
            unit="W",
            source=Source(
                citation="axiomupgrades.com: 8 to 9 W against 14 to 16 W with DSP",
                confidence="secondary",
            ),
        ),
        FigureRange(
            name="price_ratio",
            low=0.6,
            high=1.0,
            unit="x",
            source=Source(
                citation="A DSP is over 40 % of the cost (journalnewsinfo.com), to none saved",
                confidence="secondary",
            ),
        ),
    ),
    sources=(
        Source(
            citation="axiomupgrades.com, 800G LPO vs DSP in AI clusters", confidence="secondary"
        ),
    ),
)
