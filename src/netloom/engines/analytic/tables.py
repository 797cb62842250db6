"""The constants of NCCL's cost model, as tables.

Source of everything here: NVIDIA/nccl, src/graph/tuning.cc at commit 5067397c, unless a line
says otherwise. Times are in microseconds and rates in GB/s, as NCCL keeps them; the protocols
stand in the order LL, LL128, Simple.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from netloom.provenance import Source

__all__ = [
    "BASE_US",
    "HW_US",
    "LL_MAX",
    "NCCL",
    "NVLS_EFFICIENCY",
    "NVLS_TREE_MAX",
    "PAT_SHARE",
    "PROTOCOLS",
    "RING_LL128_MAX",
    "TREE_CORRECTION",
    "TREE_LL128_MAX",
    "TREE_MAX",
    "Algorithm",
    "LinkKind",
    "Protocol",
]

NCCL: Final = Source(
    citation="NVIDIA/nccl src/graph/tuning.cc at commit 5067397c", confidence="published"
)


class Algorithm(StrEnum):
    """The algorithms NCCL chooses among."""

    TREE = "tree"
    RING = "ring"
    COLLNET_DIRECT = "collnet-direct"
    COLLNET_CHAIN = "collnet-chain"
    NVLS = "nvls"
    NVLS_TREE = "nvls-tree"
    PAT = "pat"


class Protocol(StrEnum):
    """How a message tells the receiver that it has arrived."""

    LL = "LL"
    LL128 = "LL128"
    SIMPLE = "Simple"


class LinkKind(StrEnum):
    """What a hop goes over, as NCCL sorts them."""

    NVLINK = "nvlink"
    PCI = "pci"
    NET = "net"


PROTOCOLS: Final = tuple(Protocol)

_A = Algorithm
_NONE = (0.0, 0.0, 0.0)

BASE_US: Final[dict[Algorithm, tuple[float, float, float]]] = {
    _A.TREE: (6.8, 14.0, 8.4),
    _A.RING: (6.6, 14.0, 8.4),
    _A.COLLNET_DIRECT: _NONE,
    _A.COLLNET_CHAIN: _NONE,
    _A.NVLS: _NONE,
    _A.NVLS_TREE: _NONE,
    _A.PAT: (8.0, 8.0, 8.0),
}

HW_US: Final[dict[LinkKind, dict[Algorithm, tuple[float, float, float]]]] = {
    LinkKind.NVLINK: {
        _A.TREE: (0.6, 1.25, 4.0),
        _A.RING: (0.6, 1.9, 3.4),
        _A.COLLNET_DIRECT: (0.0, 0.0, 3.7),
        _A.COLLNET_CHAIN: (0.0, 0.0, 2.8),
        _A.NVLS: (0.0, 0.0, 25.0),
        _A.NVLS_TREE: (0.0, 0.0, 25.0),
        _A.PAT: (0.0, 0.0, 4.0),
    },
    LinkKind.PCI: {
        _A.TREE: (1.0, 1.9, 4.0),
        _A.RING: (1.0, 2.5, 5.7),
        _A.COLLNET_DIRECT: (0.0, 0.0, 3.7),
        _A.COLLNET_CHAIN: (0.0, 0.0, 2.8),
        _A.NVLS: _NONE,
        _A.NVLS_TREE: _NONE,
        _A.PAT: (0.0, 0.0, 4.0),
    },
    LinkKind.NET: {
        _A.TREE: (5.0, 8.5, 14.0),
        _A.RING: (2.7, 4.0, 14.0),
        _A.COLLNET_DIRECT: (0.0, 0.0, 31.0),
        _A.COLLNET_CHAIN: (0.0, 0.0, 30.0),
        _A.NVLS: (0.0, 0.0, 18.0),
        _A.NVLS_TREE: (0.0, 0.0, 20.9),
        _A.PAT: (0.0, 0.0, 14.0),
    },
}

# By GPU generation; on 1 node, 2 nodes, more. For LL on several nodes NCCL looks at the CPU
# instead of the GPU: the volta row stands for Intel there and the ampere row for AMD.
LL_MAX: Final[dict[str, tuple[float, float, float]]] = {
    "volta": (39.0, 39.0, 20.4),
    "ampere": (87.7, 22.5, 19.0),
    "hopper": (141.0, 45.0, 35.0),
    "blackwell": (282.0, 90.0, 70.0),
}
RING_LL128_MAX: Final[dict[str, tuple[float, float, float]]] = {
    "volta": (20.0, 20.0, 20.0),
    "ampere": (20.0, 20.0, 20.0),
    "hopper": (36.7, 36.7, 36.7),
    "blackwell": (40.0, 40.0, 40.0),
}
TREE_LL128_MAX: Final[dict[str, tuple[float, float, float]]] = {
    "volta": (20.0, 20.0, 20.0),
    "ampere": (20.0, 20.0, 20.0),
    "hopper": (36.7, 36.7, 29.0),
    "blackwell": (55.6, 31.67, 20.0),
}
TREE_MAX: Final[dict[str, tuple[float, float, float]]] = {
    "volta": (26.5, 18.5, 10.0),
    "ampere": (24.0, 23.6, 17.8),
    "hopper": (38.7, 41.4, 36.0),
    "blackwell": (70.0, 42.8, 24.0),
}
# Blackwell on more than two nodes is 80.0 in one release and 43.8 in another; the newer is used.
NVLS_TREE_MAX: Final[dict[str, tuple[float, float, float]]] = {
    "volta": (26.5, 18.5, 10.0),
    "ampere": (24.0, 23.6, 17.8),
    "hopper": (0.0, 57.7, 45.5),
    "blackwell": (0.0, 96.0, 80.0),
}
NVLS_EFFICIENCY: Final[dict[str, float]] = {
    "volta": 0.0,
    "ampere": 0.0,
    "hopper": 0.85,
    "blackwell": 0.74,
}

# What a tree really achieves at 64 B, 128 B, ... 512 MiB, over its nominal rate.
TREE_CORRECTION: Final[dict[Protocol, tuple[float, ...]]] = {
    Protocol.LL: (
        *(1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5),
        *(0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    Protocol.LL128: (
        *(1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6),
        *(0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0),
    ),
    Protocol.SIMPLE: (
        *(0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5),
        *(0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9),
    ),
}

PAT_SHARE: Final = 0.75  # of a ring's rate
