"""The machine that a table of measurements means by the name of a GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node

__all__ = ["node_named"]

# What people write for a GPU on its vendor's own board, where they do not write it out.
_SHORT: Final = {
    "GB300": "gb300-nvl72",
    "GB200": "gb200-nvl72",
    "GH200": "gh200-4",
    "B300": "dgx-b300",
    "B200": "dgx-b200",
    "H200": "dgx-h200",
    "H100": "dgx-h100",
    "H800": "hgx-h800",
    "H20": "hgx-h20",
    "A800": "hgx-a800",
    "A100": "dgx-a100",
    "V100": "dgx-1v",
    "P100": "dgx-1p",
    "MI355X": "mi355x-8",
    "MI325X": "mi325x-8",
    "MI300X": "mi300x-8",
    "MI250X": "oam-hcm-8",
}
_PCIE_NODE: Final = "pcie-h100-8"
_PCIE_NODES: Final = {"H100": _PCIE_NODE, "A100": "pcie-a100-8"}
# PCIe generation of cards that have no node of their own in the catalogue (NVIDIA data sheets).
_PCIE_TREES: Final = {"V100": "pcie3", "P100": "pcie3"}
_ASSUMED_NODE: Final = "dgx-a100"
_MAX_SHOWN: Final = 60


def node_named(gpu: str, *, scale_up: str, catalog: Catalog) -> tuple[Node, tuple[str, ...]]:
    """Return the node that *gpu* and *scale_up*, free text, mean, and what had to be assumed.

    Names count whole, so that a GH200 is not taken for an H200; a remark in brackets is none.

    Raises:
        SpecError: the GPU is not one that the catalogue has a node of.
    """
    if not gpu or gpu.lower().startswith("not stated"):
        # The level of the only such table, 92 GB/s on four nodes, is that of 800 Gb/s a node.
        node = catalog.nodes[_ASSUMED_NODE].model_copy(update={"num_nics": 4})
        return node, ("The GPU is not stated; A100 nodes with 4 x 200 Gb/s assumed.",)
    words = _words(gpu.partition("(")[0])
    if "PCIE" in words or scale_up.upper().startswith("PCI"):
        return _on_pcie(gpu, words, catalog)
    if "NVL" in words:
        raise _unknown(gpu, "pairs of cards joined by NVLink bridges are no node of the catalogue")
    return catalog.nodes[_meant(gpu, words, catalog)], ()


def _words(text: str) -> tuple[str, ...]:
    """Return the words of *text* in capitals, ``8x`` before a name taken off."""
    found = (re.sub(r"^\d+X(?=\D)", "", word) for word in re.findall(r"[A-Z0-9]+", text.upper()))
    return tuple(word for word in found if word)


def _meant(gpu: str, words: tuple[str, ...], catalog: Catalog) -> str:
    """Return the one node that *words* name: by its own name, or by that of its GPU."""
    said = _framed(words)
    whole = [node for node in catalog.nodes if _framed(_words(node)) == said]
    if whole:
        return whole[0]
    known = _names(catalog)
    hits = [name for name in known if name in said]
    longest = [name for name in hits if not any(name in hit for hit in hits if hit != name)]
    meant = {known[name] for name in longest}
    if len(meant) != 1:
        raise _unknown(gpu, "it names several" if meant else "")
    return meant.pop()


def _framed(words: tuple[str, ...]) -> str:
    return f" {' '.join(words)} "


def _names(catalog: Catalog) -> dict[str, str]:
    """Return the node that each name of a GPU stands for: the first that has it."""
    written: dict[str, str] = {}
    for node in catalog.nodes.values():
        written.setdefault(_framed(_words(node.gpu)), node.name)
    return written | {_framed((name,)): node for name, node in _SHORT.items()}


def _on_pcie(gpu: str, words: tuple[str, ...], catalog: Catalog) -> tuple[Node, tuple[str, ...]]:
    own = next((node for card, node in _PCIE_NODES.items() if card in words), None)
    if own is not None:
        return catalog.nodes[own], ()
    node = catalog.nodes[_PCIE_NODE]
    name = next((name for name in _PCIE_TREES if name in words), None)
    if name is None:
        raise _unknown(gpu, "such a PCIe card is not in the catalogue")
    board = catalog.nodes[_SHORT[name]]
    like = {
        "gpu": board.gpu,
        "nic": board.nic,
        "host_rate_bps": board.host_rate_bps,
        "scale_up": _PCIE_TREES[name],
    }
    said = (
        f"{name} cards have no node in the catalogue; eight on a {like['scale_up']} tree assumed."
    )
    return node.model_copy(update=like), (said,)


def _unknown(gpu: str, why: str) -> SpecError:
    shown = gpu if len(gpu) <= _MAX_SHOWN else gpu[:_MAX_SHOWN] + "..."
    reason = f" ({why})" if why else ""
    return SpecError(
        what=f"unknown GPU {shown!r}{reason}", remedy="'netloom catalog nodes' lists the known"
    )
