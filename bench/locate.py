"""Faults located, beside 007 and NetBouncer on the same observations."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np

from bench.locate_bouncer import blame_by_regression
from bench.locate_grid import draw_fault, same_part
from bench.locate_scene import scene_of, watch
from bench.locate_voting import blame_by_votes
from bench.locating.rows import WRONG, congested_row, several_row, sized_row
from netloom.fabric.build import build
from netloom.ops.locate.faults import FaultHypothesis, FaultKind, Scope
from netloom.ops.locate.search import suspect
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.locate_scene import Noise, Scene
    from netloom.fabric.graph import Fabric

# Nodes of 8 NICs; windows with one fault, with two, and with none.
# The largest first: it takes longest.
SIZES = ((512, 50, 25, 20), (128, 100, 50, 50), (64, 150, 75, 50), (16, 400, 150, 100))
VISIBLE_TO_BASELINES = {FaultKind.LOSS, FaultKind.LARGE_LOSS, FaultKind.BLACK_HOLE}


@dataclass
class Tally:
    """Right and wrong blames of one method."""

    first: int = 0
    windows: int = 0
    right: int = 0
    wrong: int = 0
    missed: int = 0
    alarms: int = 0
    healthy: int = 0

    def add(self, truth: tuple[FaultHypothesis, ...], blamed: list[FaultHypothesis]) -> None:
        if not truth:
            self.healthy += 1
            self.alarms += bool(blamed)
            return
        hits = [any(same_part(one, true) for true in truth) for one in blamed]
        found = sum(any(same_part(one, true) for one in blamed) for true in truth)
        if len(truth) == 1:
            self.windows += 1
            self.first += bool(hits) and hits[0]
        self.right += found
        self.missed += len(truth) - found
        self.wrong += hits.count(False)

    def merge(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def line(self, name: str) -> str:
        precision = self.right / max(self.right + self.wrong, 1)
        recall = self.right / max(self.right + self.missed, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        return (
            f"  {name:<24} top-1 {self.first / max(self.windows, 1):6.1%}  precision "
            f"{precision:6.1%}  recall {recall:6.1%}  F1 {f1:.3f}  false alarms "
            f"{self.alarms} in {self.healthy} healthy windows"
        )


@dataclass
class Score:
    """What one size of fabric gave."""

    ours: Tally = field(default_factory=Tally)
    votes: Tally = field(default_factory=Tally)
    regression: Tally = field(default_factory=Tally)
    times_s: list[float] = field(default_factory=list)
    sure: list[tuple[float, bool]] = field(default_factory=list)


def fabric_of(nodes: int) -> Fabric:
    """Return a fat tree of 64-port switches."""
    asked = {"technology": "infiniband-ndr", "topology": {"kind": "fat-tree"}}
    cluster = Cluster.model_validate({"nodes": nodes, "fabric": asked})
    network = network_of(cluster, load_catalog())
    return build(network.design, network.node, network.scale_up)


def score_size(size: tuple[int, int, int, int]) -> Score:
    """Return how one size of fabric fares."""
    nodes, singles, doubles, healthy = size
    rng = np.random.default_rng(nodes)
    fabric = fabric_of(nodes)
    score = Score()
    scene = scene_of(fabric, rng)
    counts = [1] * singles + [2] * doubles + [0] * healthy
    for turn, count in enumerate(counts):
        if turn % 50 == 49:
            scene = scene_of(fabric, rng)
        score_window(score, scene, count, rng)
    return score


def any_fault(scene: Scene, rng: np.random.Generator) -> FaultHypothesis:
    """Return a fault, whether flows notice it or not."""
    return draw_fault(scene.fabric, rng)


def score_window(
    score: Score,
    scene: Scene,
    num_faults: int,
    rng: np.random.Generator,
    noise: Noise | None = None,
    *,
    draw: Callable[[Scene, np.random.Generator], FaultHypothesis] = any_fault,
) -> None:
    """Draw faults, locate them and add to *score* how that went."""
    fabric = scene.fabric
    truth = tuple(draw(scene, rng) for _ in range(num_faults))
    seen = watch(scene, truth, rng, noise)
    start = time.process_time()
    found = suspect(fabric, seen)
    score.times_s.append(time.process_time() - start)
    score.ours.add(truth, [one.fault for one in found])
    score.sure += [
        (one.confidence, any(same_part(one.fault, true) for true in truth)) for one in found
    ]
    if all(fault.kind in VISIBLE_TO_BASELINES for fault in truth):
        links = fabric.num_links
        score.votes.add(truth, _as_faults(blame_by_votes(seen, links)))
        score.regression.add(truth, _as_faults(blame_by_regression(seen, links)))


def _as_faults(links: list[int]) -> list[FaultHypothesis]:
    return [
        FaultHypothesis(scope=Scope.LINK, index=link, kind=FaultKind.LOSS, magnitude=0.0)
        for link in links
    ]


def a_thousand_faults() -> None:
    """Print how well faults are located."""
    print("\n1,000 fault windows on fat trees of 128 to 4,096 NICs (007 and NetBouncer: those with")
    print("losses only, which is all they see; a switch is right for them by any of its cables):")
    total = Score()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        scores = list(pool.map(score_size, SIZES))
    for score in scores:
        total.ours.merge(score.ours)
        total.votes.merge(score.votes)
        total.regression.merge(score.regression)
        total.sure += score.sure
    times_s = scores[0].times_s
    print(total.ours.line("netloom"))
    print(total.votes.line("007"))
    print(total.regression.line("NetBouncer"))
    print(
        f"  calibration error {calibration(total.sure):.3f}; at 4,096 NICs mean "
        f"{np.mean(times_s):.2f} s, at most {max(times_s):.2f} s of processor time a window"
    )


ROWS = (
    *(("congested", share) for share in (0.01, 0.05, 0.2)),
    *(("several", count) for count in (3, 6)),
    *(("wrong paths", count) for count in (1, 3)),
)


def score_row(row: tuple[str, float]) -> tuple[str, Tally]:
    """Return how one row of harder windows fares, on 128 NICs."""
    from bench.locate_held_out import visible_fault  # noqa: PLC0415  (it imports this module)

    kind, value = row
    tally, fabric, draw = Tally(), fabric_of(16), visible_fault
    if kind == "congested":
        seed = 31_000 + int(100 * value)
        congested_row(tally, fabric, draw, share=value, faults=200, healthy=500, seed=seed)
        return f"{value:.0%} of links congested", tally
    wrong = WRONG if kind == "wrong paths" else 0.0
    seed = 32_000 + int(value) + (100 if wrong else 0)
    several_row(tally, fabric, draw, faults=int(value), windows=100, seed=seed, wrong=wrong)
    return f"{value:.0f} at once{', paths wrong' if wrong else ''}", tally


def harder_rows() -> None:
    """Print congestion, several faults at once, and a tenth of the paths wrong."""
    print("\nCongested links, several faults, wrong paths; 128 NICs, seeds drawn once:")
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, tally in pool.map(score_row, ROWS):
            print(tally.line(name), flush=True)


def sizes() -> None:
    """Print time and memory of one window at 4,096 and 16,384 NICs, 1 % of links congested."""
    for nodes in (512, 2048):
        took_s, gib, flows = sized_row(fabric_of(nodes), any_fault, share=0.01, seed=33_000)
        print(
            f"  {8 * nodes:,} NICs, {flows:,} flows: {took_s:.2f} s of processor time, "
            f"{gib:.1f} GiB at most (the drawing of the window included)",
            flush=True,
        )


def calibration(sure: list[tuple[float, bool]]) -> float:
    """Return the expected calibration error over ten bins of confidence."""
    confidence = np.array([one for one, _ in sure])
    right = np.array([hit for _, hit in sure], dtype=float)
    place = np.minimum((confidence * 10).astype(int), 9)
    bins = [np.flatnonzero(place == number) for number in range(10)]
    gaps = [len(b) * abs(confidence[b].mean() - right[b].mean()) for b in bins if len(b)]
    return float(sum(gaps) / max(len(sure), 1))


if __name__ == "__main__":
    a_thousand_faults()
    harder_rows()
    sizes()
