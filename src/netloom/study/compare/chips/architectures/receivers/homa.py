"""Receiver-driven with priorities (Homa)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    changed = base.with_choices(transport="ndp", load_balancing="oblivious", flow_control="none")
    return changed.with_packets("transport", timeout_ps=100_000_000)


ENTRY = ChipArchitecture(
    name="homa",
    title="Receiver-driven with priorities (Homa)",
    group="receivers",
    changes=(
        "The receiver grants to the shortest messages and gives each its priority queue; the first "
        "round trip is sent at once."
    ),
    family="uet",
    fidelity="stand-in",
    mapping=(
        "The engine's pulled transport over plain queues that drop, a first window of one product, "
        "packets sprayed. Priorities by what is left to send are not run: messages of one "
        "collective are equally long, and priorities then decide nothing."
    ),
    design=_design,
    limits=("Eight priority queues; gains are for mixes of short and long messages.",),
    figures=(),
    sources=(
        Source(
            citation="Montazeri et al., Homa, SIGCOMM 2018, abstract (arXiv:1803.09615)",
            confidence="published",
        ),
    ),
)
