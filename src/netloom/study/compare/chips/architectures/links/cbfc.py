"""Credit-based flow control on Ethernet (UEC CBFC)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return base.with_choices(flow_control="credits")


ENTRY = ChipArchitecture(
    name="credit-flow-control",
    title="Credit-based flow control on Ethernet (UEC CBFC)",
    group="links",
    changes=(
        "A port sends what the far end has room for: no pauses, no headroom behind a threshold, "
        "and a buffer that is too small costs rate, not packets."
    ),
    family="rocev2",
    fidelity="stand-in",
    mapping=(
        "InfiniBand's credits on Ethernet frames: 128 KiB for each input and lane, updates as room "
        "comes free. The wire format and credit size of CBFC were not found."
    ),
    design=_design,
    limits=("Holds back the flow that is innocent as pauses do: a virtual channel is shared.",),
    figures=(
        FigureRange(
            name="credit_buffer_bytes",
            low=65536,
            high=262144,
            unit="B",
            source=Source(
                citation=(
                    "A round trip of 100 m to 500 m at 400 Gb/s and the switch's own time; assumed"
                ),
                confidence="assumed",
            ),
        ),
    ),
    sources=(
        Source(
            citation=(
                "Ultra Ethernet specification 1.0 (June 2025), by an account of "
                "arXiv:2508.08906, section 3.5.1"
            ),
            confidence="secondary",
        ),
    ),
)
