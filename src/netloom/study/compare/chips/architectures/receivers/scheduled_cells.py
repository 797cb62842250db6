"""Scheduled fabric: cells, virtual output queues, credits."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="scheduled-cells",
    title="Scheduled fabric: cells, virtual output queues, credits",
    group="receivers",
    changes=(
        "An egress port grants credits to ingress queues; granted packets are cut into cells that "
        "take all fabric links evenly."
    ),
    family="scheduled",
    fidelity="packets",
    mapping=(
        "The engine's scheduled fabric: credits of 4 KiB, cells of 256 bytes with 12 of header, "
        "two to an event. Grants wait 6.3 us as the catalogue has it, from a deep-buffer chassis. "
        "The cell spine is counted as a box of the leaf's kind."
    ),
    design=unchanged,
    limits=(
        "Broadcom claims 32,000 end points for one fabric.",
        "Every packet waits a round trip for its credit.",
    ),
    figures=(
        FigureRange(
            name="credit_bytes",
            low=1024,
            high=16384,
            unit="B",
            source=Source(citation="A few kilobytes, vendors say; assumed", confidence="assumed"),
        ),
        FigureRange(
            name="cell_bytes",
            low=128,
            high=256,
            unit="B",
            source=Source(citation="Jericho and Ramon as remembered", confidence="recalled"),
        ),
        FigureRange(
            name="speed_up",
            low=1.05,
            high=1.11,
            unit="x",
            source=Source(
                citation="160 fabric over 144 network SerDes of Jericho3-AI", confidence="published"
            ),
        ),
        FigureRange(
            name="price_usd",
            low=33000,
            high=45000,
            unit="USD",
            source=Source(
                citation="Deep-buffer box as the catalogue prices it, to Broadcom's 51.2T box",
                confidence="assumed",
            ),
        ),
    ),
    sources=(
        Source(
            citation=("Broadcom Jericho3-AI launch, as packetpushers.net and podwise.ai report it"),
            confidence="secondary",
        ),
        Source(
            citation=(
                "DriveNets, Network Cloud-AI: from theory to practice (2023), "
                "simulations by Scala Computing"
            ),
            confidence="published",
        ),
    ),
)
