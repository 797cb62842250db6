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
    """Return what one node sends over the network in a double-tree all-reduce.

    Two nodes are each other's parent, one per tree, and send half a vector up and half down. In
    larger trees every node sends a vector up and, as inner vertex of one tree, half to each of
    two children: NVIDIA/nccl issue #837 on bandwidth above the NICs' on two nodes.
    """
    return size_bytes if num_nodes == 2 else 2 * size_bytes
