"""Measure the peak memory of simulations beside its estimate: the table of docs/simulate.md.

Each in a process of its own; what that holds before the scenario is read does not count.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import netloom as nl
from netloom.parts.load import load_catalog
from netloom.study.simulate import flow as simulate_flow
from netloom.study.simulate import packet as simulate_packet
from netloom.study.simulate.memory import need_of
from netloom.study.simulate.run import case_of, run_case

LOADED = (simulate_flow, simulate_packet)  # native code, before anything is measured

MIB = 1 << 20
COLLECTIVE = {"kind": "collective", "operation": "all-reduce", "size": "4MB"}
ALL_TO_ALL = COLLECTIVE | {"operation": "all-to-all"}
# What, GPUs, technology, engine, the traffic, and where to stop, in microseconds.
CASES: list[tuple[str, int, str, Any, dict[str, Any], float]] = [
    ("all-to-all", 256, "uet-400g", "packet", ALL_TO_ALL | {"size": "64KB"}, 1e6),
    ("all-to-all", 512, "rocev2-400g", "packet", ALL_TO_ALL, 100),
    ("all-to-all", 1024, "infiniband-ndr", "packet", ALL_TO_ALL, 20),
    ("ring all-reduce", 512, "rocev2-400g", "packet", COLLECTIVE, 100),
    ("tree all-reduce", 2048, "infiniband-ndr", "packet", COLLECTIVE | {"algorithm": "tree"}, 100),
    ("permutation", 8192, "infiniband-ndr", "packet", {"kind": "permutation", "size": "1MB"}, 10),
    ("permutation", 2048, "scheduled-400g", "packet", {"kind": "permutation", "size": "1MB"}, 50),
    ("storage", 1024, "tcp-400g", "packet", {"kind": "storage", "servers": 64, "size": "1MB"}, 50),
    ("open loop", 512, "rocev2-400g", "packet", {"kind": "poisson", "duration": "5ms"}, 2000),
    ("all-to-all", 512, "infiniband-ndr", "flow", ALL_TO_ALL, 1),
    ("all-to-all", 1024, "rocev2-400g", "flow", ALL_TO_ALL, 1),
    ("ring all-reduce", 1024, "infiniband-ndr", "flow", COLLECTIVE, 1),
    ("permutation", 4096, "uet-400g", "flow", {"kind": "permutation", "size": "1MB"}, 1e6),
    ("permutation", 16384, "rocev2-400g", "flow", {"kind": "permutation", "size": "1MB"}, 1e6),
]


def measured(number: int) -> str:
    """Return a row of the table, measured in this process."""
    what, gpus, technology, engine, traffic, until_us = CASES[number]
    catalog = load_catalog()
    before = peak_bytes()
    fabric = {"technology": technology, "topology": {"kind": "fat-tree"}}
    scenario = nl.load({"cluster": {"gpus": gpus, "fabric": fabric}, "traffic": [traffic]})
    case = case_of(scenario, catalog, engine=engine)
    need = need_of(case.runner, case.traffic(0)).peak_bytes()
    run = run_case(case, until_ps=round(until_us * 1e6)).first
    peak = peak_bytes() - before
    return (
        f"| {what}, {gpus:,}, `{technology}`, {engine} | {len(run.transfers):,} | "
        f"{need // MIB:,} | {peak // MIB:,} | {need / peak:.2f} |"
    )


def peak_bytes() -> int:
    """Return the most that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure all, or the one whose number is given."""
    if len(sys.argv) > 1:
        print(measured(int(sys.argv[1])))
        return
    for number in range(len(CASES)):
        subprocess.run([sys.executable, __file__, str(number)], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
