"""Published measurements of collectives, and the machines they were made on.

A row says in free text what it ran on. This module turns that into a network of catalogue
parts, and says aloud what it had to assume where the row is silent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.engines.base import bus_factor
from netloom.errors import SpecError
from netloom.fabric.design import Design, Reach, Stage, Tier
from netloom.fabric.network import Network
from netloom.spec.topology import FatTree
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.catalog.load import Catalog
    from netloom.catalog.parts import Node, Technology

__all__ = ["Case", "Measurement", "case_of", "read_measurement"]

# The first that occurs in a row's GPU column decides; longer names stand before shorter ones.
_NODES = (
    ("GB300", "gb300-nvl72"),
    ("GB200", "gb200-nvl72"),
    ("B300", "dgx-b300"),
    ("B200", "dgx-b200"),
    ("H200", "dgx-h200"),
    ("H100-PCIE", "pcie-h100-8"),
    ("H100", "dgx-h100"),
    ("A100", "dgx-a100"),
    ("V100", "dgx-1v"),
    ("MI355X", "mi355x-8"),
    ("MI325X", "mi325x-8"),
    ("MI300X", "mi300x-8"),
    ("MI250X", "oam-hcm-8"),
)
_ASSUMED_NODE = "dgx-a100"
_ASSUMED_SIZE_BYTES = 2.0**34
_GBPS_OF_NAME = {"EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800}
_INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr"}
_INFINIBAND[800] = "infiniband-xdr"
# What AWS puts in a node (ml-engineering, network/README.md: 50 GB/s a GPU in P5 and P6).
_AWS = (("P6", "8x400G EFA"), ("P5", "32x100G EFA"))
_EFA = {100: "EFA-v2", 200: "EFA-v3", 400: "EFA-v4"}
_ETHERNET = ("ROCE", "ETHERNET", "SLINGSHOT", "EFA", "GBE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One row of a table of measurements.

    Attributes:
        row_id: Its number in the file, from 1.
        bus_gbps: Bus bandwidth in GB/s.
        size_bytes: None where the row does not say.
        algorithm: What the library was told to use; empty when it chose.
        table: The file it stands in.
    """

    row_id: int
    kind: CollectiveKind
    gpu: str
    num_nodes: int | None
    num_ranks: int
    scale_out: str
    size_bytes: float | None
    bus_gbps: float
    source: str
    notes: str
    algorithm: str = ""
    table: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A measurement as something that can be predicted.

    Attributes:
        assumed: What the row does not say and we chose, a sentence each.
    """

    collective: Collective
    network: Network
    assumed: tuple[str, ...]


def read_measurement(row: Mapping[str, str], row_id: int, *, where: str) -> Measurement:
    """Return *row* of either table form: with ``nodes`` and ``scaleout`` columns, or without.

    Raises:
        SpecError: a column is missing or not a number.
    """
    at = f"{where}: row {row_id}"
    try:
        kind = CollectiveKind(row["collective"])
        ranks = int(row["ranks"])
    except (KeyError, ValueError) as error:
        message = f"{at}: needs a 'collective' such as all_reduce and a number of 'ranks' ({error})"
        raise SpecError(message) from error
    size = _number(row, "size_bytes", at=at)
    return Measurement(
        row_id=row_id,
        kind=kind,
        gpu=row.get("gpu", ""),
        num_nodes=_nodes(row, at=at),
        num_ranks=ranks,
        scale_out=row.get("scaleout") or "",
        size_bytes=size,
        bus_gbps=_bus_gbps(row, kind, ranks, size, at=at),
        source=row.get("source", where),
        notes=row.get("notes") or "",
        algorithm=(row.get("algo") or "").lower(),
        table=where,
    )


def _number(row: Mapping[str, str], key: str, *, at: str) -> float | None:
    text = (row.get(key) or "").strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError as error:
        message = f"{at}: {key} {text!r} is not a number; leave it empty when unknown"
        raise SpecError(message) from error


def _nodes(row: Mapping[str, str], *, at: str) -> int | None:
    if "nodes" not in row:
        return 1  # the short form of the table is for one node
    found = _number(row, "nodes", at=at)
    return None if found is None else int(found)


def _bus_gbps(
    row: Mapping[str, str], kind: CollectiveKind, ranks: int, size: float | None, *, at: str
) -> float:
    time_us = _number(row, "time_us", at=at)
    if time_us and size:
        group = Group(size=ranks, per_node=ranks)
        asked = Collective(kind=kind, size_bytes=size, group=group)
        return bus_factor(asked) * size / (time_us * 1e3)
    bus = _number(row, "busbw_GBps", at=at)
    if not bus:
        message = f"{at}: has neither time_us with size_bytes nor busbw_GBps above 0; add one"
        raise SpecError(message)
    return bus


def case_of(row: Measurement, catalog: Catalog) -> Case:
    """Return what was measured in *row* as a collective on a network of catalogue parts."""
    node, assumed = _node(row, catalog)
    num_nodes = row.num_nodes
    if num_nodes is None:
        num_nodes = 2 if row.scale_out else 1
        assumed = (*assumed, f"Nodes are not stated; {num_nodes} assumed.")
    node, technology, more = _scale_out(row, node, num_nodes, catalog)
    size = row.size_bytes
    if size is None:
        size = _ASSUMED_SIZE_BYTES
        more = (*more, "The size is not stated; 16 GiB assumed.")
    group = Group(size=row.num_ranks, per_node=-(-row.num_ranks // num_nodes))
    return Case(
        collective=Collective(kind=row.kind, size_bytes=size, group=group),
        network=_network(node, technology, num_nodes, catalog),
        assumed=(*assumed, *more),
    )


def _node(row: Measurement, catalog: Catalog) -> tuple[Node, tuple[str, ...]]:
    text = row.gpu.upper().replace(" ", "-")
    name = next((found for key, found in _NODES if key in text), None)
    if name is None:
        # The level of the only such table, 92 GB/s on four nodes, is that of 800 Gb/s a node.
        node = catalog.nodes[_ASSUMED_NODE].model_copy(update={"num_nics": 4})
        return node, ("The GPU is not stated; A100 nodes with 4 x 200 Gb/s assumed.",)
    return catalog.nodes[name], ()


def _scale_out(
    row: Measurement, node: Node, num_nodes: int, catalog: Catalog
) -> tuple[Node, Technology, tuple[str, ...]]:
    """Return the node with the row's NICs, the technology, and what was assumed."""
    text = row.scale_out or _aws(row.gpu)
    count, gbps = _nics(text)
    assumed: tuple[str, ...] = ()
    if num_nodes > 1 and (count is None or gbps is None):
        assumed = ("The NICs are not stated; those of the vendor's own node assumed.",)
    rate_gbps = gbps or int(catalog.nics[node.nic].rate_bps / 1e9)
    ethernet = any(word in text.upper() for word in _ETHERNET)
    name = f"rocev2-{rate_gbps}g" if ethernet else _INFINIBAND.get(rate_gbps, "infiniband-ndr")
    technology = catalog.technologies.get(name)
    if technology is None:
        message = f"row {row.row_id}: no technology runs NICs of {rate_gbps} Gb/s; see scaleout"
        raise SpecError(message)
    nic = _EFA.get(rate_gbps, technology.nic) if "EFA" in text.upper() else technology.nic
    update = {"num_nics": count or node.num_nics, "nic": nic}
    return node.model_copy(update=update), technology, assumed


