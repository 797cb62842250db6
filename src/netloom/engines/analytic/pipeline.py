"""The chunks that NCCL cuts a message into, and what filling a pipeline of them costs.

Source of the rules: NVIDIA/nccl src/enqueue.cc (calcCollChunking) at commit 5067397c.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.tables import Algorithm, Protocol

if TYPE_CHECKING:
    from netloom.engines.analytic.tuner import AlgorithmChoice, Communicator

__all__ = ["chunk_bytes", "num_stages", "tree_depth"]

_STEP_BYTES: Final = 2.0**19  # a buffer of 4 MiB in NCCL_STEPS = 8 steps
_LL128_STEP_BYTES: Final = 120 * 640 * 8.0  # NCCL_LL128_ELEMS_PER_THREAD x threads x 8 B
_NVLS_BYTES: Final = 2.0**17
_NVLS_MANY_NODES_BYTES: Final = 2.0**16  # on four nodes and more
_KIB: Final = 1024.0


def tree_depth(comm: Communicator) -> int:
    """Return the hops from a leaf to the root: the node's chain, then the tree of nodes."""
    return int(comm.per_node) - 1 + int(math.log2(comm.num_nodes))


def num_stages(choice: AlgorithmChoice, comm: Communicator) -> tuple[int, int]:
    """Return the stages of the pipeline inside nodes and between them, up and down together."""
    between = 2 * int(math.log2(comm.num_nodes))
    if choice.algorithm is Algorithm.NVLS_TREE:
        return 2, between
    return 2 * (int(comm.per_node) - 1), between


def chunk_bytes(
    choice: AlgorithmChoice, size_bytes: float, comm: Communicator, heads: int
) -> float:
    """Return what all channels together hold of a message in one stage of the pipeline."""
    if choice.algorithm is Algorithm.NVLS_TREE:
        in_flight = comm.num_nvls_channels * heads
        return min(size_bytes, in_flight * _nvls_tree_chunk(size_bytes, comm, in_flight))
    if choice.protocol is Protocol.LL128:
        return min(size_bytes, comm.num_channels * _ll128_chunk(size_bytes, comm))
    return min(size_bytes, comm.num_channels * _simple_chunk(size_bytes, comm))


def _simple_chunk(size_bytes: float, comm: Communicator) -> float:
    depth, each = tree_depth(comm), size_bytes / comm.num_channels
    chunk = _STEP_BYTES
    for wanted, least in ((8 * depth, 128), (4 * depth, 64), (depth, 32)):
        while each / chunk < wanted and chunk > least * _KIB:
            chunk /= 2
    return chunk


def _ll128_chunk(size_bytes: float, comm: Communicator) -> float:
    steps = 1 + int(math.log2(comm.num_nodes)) + 0.1 * comm.per_node
    each, chunk = size_bytes / comm.num_channels, _LL128_STEP_BYTES
    for wanted, least in ((64 * steps, 128), (16 * steps, 32)):
        while each / chunk < wanted / comm.per_node and chunk > least * _KIB:
            chunk /= 2
    return chunk


def _nvls_tree_chunk(size_bytes: float, comm: Communicator, in_flight: int) -> float:
    chunk = _NVLS_MANY_NODES_BYTES if comm.num_nodes >= 4 else _NVLS_BYTES
    for rounds, least in ((4, 64), (1, 32)):
        if size_bytes < rounds * in_flight * chunk and chunk > least * _KIB:
            chunk = least * _KIB
    return chunk
