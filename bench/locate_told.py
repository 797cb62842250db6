"""Faults located by what devices say of themselves: ``python -m bench.locate_told``.

Right or wrong, found or missed, and how well confidences hold, with witnesses as bad as the model
of testimony expects, and with worse ones.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.hearsay import EVERY_S, KINDS, NUM_LOOKS, START_S, Hearsay, Truth, World, draw
from bench.locate import calibration
from bench.locate_held_out import NOISES, Setting, fabric_of
from bench.locate_held_out import scored as scored_by_flows
from netloom.ops.locate.device_findings import device_findings
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import read_window
from netloom.ops.observe.store import ObservationStore
from netloom.ops.plant import plant_of

if TYPE_CHECKING:
    from netloom.ops.locate.findings import Finding

USUAL = Hearsay()
ROWS: dict[str, tuple[Hearsay, dict[str, object], int]] = {
    "as expected": (USUAL, {"kind": "fat-tree"}, 16),
    "nothing missing": (replace(USUAL, missing=0.0), {"kind": "fat-tree"}, 16),
    "30 % of ports missing": (replace(USUAL, missing=0.3), {"kind": "fat-tree"}, 16),
    "false reports x 10": (
        replace(USUAL, false=1e-3, silent=1e-2, races=1e-3, lost=1e-2),
        {"kind": "fat-tree"},
        16,
    ),
    "wrong ones stay wrong": (replace(USUAL, sticks=0.9), {"kind": "fat-tree"}, 16),
    "stale devices 10 %": (replace(USUAL, stale=0.1), {"kind": "fat-tree"}, 16),
    "all clocks differ": (replace(USUAL, late=0.5), {"kind": "fat-tree"}, 16),
    "bursts x 5": (replace(USUAL, bursts=0.025), {"kind": "fat-tree"}, 16),
    "bursts twice as large": (replace(USUAL, burst_count=50.0), {"kind": "fat-tree"}, 16),
    "counters reset on 20 %": (replace(USUAL, resets=0.2), {"kind": "fat-tree"}, 16),
    "rail-optimised": (USUAL, {"kind": "rail-fat-tree"}, 16),
    "oversubscribed 4:1": (
        USUAL,
        {"kind": "fat-tree", "tiers": 2, "oversubscription": 4},
        16,
    ),
    "dragonfly+": (USUAL, {"kind": "dragonfly-plus"}, 16),
}
PER_KIND = 4
MEMORY = "/dev/shm"  # noqa: S108  (folders of our own; a disk would take most of the time)
HEALTHY = 15


@dataclass
class Score:
    """What one row gave."""

    found: int = 0
    first: int = 0
    truths: int = 0
    right: int = 0
    wrong: int = 0
    alarms: int = 0
    healthy: int = 0
    missed: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    sure: list[tuple[float, bool]] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)

    def line(self, name: str) -> str:
        precision = self.right / max(self.right + self.wrong, 1)
        return (
            f"  {name:<24} top-1 {self.first / max(self.truths, 1):6.1%}  precision "
            f"{precision:6.1%}  recall {self.found / max(self.truths, 1):6.1%}  false alarms "
            f"{self.alarms} in {self.healthy} healthy windows  ECE {calibration(self.sure):.3f}"
        )


def names_it(truth: Truth, finding: Finding) -> bool:
    return str(finding.part.whole) in truth.parts and finding.kind in truth.kinds


def one_window(
    network: DesignedNetwork, truths: tuple[Truth, ...], noise: Hearsay, rng: np.random.Generator
) -> tuple[tuple[Finding, ...], float]:
    """Return what is found, and in how many seconds of processor time."""
    memory = MEMORY if Path(MEMORY).is_dir() else None
    with (
        tempfile.TemporaryDirectory(dir=memory) as folder,
        ObservationStore(Path(folder) / "a.db") as store,
    ):
        World(network=network, truths=truths, noise=noise, rng=rng).play(store)
        end_s = START_S + EVERY_S * (NUM_LOOKS - 1)
        begun_s = time.process_time()
        found = device_findings(network, read_window(store, end_s - 600, end_s))
        return found, time.process_time() - begun_s


def scored(noise: Hearsay, topology: dict[str, object], nodes: int, seed: int) -> Score:
    """Return how one row fares."""
    rng = np.random.default_rng(seed)
    fabric = fabric_of(topology, nodes)
    network = DesignedNetwork(fabric=fabric, plant=plant_of(fabric), rate_bps=lambda c: c.rate_bps)
    score = Score()
    for name in [*(PER_KIND * KINDS), *([""] * HEALTHY)]:
        truths = (draw(network, rng, name),) if name else ()
        found, took_s = one_window(network, truths, noise, rng)
        add(score, truths, found)
        score.times_s.append(took_s)
    return score


def add(score: Score, truths: tuple[Truth, ...], found: tuple[Finding, ...]) -> None:
    """Add how one window went."""
    hits = [any(names_it(true, one) for true in truths) for one in found]
    score.sure += [(one.confidence, hit) for one, hit in zip(found, hits, strict=True)]
    score.strange += [
        f"{one.part}: {one.kind} ({one.confidence:.2f}) beside {[t.name for t in truths]}"
        for one, hit in zip(found, hits, strict=True)
        if not hit
    ]
    score.right += sum(hits)
    score.wrong += hits.count(False)
    if not truths:
        score.healthy += 1
        score.alarms += bool(found)
    for true in truths:
        score.truths += 1
        seen = any(names_it(true, one) for one in found)
        score.found += seen
        score.first += bool(hits) and hits[0]
        if not seen:
            score.missed.append(f"{true.name} since look {true.since}")


def what_devices_say(names: list[str] | None = None) -> None:
    """Print a line for each row, and with ``-v`` what was missed or wrong; then both kinds.

    Other names choose rows; a number among them is added to every seed.
    """
    names = names or []
    more = sum(int(name) for name in names if name.isdigit())
    wanted = [name for name in names if name != "-v" and not name.isdigit()]
    sure: list[tuple[float, bool]] = []
    print("\nWhat devices say, 55 windows a row:")
    for number, (name, row) in enumerate(ROWS.items()):
        if wanted and not any(one in name for one in wanted):
            continue
        score = scored(*row, seed=3000 + number + more)
        sure += score.sure
        print(score.line(name), flush=True)
        if "-v" in names:
            print("    missed:", "; ".join(score.missed))
            print("    wrong:", "; ".join(score.strange))
    flows = located_by_flows(4000 + more)
    print(
        f"  ECE of {len(sure)} findings that devices tell {calibration(sure):.3f}, of {len(flows)} "
        f"that flows tell {calibration(flows):.3f}, of both {calibration(sure + flows):.3f}"
    )


def located_by_flows(seed: int) -> list[tuple[float, bool]]:
    """Return confidence and truth of findings from flows, with noise as tuned and three worse."""
    fabric = fabric_of({"kind": "fat-tree"}, 16)
    names = ("as tuned", "30 % of counters missing", "rates scatter x 2", "odd flows x 3")
    rows = [
        Setting(name=name, fabric=fabric, noise=NOISES[name], seed=seed + number)
        for number, name in enumerate(names)
    ]
    return [one for row in rows for one in scored_by_flows(row).sure]


if __name__ == "__main__":
    what_devices_say(sys.argv[1:])
