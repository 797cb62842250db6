"""Ethernet scale-up domain (SUE, ESUN)."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="ethernet-scale-up",
    title="Ethernet scale-up domain (SUE, ESUN)",
    group="catalogued",
    changes=(
        "Ethernet with short headers, link-level retry and credits inside a pod, beside NVLink."
    ),
    family="rocev2",
    fidelity="catalogue",
    mapping=(
        "Figures alone; a node with another scale-up network is a part of your own catalogue."
    ),
    design=unchanged,
    limits=("Ordering and addressing above the link are the accelerator's own.",),
    figures=(
        FigureRange(
            name="max_accelerators",
            low=512,
            high=1024,
            unit="",
            source=Source(
                citation=(
                    "512 ports of 100 or 200 Gb/s; Broadcom: at least 1,024 (The Register, "
                    "July 2025)"
                ),
                confidence="secondary",
            ),
        ),
        FigureRange(
            name="switch_s",
            low=250e-9,
            high=250e-9,
            unit="s",
            source=Source(citation="Tomahawk Ultra at 51.2 Tb/s", confidence="secondary"),
        ),
        FigureRange(
            name="header_bytes",
            low=10,
            high=46,
            unit="B",
            source=Source(citation="Tomahawk Ultra: from 46 to 10 bytes", confidence="secondary"),
        ),
    ),
    sources=(
        Source(
            citation=(
                "Broadcom Tomahawk Ultra and SUE launches (2025), as The Register and "
                "techzine.nl report them"
            ),
            confidence="secondary",
        ),
    ),
)
