"""Which node and which technology a log speaks of, where it says enough."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node, Technology

__all__ = ["ClusterFacts", "is_gpu", "node_of_facts", "technology_of_facts"]

_WORD: Final = re.compile(r"[A-Z0-9]+", re.ASCII)
_MODEL: Final = re.compile(r"(?:GB|GH|MI|[ABHPV])\d{2,3}[A-Z]?", re.ASCII)
_GB: Final = re.compile(r"(\d{2,3})GB", re.ASCII)
_MAX_EFA_V1: Final = 4  # NICs of 100 Gb/s in a node of the first generation; 32 in the second
_INFINIBAND: Final = {100: "edr", 200: "hdr", 400: "ndr", 800: "xdr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """What logs say of the cluster; empty or 0 where they do not.

    Attributes:
        gpu: As the driver calls it: ``NVIDIA H100 80GB HBM3``.
        per_node: Ranks on one host.
        way: How bytes get to the wire: ``ib``, ``sockets``, ``ofi``, ``tcpx`` or ``tcpxo``.
        provider: Of libfabric: ``efa``, ``cxi``.
        link: ``IB`` or ``RoCE``.
        rate_bps: Of one NIC.
        num_nics: Of a host.
    """

    gpu: str = ""
    per_node: int = 0
    way: str = ""
    provider: str = ""
    link: str = ""
    rate_bps: float = 0.0
    num_nics: int = 0


def node_of_facts(facts: ClusterFacts, technology: Technology, catalog: Catalog) -> Node:
    """Return the one node of the catalogue that logs can mean.

    Raises:
        SpecError: none or several fit.
    """
    fitting = [node for node in catalog.nodes.values() if is_gpu(facts.gpu, node.gpu)]
    for kept in (
        [node for node in fitting if node.num_gpus // node.num_hosts == facts.per_node],
        [node for node in fitting if node.nic == technology.nic],
        [node for node in fitting if node.num_nics // node.num_hosts == facts.num_nics],
        [node for node in fitting if node.name.startswith("dgx")],
    ):
        fitting = [node for node in fitting if node in kept] or fitting
    if facts.gpu and len(fitting) == 1:
        return fitting[0]
    said = f"{facts.gpu!r} on {facts.per_node} ranks a host" if facts.gpu else "no GPU"
    raise SpecError(
        option="--node",
        what=f"the logs name {said}, which does not tell the node",
        remedy=_choose(node.name for node in fitting) if facts.gpu else "name it, or --scenario",
    )


def technology_of_facts(facts: ClusterFacts, catalog: Catalog) -> Technology:
    """Return the technology that logs of NCCL tell of.

    Raises:
        SpecError: they do not.
    """
    name = _technology_name(facts)
    if name in catalog.technologies:
        return catalog.technologies[name]
    said = (
        f"the network {facts.way} at {facts.rate_bps / 1e9:g} Gb/s" if facts.way else "no network"
    )
    raise SpecError(
        option="--technology",
        what=f"the logs name {said}, which does not tell the technology",
        remedy="name it, or --scenario; logs with NCCL_DEBUG=INFO tell it",
    )


def _technology_name(facts: ClusterFacts) -> str:
    gbps = round(facts.rate_bps / 1e9)
    if facts.way == "ofi":
        return "slingshot-11" if facts.provider == "cxi" else _efa(gbps, facts.num_nics)
    names = {
        "tcpx": "tcpx-200g",
        "tcpxo": "tcpxo-200g",
        "sockets": f"tcp-{gbps}g",
        "ib": f"infiniband-{_INFINIBAND.get(gbps, '')}",
    }
    on_ethernet = facts.way == "ib" and facts.link.upper() == "ROCE"
    return f"rocev2-{gbps}g" if on_ethernet else names.get(facts.way, "")


def _efa(gbps: int, num_nics: int) -> str:
    slow = "efa-v1" if num_nics <= _MAX_EFA_V1 else "efa-v2"
    return {100: slow, 200: "efa-v3", 400: "efa-v4"}.get(gbps, "")


def is_gpu(said: str, known: str) -> bool:
    """Return whether the driver's name of a GPU can mean that of the catalogue."""
    words, ours = _WORD.findall(said.upper()), _WORD.findall(known.upper())
    models = [word for word in words if _MODEL.fullmatch(word)]
    if not models or models[0] != ours[0]:
        return False
    stated, kept = _memory(words), _memory(ours)
    on_pcie = "PCIE" in words
    return (not stated or not kept or stated == kept) and on_pcie == ("PCIE" in ours)


def _memory(words: Sequence[str]) -> str:
    return next((found[1] for word in words if (found := _GB.fullmatch(word))), "")


def _choose(names: Iterable[str]) -> str:
    listed = list(names)
    return f"choose {' or '.join(listed)}" if listed else "'netloom catalog nodes' lists the known"
