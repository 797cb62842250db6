"""Locating on networks and with noise that nothing was tuned on.

Other shapes than the fat trees of ``bench.locate``, other seeds, noise up to ten times what the
locator expects, counters missing. Faults that nothing shows (no flow crosses the part, or another
bottleneck hides it) are not drawn. Run it with ``python -m bench.locate_held_out``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bench.locate import Score, calibration, score_window
from bench.locate_grid import draw_fault
from bench.locate_scene import Noise, scene_of, watch
from netloom.fabric.build import build
from netloom.ops.locate.faults import FaultKind, Scope
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from bench.locate_scene import Scene
    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.faults import FaultHypothesis

WINDOWS = (40, 20, 20)  # with one fault, with two, healthy
SHAPES: dict[str, tuple[dict[str, object], int]] = {
    "rail-optimised, 2 tiers": ({"kind": "rail-fat-tree"}, 64),
    "rails alone": ({"kind": "rail-only"}, 64),
    "fat tree, 3 tiers": ({"kind": "fat-tree", "tiers": 3}, 64),
    "oversubscribed 4:1": ({"kind": "fat-tree", "tiers": 2, "oversubscription": 4}, 64),
    "two planes": ({"kind": "multi-plane", "planes": 2}, 64),
    "dragonfly+": ({"kind": "dragonfly-plus"}, 64),
}
USUAL = Noise()
QUIET = Noise(loss=0.0, odd_flows=0.0, rate=0.0, delay_s=0.0, missing=0.0, odd_ports=0.0)
NOISES = {
    "as tuned": USUAL,
    "no counters": replace(USUAL, missing=1.0),
    "30 % of counters missing": replace(USUAL, missing=0.3),
    "odd ports x 10": replace(USUAL, odd_ports=0.05),
    "odd flows x 3": replace(USUAL, odd_flows=3e-3),
    "odd flows x 10": replace(USUAL, odd_flows=1e-2),
    "rates scatter x 2": replace(USUAL, rate=0.1),
    "rates scatter x 3": replace(USUAL, rate=0.15),
    "delays scatter x 2": replace(USUAL, delay_s=6e-6),
    "delays scatter x 4": replace(USUAL, delay_s=12e-6),
    "healthy links lose x 50": replace(USUAL, loss=1e-7),
    "every loss is silent": replace(USUAL, silent=1.0),
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row."""

    name: str
    fabric: Fabric
    noise: Noise
    seed: int


def fabric_of(topology: dict[str, object], nodes: int) -> Fabric:
    """Return a network of 64-port switches."""
    asked = {"technology": "infiniband-ndr", "topology": topology}
    cluster = Cluster.model_validate({"nodes": nodes, "fabric": asked})
    network = network_of(cluster, load_catalog())
    return build(network.design, network.node, network.scale_up)


def scored(setting: Setting) -> Score:
    """Return how one row fares."""
    rng = np.random.default_rng(setting.seed)
    scene, score = scene_of(setting.fabric, rng), Score()
    singles, doubles, healthy = WINDOWS
    for count in [1] * singles + [2] * doubles + [0] * healthy:
        score_window(score, scene, count, rng, setting.noise, draw=visible_fault)
    return score


def visible_fault(scene: Scene, rng: np.random.Generator) -> FaultHypothesis:
    """Return a fault that at least two flows cross, and would notice if there were no noise."""
    while True:
        fault = draw_fault(scene.fabric, rng)
        if _shows(scene, fault):
            return fault


def _shows(scene: Scene, fault: FaultHypothesis) -> bool:
    if fault.kind in {FaultKind.SLOW, FaultKind.DELAY}:
        seen = watch(scene, (fault,), np.random.default_rng(0), QUIET)
        return int(np.count_nonzero((seen.slowdown > 1.1) | (seen.delay_s > 1e-6))) >= 2
    parts = {
        Scope.LINK: np.array([fault.index]),
        Scope.CABLE: np.array([2 * fault.index, 2 * fault.index + 1]),
        Scope.SWITCH: np.flatnonzero(scene.fabric.link_target == fault.index),
    }
    return int(np.isin(scene.paths.links, parts[fault.scope]).sum()) >= 2


def held_out(names: list[str] | None = None) -> None:
    """Print a line for each row, those whose names hold any of *names* where some are given.

    A number among them is added to every seed.
    """
    more = sum(int(name) for name in names or [] if name.isdigit())
    names = [name for name in names or [] if not name.isdigit()]
    print("\nOther shapes and noise than anything was tuned on, 80 windows a row:")
    tree = fabric_of({"kind": "fat-tree"}, 16)
    rows = [
        Setting(name=name, fabric=fabric_of(*shape), noise=USUAL, seed=1000 + number + more)
        for number, (name, shape) in enumerate(SHAPES.items())
    ]
    rows += [
        Setting(name=name, fabric=tree, noise=noise, seed=2000 + number + more)
        for number, (name, noise) in enumerate(NOISES.items())
    ]
    for row in rows:
        if names and not any(name in row.name for name in names):
            continue
        score = scored(row)
        print(f"{score.ours.line(row.name)}  ECE {calibration(score.sure):.3f}", flush=True)


if __name__ == "__main__":
    held_out(sys.argv[1:])
