"""NICs in planes, sprayed and trimmed (MRC)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.spec.topology import TOPOLOGIES
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    topology = TOPOLOGIES.get("multi-plane").spec.model_validate({"planes": 2})
    changed = base.with_choices(load_balancing="retiring")
    return replace(changed, topology=topology, num_planes=2)


ENTRY = ChipArchitecture(
    name="multi-plane-mrc",
    title="NICs in planes, sprayed and trimmed (MRC)",
    group="switches",
    changes=(
        "A NIC has a port in each of several separate networks and sprays every message over all "
        "of them; a path that loses packets is retired."
    ),
    family="uet",
    fidelity="packets",
    mapping=(
        "Two planes; UET's trimming and NSCC, source ports retired on loss. MRC's probes, SRv6 "
        "routes and four or eight planes are not run."
    ),
    design=_design,
    limits=(
        "More cables and optics for the same bandwidth.",
        "RDMA writes alone.",
    ),
    figures=(),
    sources=(
        Source(
            citation=("MRC (OpenAI, Microsoft, AMD, Broadcom, NVIDIA; OCP 2026), by notes on it"),
            confidence="secondary",
        ),
    ),
)
