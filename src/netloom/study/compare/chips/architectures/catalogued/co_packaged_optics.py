"""Co-packaged optics."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="co-packaged-optics",
    title="Co-packaged optics",
    group="catalogued",
    changes=(
        "Optical engines stand beside the chip in its package; no module is plugged, and no DSP "
        "drives a board trace."
    ),
    family="rocev2",
    fidelity="catalogue",
    mapping="Figures alone: what runs over the links is the same.",
    design=unchanged,
    limits=(
        (
            "An engine that fails takes its ports with it until the box is changed; lasers are "
            "outside and can be replaced."
        ),
    ),
    figures=(
        FigureRange(
            name="power_w_per_800g",
            low=6,
            high=16,
            unit="W",
            source=Source(
                citation=(
                    "mapyourtech.com: under 6 W for co-packaged against 15 to 16 W pluggable"
                ),
                confidence="secondary",
            ),
        ),
        FigureRange(
            name="power_gain",
            low=2.0,
            high=3.5,
            unit="x",
            source=Source(
                citation="Vendors claim up to 3.5 times, tgb.cn about half the power",
                confidence="secondary",
            ),
        ),
        FigureRange(
            name="resilience_gain",
            low=1,
            high=10,
            unit="x",
            source=Source(
                citation=(
                    "NVIDIA claims 10 times at scale for four times fewer lasers (onmine.io)"
                ),
                confidence="secondary",
            ),
        ),
        FigureRange(
            name="radix_at_800g",
            low=128,
            high=512,
            unit="ports",
            source=Source(citation="Spectrum-X SN6810 and SN6800", confidence="secondary"),
        ),
        FigureRange(
            name="price_ratio",
            low=0.6,
            high=1.3,
            unit="x",
            source=Source(
                citation=(
                    "Broadcom: 40 % less a bit (sdxcentral.com, 2021), to assumed early premium"
                ),
                confidence="assumed",
            ),
        ),
    ),
    sources=(
        Source(
            citation=(
                "NVIDIA and Broadcom co-packaged product lines, as transurfing- "
                "volatility.ghost.io lists them"
            ),
            confidence="secondary",
        ),
    ),
)
