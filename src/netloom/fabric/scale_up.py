"""The scale-up network of one node, as a small graph that every node repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.errors import CatalogError

if TYPE_CHECKING:
    from netloom.parts.parts import Node, ScaleUp

__all__ = ["HYBRID_CUBE_MESH", "LocalCable", "ScaleUpGraph", "scale_up_graph"]

# NVLinks between each pair of the eight V100 GPUs of a DGX-1, six of each GPU, as
# `nvidia-smi topo -m` prints them (NV1, NV2) in pytorch/benchmarks/distributed/ddp/README.md.
# That the P100 machine, with four of each GPU, has a single link in the same places is recalled.
HYBRID_CUBE_MESH = {
    (0, 1): 1,
    (0, 2): 1,
    (0, 3): 2,
    (0, 4): 2,
    (1, 2): 2,
    (1, 3): 1,
    (1, 5): 2,
    (2, 3): 2,
    (2, 6): 1,
    (3, 7): 1,
    (4, 5): 1,
    (4, 6): 1,
    (4, 7): 2,
    (5, 6): 2,
    (5, 7): 1,
    (6, 7): 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCable:
    """A cable inside a node; its ends are GPUs first, then scale-up switches."""

    lower: int
    upper: int
    rate_bps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleUpGraph:
    """What stands between the GPUs of one node.

    Attributes:
        num_switches: Vertices besides the GPUs.
        cables: GPU g is end g, switch s is end ``num_gpus + s``.
    """

    num_switches: int
    cables: tuple[LocalCable, ...]


def scale_up_graph(node: Node, scale_up: ScaleUp) -> ScaleUpGraph:
    """Return the scale-up network of one *node*; a lone GPU has none.

    Raises:
        CatalogError: the hybrid cube mesh is known for eight GPUs of four or six links only.
    """
    if node.num_gpus == 1:
        return ScaleUpGraph(num_switches=0, cables=())
    if scale_up.kind == "switched":
        return _switched(node.num_gpus, scale_up)
    if scale_up.kind == "full-mesh":
        return _full_mesh(node.num_gpus, scale_up)
    if scale_up.kind == "hybrid-cube-mesh":
        return _hybrid_cube_mesh(node, scale_up)
    return _pcie_tree(node.num_gpus, scale_up)


def _switched(num_gpus: int, scale_up: ScaleUp) -> ScaleUpGraph:
    """All switch chips as one vertex: each GPU has a link to every chip, so none is special."""
    cables = tuple(
        LocalCable(lower=gpu, upper=num_gpus, rate_bps=scale_up.rate_bps) for gpu in range(num_gpus)
    )
    return ScaleUpGraph(num_switches=1, cables=cables)


def _full_mesh(num_gpus: int, scale_up: ScaleUp) -> ScaleUpGraph:
    rate_bps = scale_up.rate_bps / (num_gpus - 1)
    cables = tuple(
        LocalCable(lower=gpu, upper=other, rate_bps=rate_bps)
        for gpu in range(num_gpus)
        for other in range(gpu + 1, num_gpus)
    )
    return ScaleUpGraph(num_switches=0, cables=cables)


def _hybrid_cube_mesh(node: Node, scale_up: ScaleUp) -> ScaleUpGraph:
    if node.num_gpus != 8 or scale_up.num_links not in {4, 6}:
        message = (
            f"{node.name}: a hybrid cube mesh joins 8 GPUs by 4 or 6 links each, not "
            f"{node.num_gpus} by {scale_up.num_links}: correct the part, or use kind full-mesh"
        )
        raise CatalogError(message)
    doubled = scale_up.num_links == 6
    cables = tuple(
        LocalCable(lower=lower, upper=upper, rate_bps=scale_up.link_rate_bps)
        for (lower, upper), num_links in HYBRID_CUBE_MESH.items()
        for _ in range(num_links if doubled else 1)
    )
    return ScaleUpGraph(num_switches=0, cables=cables)


def _pcie_tree(num_gpus: int, scale_up: ScaleUp) -> ScaleUpGraph:
    """GPUs dealt evenly to the PCIe switches, and those to one host bridge."""
    num_switches = min(scale_up.num_switches, num_gpus)
    bridge = num_gpus + num_switches
    uplinks = tuple(
        LocalCable(lower=num_gpus + switch, upper=bridge, rate_bps=scale_up.link_rate_bps)
        for switch in range(num_switches)
    )
    slots = tuple(
        LocalCable(
            lower=gpu,
            upper=num_gpus + gpu * num_switches // num_gpus if num_switches else bridge,
            rate_bps=scale_up.link_rate_bps,
        )
        for gpu in range(num_gpus)
    )
    return ScaleUpGraph(num_switches=num_switches + 1, cables=slots + uplinks)
