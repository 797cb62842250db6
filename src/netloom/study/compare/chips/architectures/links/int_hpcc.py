"""Telemetry of every hop in packets (INT, HPCC)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return base.with_choices(congestion_control="hpcc")


ENTRY = ChipArchitecture(
    name="int-hpcc",
    title="Telemetry of every hop in packets (INT, HPCC)",
    group="signals",
    changes=(
        "Switches write queue and counter into each packet; senders set a window by the fullest "
        "link."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=(
        "HPCC as its authors simulate it, over hashed paths with pauses behind; 42 bytes of "
        "telemetry a packet."
    ),
    design=_design,
    limits=(
        "Compares counters of one path: does not go with spraying.",
        "Five hops in its header.",
    ),
    figures=(),
    sources=(
        Source(
            citation=(
                "Li et al., HPCC, SIGCOMM 2019, and alibaba-edu/High-Precision- Congestion-Control"
            ),
            confidence="published",
        ),
    ),
)
