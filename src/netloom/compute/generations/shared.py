"""Constants that several generations share."""

from __future__ import annotations

from netloom.compute.generation import Constant
from netloom.provenance import Source

__all__ = [
    "LL",
    "LL_OLD",
    "ML_ENGINEERING",
    "NO_FILL",
    "PARTNERS",
    "RAMP",
    "TOPO_H",
    "VTRAIN",
    "constant",
]

VTRAIN = "VIA-Research/vTrain trace/{}/AR_GPU2_1M_1024M_LUT"
ML_ENGINEERING = "stas00/ml-engineering 744d01e1 network/README.md"
TOPO_H = "NVIDIA/nccl src/graph/topo.h at commit 5067397c"


def constant(name: str, value: float, citation: str, note: str = "", *, unit: str = "") -> Constant:
    """Return a measured number; the note says which rows it was taken from."""
    source = Source(citation=citation, confidence="measured", note=note)
    return Constant(name=name, value=value, unit=unit, source=source)


RAMP = constant(
    "time a doubling adds",
    9e-6,
    "NVIDIA/dgxc-benchmarking 841f5466 nccl/README.md",
    "one number, fitted to the H100 all-reduce rows of 1 MiB and more, used from Ampere on",
    unit="s",
)
NO_FILL = constant(
    "fill steps of a ring",
    0.0,
    "NVIDIA/nccl issue #1455",
    "H100 ring bus bandwidth is 365 to 370 GB/s for 2 to 8 GPUs alike",
)

LL_OLD = Constant(
    name="share that LL leaves",
    value=0.25,
    source=Source(
        citation="NVIDIA/nccl src/graph/tuning.cc at commit 01afd20",
        confidence="published",
        note="what NCCL found on Volta and Ampere; flags alone leave 0.5",
    ),
)
LL = Constant(
    name="share that LL leaves",
    value=0.5,
    source=Source(
        citation="NVIDIA/nccl src/graph/tuning.cc at commit 5067397c", confidence="published"
    ),
)
PARTNERS = constant(
    "share of the rings' rate with many partners, or one alone",
    0.95,
    "xxrjun/nccl-tests-cluster 455de4f8; microsoft/superbenchmark 700d6501 tests/data",
    "all-to-all of 4 GiB on 4 and 8 H100 and on 8 A100: 0.94 to 0.97",
)
