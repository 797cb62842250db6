"""Matching of senders and receivers (dcPIM)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    changed = base.with_choices(transport="ndp", load_balancing="oblivious", flow_control="none")
    return changed.with_packets(
        "transport", timeout_ps=100_000_000, first_window_bytes=int(base.technology.payload_bytes)
    )


ENTRY = ChipArchitecture(
    name="dcpim",
    title="Matching of senders and receivers (dcPIM)",
    group="receivers",
    changes=(
        "Long flows wait until sender and receiver are matched in rounds of control messages, one "
        "phase ahead; short ones are sent at once."
    ),
    family="uet",
    fidelity="stand-in",
    mapping=(
        "The engine's pulled transport over plain queues, nothing sent before a grant. Matching "
        "rounds are not run: grants go in turn to all senders, not to one."
    ),
    design=_design,
    limits=("Control messages for every round of every phase.",),
    figures=(
        FigureRange(
            name="rounds",
            low=1,
            high=4,
            unit="",
            source=Source(
                citation="Cai et al., dcPIM, SIGCOMM 2022: a constant number of rounds",
                confidence="published",
            ),
        ),
    ),
    sources=(
        Source(
            citation=(
                "Cai et al., dcPIM: near-optimal proactive datacenter transport, "
                "SIGCOMM 2022, abstract and github.com/Terabit-Ethernet/dcPIM"
            ),
            confidence="published",
        ),
    ),
)
