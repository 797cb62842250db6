"""NVLink scale-up domain."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="nvlink-scale-up",
    title="NVLink scale-up domain",
    group="catalogued",
    changes="What the others stand beside: 72 GPUs in a rack today, 576 with a second tier.",
    family="rocev2",
    fidelity="catalogue",
    mapping="The catalogue's scale-up networks run in every engine; here for its figures.",
    design=unchanged,
    limits=("One vendor's GPUs.",),
    figures=(
        FigureRange(
            name="max_accelerators",
            low=72,
            high=576,
            unit="",
            source=Source(citation="GB200 NVL72; NVL576 by name alone", confidence="secondary"),
        ),
        FigureRange(
            name="gpu_rate_gbytes_per_s",
            low=450,
            high=900,
            unit="GB/s",
            source=Source(
                citation="DGX H100 to GB200 NVL72, one direction (ml-engineering)",
                confidence="secondary",
            ),
        ),
    ),
    sources=(
        Source(
            citation="S. Bekman, Machine Learning Engineering, network chapter",
            confidence="secondary",
        ),
    ),
)
