"""Hashing on queue pairs, 16 to a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["ENTRY"]


def _design(base: ChipDesign, _catalog: Catalog) -> ChipDesign:
    return base.with_technology(flows_per_rank=16).with_choices(qps=16)


ENTRY = ChipArchitecture(
    name="ecmp-16-qps",
    title="Hashing on queue pairs, 16 to a connection",
    group="forwarding",
    changes=(
        "Switches hash on the destination queue pair as well, and NICs deal each message over 16 "
        "of them."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=(
        "Sixteen connections a transfer, each with a source port of its own; messages are split "
        "over them at once, not in turn."
    ),
    design=_design,
    limits=("State for 16 queue pairs a peer in every NIC.",),
    figures=(),
    sources=(
        Source(
            citation=(
                "Gangidi et al., RDMA over Ethernet for distributed AI training at Meta "
                "scale, SIGCOMM 2024, by accounts of it"
            ),
            confidence="secondary",
            note="E-ECMP and queue-pair scaling: up to 40 % on all-reduce",
        ),
    ),
)
