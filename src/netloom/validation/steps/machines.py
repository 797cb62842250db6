"""The machines and networks that published training steps ran on, from their free text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Gpu, Node
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["network_of_row"]

# The first that occurs in a row's GPU column decides; longer names stand before shorter ones.
_NODES: Final = (
    ("GB300", "gb300-nvl72"),
    ("GB200", "gb200-nvl72"),
    ("B300", "dgx-b300"),
    ("B200", "dgx-b200"),
    ("GH200", "gh200-4"),
    ("H200", "dgx-h200"),
    ("H800", "hgx-h800"),
    ("H20", "hgx-h20"),
    ("A800", "hgx-a800"),
    ("H100-PCIE", "pcie-h100-8"),
    ("H100", "dgx-h100"),
    ("A100-SXM-40GB", "dgx-a100-320gb"),
    ("A100", "dgx-a100"),
    ("V100-SXM3", "dgx-2"),
    ("V100", "dgx-1v"),
    ("MI355X", "mi355x-8"),
    ("MI325X", "mi325x-8"),
    ("MI300X", "mi300x-8"),
    ("MI250X", "frontier"),
    ("GAUDI3", "gaudi3-8"),
    ("GAUDI-3", "gaudi3-8"),
    ("910B", "atlas-800t-a2"),
    ("910C", "atlas-800t-a3"),
)
_INFINIBAND: Final = {100: "edr", 200: "hdr", 400: "ndr", 800: "xdr"}
_GBPS_OF_NAME: Final = {"EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800}
_ETHERNET: Final = ("ROCE", "ETHERNET", "EFA", "GBE")


def network_of_row(row: MeasuredStep, catalog: Catalog) -> tuple[Network, tuple[str, ...]]:
    """Return the machines and network that *row* ran on, and what was assumed of them.

    Raises:
        SpecError: the GPU is not in the catalogue.
        CatalogError: no technology runs at the NICs' rate.
    """
    node, about_node = _node(row, catalog)
    node, technology, about_nics = _scale_out(row, node, catalog)
    gpu, about_gpu = _gpu(row, catalog.gpu(node.gpu))
    cluster = Cluster.model_validate(
        {
            "gpus": row.num_gpus,
            "node": node.name,
            "fabric": {"technology": technology, "topology": {"kind": "rail-fat-tree"}},
        }
    )
    parts = replace(
        catalog,
        nodes={**catalog.nodes, node.name: node},
        gpus={**catalog.gpus, gpu.name: gpu},
    )
    return network_of(cluster, parts), (*about_node, *about_nics, *about_gpu)


def _gpu(row: MeasuredStep, gpu: Gpu) -> tuple[Gpu, tuple[str, ...]]:
    """Return the GPU with the memory rate and power limit that the row's own text gives."""
    text = row.gpu.upper()
    update: dict[str, Any] = {}
    about: tuple[str, ...] = ()
    memory = re.search(r"(\d+(?:\.\d+)?)\s*TB/S", text)
    if memory:
        update["memory_rate_bps"] = 8e12 * float(memory[1])
    capped = re.search(r"(\d{3,4})\s*W CAP", text)
    if capped and gpu.power_w:
        # Power goes with the clock times the square of the voltage, which goes with the clock.
        slower = min(1.0, float(capped[1]) / gpu.power_w) ** (1 / 3)
        peak = {name: slower * rate for name, rate in gpu.peak.model_dump().items() if rate}
        update["peak"] = gpu.peak.model_copy(update=peak)
        if gpu.matmul_flops:
            update["matmul_flops"] = slower * gpu.matmul_flops
        about = (f"A limit of {capped[1]} W is taken to slow the clock by its cube root.",)
    return gpu.model_copy(update=update), about


def _node(row: MeasuredStep, catalog: Catalog) -> tuple[Node, tuple[str, ...]]:
    text = row.gpu.upper().replace(" ", "-")
    name = next((found for key, found in _NODES if key in text), None)
    if name is None:
        raise SpecError(what=f"row {row.row_id}: gpu {row.gpu!r} is not in the catalogue")
    node = catalog.node(name)
    most = node.num_gpus if node.num_gpus > 16 else row.gpus_per_node
    num_gpus = _filled(row.num_gpus, most)
    nics = max(1, node.num_nics * num_gpus // node.num_gpus)
    about = () if "not stated" not in row.gpu else ("The memory size is not stated.",)
    return node.model_copy(update={"num_gpus": num_gpus, "num_nics": nics}), about


def _filled(num_gpus: int, most: int) -> int:
    """Return the most GPUs of a node, up to *most*, that fill whole nodes."""
    if num_gpus <= most:
        return num_gpus
    return next(size for size in range(most, 0, -1) if num_gpus % size == 0)


def _scale_out(
    row: MeasuredStep, node: Node, catalog: Catalog
) -> tuple[Node, str, tuple[str, ...]]:
    text = row.text("scaleout").upper()
    count, gbps = _nics(text, node)
    about: tuple[str, ...] = ()
    if row.num_gpus > node.num_gpus and gbps is None:
        about = ("The NICs are not stated; those of the vendor's own node assumed.",)
    rate_gbps = gbps or int(catalog.nic(node.nic).rate_bps / 1e9)
    ethernet = any(word in text for word in _ETHERNET)
    name = f"rocev2-{rate_gbps}g" if ethernet else f"infiniband-{_INFINIBAND.get(rate_gbps, 'ndr')}"
    technology = catalog.technology(name)
    update = {"num_nics": count or node.num_nics, "nic": technology.nic}
    return node.model_copy(update=update), technology.name, about


def _nics(text: str, node: Node) -> tuple[int | None, int | None]:
    """Return the NICs of a node and their Gb/s as free text gives them."""
    named = next((gbps for name, gbps in _GBPS_OF_NAME.items() if name in text), None)
    rate = re.search(r"(\d{2,4})\s*GB", text)
    total = re.search(r"(\d{3,5})\s*GB/S PER NODE", text)
    if total and not named:
        each = 200 if int(total[1]) <= 1600 else 400
        return max(1, int(total[1]) // each), each
    count = re.search(r"(\d+)\s*X\s*\d{3}", text) or re.search(r"\bX\s*(\d+)", text)
    if "PER GPU" in text:
        return node.num_gpus, int(rate[1]) if rate else named
    whole = int(count[1]) if count else None
    # A node of which a job uses a part still has all its NICs, but they carry that part only.
    return whole, named or (int(rate[1]) if rate else None)
