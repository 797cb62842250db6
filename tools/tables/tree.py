"""Run trees, their hops and pairs of flows on one rail: the table of docs/models/packet.md."""

from __future__ import annotations

import numpy as np

import netloom as nl
from netloom.study.simulate.choices import Choices
from netloom.workload.exchange_tree import double_tree

Traffic = list[dict[str, object]]

# A technology, and what stands in for its own congestion control.
ROWS = (
    ("rocev2-400g", ""),
    ("rocev2-400g", "dcqcn-firmware"),
    ("rocev2-400g", "none"),
    ("spectrum-x-400g", ""),
    ("spectrum-x-400g", "none"),
    ("uet-400g", ""),
    ("infiniband-ndr", ""),
    ("scheduled-400g", ""),
    ("iwarp-100g", ""),
    ("iwarp-100g", "dctcp"),
    ("tcp-100g", ""),
)


def tree(size: str) -> Traffic:
    """Return all-reduces over two trees on every rail."""
    kind = {"kind": "collective", "operation": "all-reduce", "algorithm": "tree"}
    return [{**kind, "group": 8, "stride": 8, "size": size}]


def hops(size: str) -> Traffic:
    """Return every hop of the two trees of one rail, each as one message."""
    dag = double_tree([np.array([8 * node]) for node in range(8)], 16_000_000, slices=1)
    ends = zip(dag.source.tolist(), dag.target.tolist(), strict=True)
    return [{"kind": "one-to-one", "source": a, "target": b, "size": size} for a, b in ends]


def pair(size: str) -> Traffic:
    """Return two messages into one port."""
    return [{"kind": "one-to-one", "source": a, "target": 0, "size": size} for a in (8, 16)]


COLUMNS = {
    "tree, 1 MB": tree("1MB"),
    "16 MB": tree("16MB"),
    "64 MB": tree("64MB"),
    "hops of 8 MB": hops("8MB"),
    "32 MB": hops("32MB"),
    "two flows of 1 MB": pair("1MB"),
    "8 MB": pair("8MB"),
    "32 MB each": pair("32MB"),
}


def excess(technology: str, scheme: str, traffic: Traffic) -> float:
    """Return by how much packets take longer than flows, in percent."""
    fabric = {"technology": technology, "topology": {"kind": "rail-fat-tree"}}
    cluster = {"gpus": 64, "node": "dgx-h100", "fabric": fabric}
    scenario = nl.load({"cluster": cluster, "traffic": traffic})
    packets = nl.simulate(scenario, choices=Choices(congestion_control=scheme)).first.span_s
    return 100 * (packets / nl.simulate(scenario, engine="flow").first.span_s - 1)


def main() -> None:
    """Print the table."""
    print(f"| technology | {' | '.join(COLUMNS)} |")
    print(f"|---|{'---|' * len(COLUMNS)}")
    for technology, scheme in ROWS:
        name = f"`{technology}`" + (f", `--cc {scheme}`" if scheme else "")
        cells = [f"{excess(technology, scheme, traffic):+.1f}" for traffic in COLUMNS.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
