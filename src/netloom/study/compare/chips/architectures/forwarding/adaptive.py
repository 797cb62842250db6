"""Adaptive routing by packets (Spectrum-X class)."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="adaptive-routing",
    title="Adaptive routing by packets (Spectrum-X class)",
    group="forwarding",
    changes=(
        "Each packet takes the link whose queue is shortest; NICs put packets in order and watch "
        "round trips."
    ),
    family="spectrum-x",
    fidelity="packets",
    mapping=(
        "Four grades of local queues (Cumulus thresholds) and a stand-in for NVIDIA's congestion "
        "control. Grades that switches tell one another of congestion further on are not published "
        "and not run; spray-reps shows what senders that know of it gain."
    ),
    design=unchanged,
    limits=(
        "Local grades do not see congestion two hops away.",
        "One vendor's switches and NICs together.",
    ),
    figures=(
        FigureRange(
            name="path_efficiency",
            low=0.6,
            high=0.95,
            unit="share",
            source=Source(
                citation="NVIDIA's claim of 95 % against 60 % for hashed Ethernet",
                confidence="recalled",
            ),
        ),
    ),
    sources=(
        Source(
            citation=(
                "Cumulus Linux adaptive_routing.conf, thresholds of 100, 1,000 and 10,000 cells"
            ),
            confidence="published",
        ),
        Source(
            citation=(
                "NVIDIA developer blog, Accelerating your network with adaptive routing "
                "for Spectrum Ethernet"
            ),
            confidence="published",
        ),
    ),
)
