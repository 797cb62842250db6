"""Compact congestion signals (CSIG)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return base.with_choices(congestion_control="hpcc-pint")


ENTRY = ChipArchitecture(
    name="csig",
    title="Compact congestion signals (CSIG)",
    group="signals",
    changes=(
        "A fixed tag in each packet holds the worst of the path: least free bandwidth, fullest "
        "link or longest delay, compared and replaced hop by hop."
    ),
    family="rocev2",
    fidelity="stand-in",
    mapping=(
        "HPCC-PINT: one byte with the fullest link of the path, which is the signal that CSIG "
        "calls maximum link utilisation. Its tags are 4 or 8 bytes and exact."
    ),
    design=_design,
    limits=("A control algorithm for the signals is not specified.",),
    figures=(),
    sources=(
        Source(
            citation=("Ravi et al., Congestion Signaling (CSIG), draft-ravi-ippm-csig-01, 2024"),
            confidence="published",
        ),
        Source(
            citation="Ben Basat et al., PINT, SIGCOMM 2020, as HPCC-ns3 has it",
            confidence="published",
        ),
    ),
)
