"""Bytes that reductions in switches and trees put on a wire."""

from __future__ import annotations

__all__ = ["nvls_wire_bytes", "tree_network_bytes"]


def nvls_wire_bytes(num_ranks: int, size_bytes: float) -> float:
    """Return what a GPU sends when NVSwitch reduces and multicasts.

    The switches pull the whole vector from each GPU to form the sums, and each GPU writes the
    1/n that it is the head of back to all: size x (1 + 1/n). That measured algorithm bandwidth
    follows this form on 4 to 8 H100 is in NVIDIA/nccl issue #1455.
    """
    return size_bytes * (1 + 1 / num_ranks)


def tree_network_bytes(num_nodes: int, size_bytes: float) -> float:
    """Return what the busiest node sends over the network in a double-tree all-reduce.

    Half a vector goes up and half down each edge of either tree. Two nodes are each other's
    parent, one per tree. Of three, one is inner vertex with one child in one tree and root of the
    other, also with one child: three edges. From four on an inner vertex has two children and a
    parent, and is a leaf of the other tree. NVIDIA/nccl src/graph/trees.cc (ncclGetDtree); issue
    #837 on bandwidth above the NICs' on two nodes, #1801 on three.
    """
    num_edges = {2: 2, 3: 3}.get(num_nodes, 4)
    return num_edges / 2 * size_bytes
