"""512 ports of 200 Gb/s: fewer tiers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.spec.topology import TOPOLOGIES
from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, catalog: Catalog) -> ChipDesign:
    planes = max(1, round(base.technology.rate_bps / 200e9))
    wide = catalog.switch("Tomahawk-6").model_copy(update={"buffer_bytes": 160e6})
    topology = None
    if planes > 1:
        topology = TOPOLOGIES.get("multi-plane").spec.model_validate({"planes": planes})
    return replace(base.with_switch(wide), topology=topology, num_planes=planes)


ENTRY = ChipArchitecture(
    name="radix-512",
    title="512 ports of 200 Gb/s: fewer tiers",
    group="switches",
    changes=(
        "A chip of 102.4 Tb/s split into 512 ports: each NIC in planes of 200 Gb/s, so that two "
        "tiers reach 131,072 ports a plane."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=(
        "The catalogue's Tomahawk 6 box with each NIC split over planes of 200 Gb/s; hashed, with "
        "pauses and DCQCN. Its buffer is not published: 160 MB is taken, that of NVIDIA's chip of "
        "the same rate."
    ),
    design=_design,
    limits=("Optics and cables of each plane; a NIC must deal its traffic over planes.",),
    figures=(
        FigureRange(
            name="price_usd",
            low=90000,
            high=180000,
            unit="USD",
            source=Source(
                citation="Twice a 51.2T box of Broadcom's, to twice a branded one",
                confidence="assumed",
            ),
        ),
        FigureRange(
            name="buffer_bytes",
            low=160e6,
            high=330e6,
            unit="B",
            source=Source(
                citation="SN6810 (102.4 Tb/s) 160 MB, to twice Tomahawk 5's 165 MB",
                confidence="assumed",
            ),
        ),
        FigureRange(
            name="power_w",
            low=1826,
            high=2500,
            unit="W",
            source=Source(
                citation="Twice the power of a 51.2T box without optics; assumed",
                confidence="assumed",
            ),
        ),
    ),
    sources=(
        Source(
            citation="Broadcom Tomahawk 6 launch, storagenewsletter.com, June 2025",
            confidence="secondary",
        ),
    ),
)
