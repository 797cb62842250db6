"""``netloom simulate --seeds 8`` on two cores, over one seed."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.packet import permutation

NUM_HOSTS: Final = 1024
SIZE_BYTES: Final = 10_000_000
REPEATS: Final = 5
# A fat tree of switches with 16 ports, in htsim's words.
TOPOLOGY: Final = """Nodes 1024
Tiers 3
Podsize 64
Tier 0
Downlink_speed_Gbps 400
Radix_Up 8
Radix_Down 8
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 400
Radix_Up 8
Radix_Down 8
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 400
Radix_Down 16
Downlink_Latency_ns 1000
"""


def eight_seeds_against_one() -> None:
    """Print what the command takes with eight seeds, over what it takes with one.

    In turns, since a machine's clock and caches change while it is measured; the medians count.
    """
    with TemporaryDirectory() as folder:
        case = _written(Path(folder))
        pairs = [(_wall_s(case, 1), _wall_s(case, 8)) for _ in range(REPEATS)]
    ratios = sorted(eight / one for one, eight in pairs)
    one_s, eight_s = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(
        f"\nnetloom simulate, permutation of {NUM_HOSTS:,} hosts, {SIZE_BYTES / 1e6:g} MB each: "
        f"one seed {one_s:.1f} s, eight {eight_s:.1f} s on {os.cpu_count()} cores, "
        f"{statistics.median(ratios):.2f} times as long ({ratios[0]:.2f} to {ratios[-1]:.2f} in "
        f"{REPEATS})"
    )


def _written(folder: Path) -> tuple[str, ...]:
    """Write the case's files; return the options that name them."""
    topology, flows = folder / "fat_tree.topo", folder / "permutation.cm"
    topology.write_text(TOPOLOGY)
    target = permutation(NUM_HOSTS, SIZE_BYTES).target
    lines = [f"{i}->{to} id {i + 1} start 0 size {SIZE_BYTES}" for i, to in enumerate(target)]
    flows.write_text("\n".join([f"Nodes {NUM_HOSTS}", f"Connections {NUM_HOSTS}", *lines, ""]))
    return ("--topology", str(topology), "--flows", str(flows), "--technology", "rocev2-400g")


def _wall_s(case: tuple[str, ...], seeds: int) -> float:
    netloom = str(Path(sys.executable).with_name("netloom"))
    command = (netloom, "simulate", "--engine", "packet", "--json", *case, "--seeds", str(seeds))
    begin_s = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return time.perf_counter() - begin_s
