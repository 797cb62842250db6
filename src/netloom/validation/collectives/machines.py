"""Which machine of the catalogue a row of measurements ran on, and which rows share a machine."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.validation.collectives.gpu_aliases import node_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node
    from netloom.validation.collectives.measurement import Measurement

__all__ = ["machine_of", "node_of", "with_machines"]

# Cloud shapes and supercomputers by what people call them; the first that is found counts.
_SHAPES: Final = (
    (r"AWS P4DE", "aws-p4de"),
    (r"AWS P4D?\b", "aws-p4d"),
    (r"AWS P5EN", "aws-p5en"),
    (r"AWS P5\b", "aws-p5"),
    (r"AWS P6", "aws-p6-b200"),
    (r"\bA3.HIGH", "gcp-a3-high"),
    (r"\bA3.MEGA", "gcp-a3-mega"),
    (r"\bND.A100.V4", "azure-nd-a100-v4"),
    (r"\bND.H100.V5", "azure-nd-h100-v5"),
    (r"\bBM\.GPU\.B4\.8", "oci-bm-gpu-b4-8"),
    (r"\bPOLARIS", "polaris"),
    (r"\bPERLMUTTER", "perlmutter"),
    (r"\bFRONTIER", "frontier"),
)
# Boards of four without switch, and shapes with EFA, by their GPU.
_QUADS: Final = {"A100-SXM-40GB": "a100-4", "A100-SXM-80GB": "a100-4", "H100-SXM-80GB": "h100-4"}
_EFA: Final = {
    "A100-SXM-40GB": "aws-p4d",
    "A100-SXM-80GB": "aws-p4de",
    "H100-SXM-80GB": "aws-p5",
    "H200-SXM": "aws-p5en",
    "B200-SXM": "aws-p6-b200",
}
_QUAD_GPUS: Final = 4
# What follows the name of a machine: a library's version, a remark, who measured.
_VERSION: Final = re.compile(r"\s*(?:N|R)?CCL\s*[\d.]+\S*|\s*\(.*?\)", re.IGNORECASE)
_CLOUD: Final = re.compile(r"(?:AWS\s+P\d\w*|AZURE\s+ND\s\w+\sV\d|GCP\s+A\d\s+\w+)", re.IGNORECASE)


def machine_of(row: Measurement) -> str:
    """Return the machine of *row*: all library versions together, cloud shapes by generation."""
    if not row.cluster:
        return f"{row.source.split()[0]}: {row.gpu}" if row.source else row.gpu
    name = _VERSION.sub("", row.cluster).replace("_", " ").strip()
    shape = _CLOUD.match(name)
    return shape[0] if shape else name


def with_machines(rows: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """Return *rows* that know how many GPUs a node of their cluster has: the most in any row."""
    listed = tuple(rows)
    most: defaultdict[str, int] = defaultdict(int)
    for row in listed:
        most[row.cluster] = max(most[row.cluster], row.gpus_per_node)
    return tuple(
        replace(row, machine_gpus=most[row.cluster]) if row.cluster else row for row in listed
    )


def node_of(row: Measurement, catalog: Catalog) -> tuple[Node, tuple[str, ...]]:
    """Return the node that *row* ran on, and what had to be assumed.

    Raises:
        SpecError: the GPU is not one that the catalogue has a node of.
    """
    node, assumed = node_named(row.gpu, scale_up=row.scale_up, catalog=catalog)
    name = _shape(row, node, catalog) or _board(row, node)
    return (catalog.nodes[name] if name else node), assumed


def _shape(row: Measurement, node: Node, catalog: Catalog) -> str:
    """Return the cloud shape or supercomputer that *row* names, where it has such GPUs."""
    text = f"{row.cluster} {row.gpu}".upper().replace("_", " ")
    family = catalog.gpus[node.gpu].architecture
    for pattern, name in _SHAPES:
        if re.search(pattern, text):
            meant = catalog.nodes[name]
            same = catalog.gpus[meant.gpu].architecture == family
            return name if same and meant.num_gpus >= row.gpus_per_node else ""
    return ""


def _board(row: Measurement, node: Node) -> str:
    """Return the node by the GPUs and NICs that a node of the cluster has; empty for *node*."""
    num_gpus = row.machine_gpus or row.gpus_per_node
    network = f"{row.technology} {row.scale_out}".upper()
    if node.gpu.startswith("GH200"):
        return _grace_hopper(row, num_gpus)
    if num_gpus == _QUAD_GPUS and row.num_nics <= _QUAD_GPUS and node.gpu in _QUADS:
        if node.gpu.startswith("A100") and "SLINGSHOT" in network:
            return "polaris" if 0 < row.num_nics < _QUAD_GPUS else "perlmutter"
        return _QUADS[node.gpu]
    return _by_network(network, node)


def _by_network(network: str, node: Node) -> str:
    if node.gpu == "MI250X" and "SLINGSHOT" in network:
        return "frontier"
    if "TCPX" in network and node.gpu.startswith("H100"):
        return "gcp-a3-mega" if "TCPXO" in network else "gcp-a3-high"
    return _EFA.get(node.gpu, "") if "EFA" in network else ""


def _grace_hopper(row: Measurement, num_gpus: int) -> str:
    if "NVL2" in f"{row.gpu} {row.scale_up}".upper():
        return "gh200-2"
    alone = num_gpus == 1 and row.num_nics < _QUAD_GPUS
    unstated = not num_gpus and row.num_nodes == row.num_ranks
    return "gh200-1" if alone or unstated else "gh200-4"
