"""RoCEv2 with PFC and DCQCN over hashed paths."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.study.compare.chips.entry import ChipArchitecture, unchanged

__all__ = ["ENTRY"]

ENTRY = ChipArchitecture(
    name="roce-ecmp",
    title="RoCEv2 with PFC and DCQCN over hashed paths",
    group="today",
    changes=(
        "What is deployed: a hash of each connection picks its links, pauses keep buffers from "
        "overflowing, DCQCN slows senders that were marked."
    ),
    family="rocev2",
    fidelity="packets",
    mapping=("As the catalogue has it; the packet engine runs pauses, marks, DCQCN and go-back-N."),
    design=unchanged,
    limits=(
        (
            "Pauses act on a port and priority, not on a flow: an incast stops flows that go "
            "elsewhere."
        ),
    ),
    figures=(),
    sources=(
        Source(
            citation=(
                "Zhu et al., Congestion control for large-scale RDMA deployments, "
                "SIGCOMM 2015, as htsim dcqcn.cpp runs it"
            ),
            confidence="secondary",
        ),
        Source(
            citation="IEEE 802.1Qbb, as Huawei EDOC1000060766 describes it", confidence="secondary"
        ),
    ),
)
