"""Flowlet switching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return base.with_choices(load_balancing="flowlet").with_packets(
        "switch", flowlet_gap_ps=256_000_000
    )


ENTRY = ChipArchitecture(
    name="flowlets",
    title="Flowlet switching",
    group="forwarding",
    changes="A switch may give a flow another link after it was silent for a while.",
    family="rocev2",
    fidelity="packets",
    mapping=(
        "The packet engine draws a link again after 256 us of silence. In the step it counts as "
        "hashing: RDMA sends without gaps, and messages of a step are shorter than that."
    ),
    design=_design,
    limits=("RDMA rarely pauses for long enough: what collides stays collided.",),
    figures=(
        FigureRange(
            name="flowlet_gap_s",
            low=256e-6,
            high=512e-6,
            unit="s",
            source=Source(
                citation=(
                    "Gangidi et al., RDMA over Ethernet for distributed AI training at Meta "
                    "scale, SIGCOMM 2024, by accounts of it"
                ),
                confidence="secondary",
            ),
        ),
    ),
    sources=(
        Source(
            citation=(
                "Gangidi et al., RDMA over Ethernet for distributed AI training at Meta "
                "scale, SIGCOMM 2024, by accounts of it"
            ),
            confidence="secondary",
            note=(
                "a gap of 256 to 512 us leaves less than one packet a second out of "
                "order at 200 Gb/s"
            ),
        ),
        Source(citation="Vanini et al., LetFlow, NSDI 2017", confidence="recalled"),
    ),
)
