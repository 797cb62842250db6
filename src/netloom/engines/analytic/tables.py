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
    "NCCL",
    "PAT_SHARE",
    "PROTOCOLS",
    "TREE_CORRECTION",
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
