"""Run IRN's comparisons, all three metrics of each: the table of docs/models/packet.md.

Usage: python tools/irn_table.py [FLOWS [SEED]]
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from netloom.study.validate_fct_cases import FctCase, shipped_cases
from netloom.study.validate_fct_measures import Bench, irn_ratios
from netloom.study.validate_fct_setups import network_of


def comparisons() -> dict[str, FctCase]:
    """Return a case for each pair of schemes that the shipped cases compare."""
    return {case.scheme: case for case in shipped_cases() if case.pattern == "heavy-tailed"}


def row(case: FctCase, seed: int) -> str:
    """Return a row of the table: mean slowdown, mean completion, its 99th percentile."""
    bench = Bench(wiring=network_of(case.fabric), seed=seed, on_progress=None)
    ratios = irn_ratios(case, bench, np.random.default_rng(seed))
    return f"| {case.scheme} | {' / '.join(f'{ratio:.2f}' for ratio in ratios)} |"


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    num_flows, seed = given + [4000, 1][len(given) :]
    for one in comparisons().values():
        print(row(replace(one, num_flows=num_flows), seed), flush=True)