def _aws(gpu: str) -> str:
    """Return the NICs of an AWS instance that the GPU column names, else nothing."""
    return next((nics for name, nics in _AWS if f"AWS {name}" in gpu.upper()), "")


def _nics(text: str) -> tuple[int | None, int | None]:
    """Return the NICs of a node and their Gb/s as free text gives them."""
    upper = text.upper()
    count = re.search(r"(\d+)\s*(?:X|NIC)", upper)
    named = next((gbps for name, gbps in _GBPS_OF_NAME.items() if name in upper), None)
    # In the text's own case: 400Gb/s is a rate in bits, 24GB/s is not. Then "8x400".
    rate = re.search(r"(\d{2,4})\s*G(?!B/s)", text) or re.search(r"X\s*(\d{3,4})\b", upper)
    gbps = int(rate[1]) if rate else named
    return (int(count[1]) if count else None), gbps


def _network(node: Node, technology: Technology, num_nodes: int, catalog: Catalog) -> Network:
    return Network(
        technology=technology,
        design=_one_switch(node, technology, num_nodes, catalog),
        node=node,
        gpu=catalog.gpus[node.gpu],
        nic=catalog.nics[node.nic],
        scale_up=catalog.scale_ups[node.scale_up],
        loss=0.0,
    )


def _one_switch(node: Node, technology: Technology, num_nodes: int, catalog: Catalog) -> Design:
    """Return a network in which the few nodes of a benchmark share leaves: nothing contends."""
    switch = catalog.switches[technology.switch]
    ports = num_nodes * node.num_nics
    leaf = Tier(name="leaf", num_switches=1, num_down=ports, num_up=0)
    cables = Stage(lower="node", upper="leaf", num_cables=ports, rate_bps=technology.rate_bps)
    reach = Reach(
        tier="leaf",
        num_nodes=num_nodes,
        num_hops=1,
        num_paths=1,
        num_links=0,
        num_switches=1,
        taper=1.0,
    )
    return Design(
        topology=FatTree(),
        num_nodes=num_nodes,
        num_gpus=num_nodes * node.num_gpus,
        num_rails=1,
        num_planes=1,
        num_ports=ports,
        port_rate_bps=technology.rate_bps,
        switch=switch,
        radix=switch.radix(technology.rate_bps),
        tiers=(leaf,),
        stages=(cables,),
        reaches=(reach,),
    )
