"""Switches that add up, on Ethernet."""

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
    changed = base.with_technology(in_network_reduction=True)
    return replace(changed, in_network_reduction=True)


ENTRY = ChipArchitecture(
    name="in-network-reduction",
    title="Switches that add up, on Ethernet",
    group="switches",
    changes=(
        "Switches sum what their ports bring: each rank sends its gradients once and receives the "
        "sum once, in place of twice around a ring."
    ),
    family="rocev2",
    fidelity="closed form",
    mapping=(
        "NCCL's in-network algorithms as for SHARP, on Ethernet's rates and latencies; memory for "
        "sums under way and the tiers of a tree by formula. In packets it is RoCEv2 as deployed: "
        "sums are not run there."
    ),
    design=_design,
    limits=(
        ("All-reduce alone gains: exchanges of experts, and gradients that are scattered, do not."),
        "Each group that reduces takes switch memory; groups beyond it run as rings.",
    ),
    figures=(
        FigureRange(
            name="memory_bytes",
            low=1e6,
            high=16e6,
            unit="B",
            source=Source(
                citation="Of a switch for sums under way; no vendor states it", confidence="assumed"
            ),
        ),
    ),
    sources=(
        Source(citation="Sapio et al., SwitchML, NSDI 2021", confidence="published"),
        Source(
            citation="Hoefler et al., In-network collective operations, arXiv:2601.19132",
            confidence="published",
        ),
        Source(
            citation="Broadcom Tomahawk Ultra launch (2025), as techzine.nl reports it",
            confidence="secondary",
        ),
    ),
)
