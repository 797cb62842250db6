"""Run IRN's comparisons, all three metrics of each: the table of docs/models/packet.md.

Usage: python tools/tables/irn.py [FLOWS [SEED]]
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from netloom.validation.fct.cases import FctCase, shipped_cases
from netloom.validation.fct.measures import RunContext, irn_ratios
from netloom.validation.fct.setups import network_of


def comparisons() -> dict[str, FctCase]:
    """Return a case for each pair of schemes that the shipped cases compare, and one pair more."""
    found = {case.scheme: case for case in shipped_cases() if case.pattern == "heavy-tailed"}
    first = next(iter(found.values()))
    return {**found, "irn-pfc over irn": replace(first, scheme="irn-pfc over irn")}


def row(case: FctCase, seed: int) -> str:
    """Return a row of the table: mean slowdown, mean completion, its 99th percentile."""
    bench = RunContext(wiring=network_of(case.fabric), seed=seed, on_progress=None)
    ratios = irn_ratios(case, bench, np.random.default_rng(seed))
    metrics = " / ".join(f"{ratio:.2f}" for ratio in ratios)
    return f"| {case.scheme} | {case.num_flows} flows | {metrics} |"


if __name__ == "__main__":
    num_flows = int(sys.argv[1]) if len(sys.argv) > 1 else None
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for one in comparisons().values():
        asked = one if num_flows is None else replace(one, num_flows=num_flows)
        print(row(asked, seed), flush=True)
