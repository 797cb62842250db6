"""Link-level retry (UEC LLR)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return replace(base, retries_links=True)


ENTRY = ChipArchitecture(
    name="link-level-retry",
    title="Link-level retry (UEC LLR)",
    group="links",
    changes=(
        "A link repeats what was corrupted on it within its own round trip: the transport sees no "
        "loss but congestion's."
    ),
    family="rocev2",
    fidelity="closed form",
    mapping=(
        "Loss of a link becomes what is lost twice; the link keeps its round trip in a replay "
        "buffer. In packets, no link loses anything, with it or without: the chip shows where "
        "cables lose packets (fabric.loss, --ceiling)."
    ),
    design=_design,
    limits=("A replay buffer of a link round trip in every port; both ends must have it.",),
    figures=(
        FigureRange(
            name="replay_timeout_s",
            low=0.5e-6,
            high=1.5e-6,
            unit="s",
            source=Source(
                citation=(
                    "Ultra Ethernet specification 1.0 (June 2025), by an account of "
                    "arXiv:2508.08906, section 3.5.1: about a link round trip, 1 us"
                ),
                confidence="secondary",
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
        Source(
            citation="Broadcom Tomahawk Ultra launch (2025), as techzine.nl reports it",
            confidence="secondary",
        ),
    ),
)
