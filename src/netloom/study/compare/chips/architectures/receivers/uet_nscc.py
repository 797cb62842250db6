"""Trimming with senders that watch delay (UET NSCC)."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="uet-trimming",
    title="Trimming with senders that watch delay (UET NSCC)",
    group="receivers",
    changes=(
        "A switch that is full cuts packets to their headers, which go first: the receiver knows "
        "at once what is missing. Packets are sprayed, senders control their window."
    ),
    family="uet",
    fidelity="packets",
    mapping=("Ultra Ethernet as uet-htsim has it: queues of 100 packets, sprayed by marks, NSCC."),
    design=unchanged,
    limits=("Switches must trim at line rate; first silicon ships.",),
    figures=(
        FigureRange(
            name="path_efficiency",
            low=0.87,
            high=0.96,
            unit="share",
            source=Source(citation="MRC and uet-htsim between them", confidence="secondary"),
        ),
    ),
    sources=(
        Source(
            citation="ultraethernet/uet-htsim @40ccb05, uec.cpp and uec_mp.cpp",
            confidence="published",
        ),
        Source(
            citation=(
                "Ultra Ethernet specification 1.0 (June 2025), by an account of "
                "arXiv:2508.08906, section 3.5.1"
            ),
            confidence="secondary",
        ),
    ),
)
