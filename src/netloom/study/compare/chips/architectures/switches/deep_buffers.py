"""Deep buffers (HBM, 16 GB)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, catalog: Catalog) -> ChipDesign:
    deep = catalog.switch("N9364E-SP2R")
    assert deep.latency_s is not None
    return base.with_switch(deep).with_technology(latency_switch_s=deep.latency_s)


ENTRY = ChipArchitecture(
    name="deep-buffers",
    title="Deep buffers (HBM, 16 GB)",
    group="switches",
    changes=(
        "Gigabytes of memory behind the chip: incasts wait in the switch in place of pausing their "
        "senders."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=(
        "The catalogue's Silicon One P200 box: its buffer, latency of a deep-buffer pipeline, "
        "power and price."
    ),
    design=_design,
    limits=("Queues that wait are latency: memory does not make a link faster.",),
    figures=(
        FigureRange(
            name="price_usd",
            low=45000,
            high=78000,
            unit="USD",
            source=Source(
                citation="The price of a shallow box of the same ports, to the catalogue's",
                confidence="assumed",
            ),
        ),
        FigureRange(
            name="power_w",
            low=913,
            high=1190,
            unit="W",
            source=Source(
                citation="The power of a shallow box of the same ports, to the catalogue's",
                confidence="assumed",
            ),
        ),
    ),
    sources=(
        Source(
            citation="Cisco Silicon One P200 launch: 144 MB and 16 GB of HBM",
            confidence="published",
        ),
    ),
)
