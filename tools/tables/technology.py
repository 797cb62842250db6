"""Run every technology packet by packet: the table of docs/models/packet.md."""

from __future__ import annotations

from typing import Any

import netloom as nl
from netloom.parts.load import load_catalog

SIZE = {"size": "1MiB"}
ALONE = SIZE | {"kind": "one-to-one", "source": 16, "target": 0}
INCAST = SIZE | {"kind": "incast", "target": 0, "first": 16, "fan_in": 8}
PERMUTATION = SIZE | {"kind": "permutation"}
TOPOLOGY = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}


def found(technology: str, traffic: dict[str, Any]) -> dict[str, Any]:
    """Return what a simulation of *traffic* on four leaves gives."""
    fabric = {"technology": technology, "topology": TOPOLOGY}
    cluster = {"gpus": 64, "node": "dgx-h100", "fabric": fabric}
    return nl.simulate(nl.load({"cluster": cluster, "traffic": [traffic]})).to_json()


def crowded(technology: str, traffic: dict[str, Any]) -> str:
    """Return two cells: the slowest flow's slowdown, and pauses, drops and trims."""
    one = found(technology, traffic)
    return f"{one['slowdown']['max']:.2f} | {one['pauses']}, {one['drops']}, {one['trims']}"


def row(technology: str) -> str:
    """Return a row of the table."""
    alone = found(technology, ALONE)
    cells = (
        f"`{technology}`",
        f"{alone['slowdown']['max']:.3f}, {alone['fct_s']['max'] * 1e6:.0f} us",
        crowded(technology, INCAST),
        crowded(technology, PERMUTATION),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for name in load_catalog().technologies:
        print(row(name), flush=True)
