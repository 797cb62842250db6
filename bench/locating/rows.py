"""Rows of ``bench.locate`` beyond single faults on quiet fabrics, with time and memory by size.

Seeds are drawn once; the model was not changed after the run that docs/models/locate.md quotes.
"""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bench.locate_grid import same_part
from bench.locate_scene import scene_of, watch
from bench.locating.congested import congested_watch
from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Flows
from netloom.ops.locate.search import suspect

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.locate import Tally
    from bench.locate_scene import Scene
    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.faults import FaultHypothesis
    from netloom.ops.locate.observations import Observations

    Draw = Callable[[Scene, np.random.Generator], FaultHypothesis]

__all__ = ["congested_row", "several_row", "sized_row"]

WRONG = 0.1  # share of the paths that are not the recorded ones, in rows that say so


def congested_row(  # noqa: PLR0913  (one row: where, how much of what)
    tally: Tally, fabric: Fabric, draw: Draw, *, share: float, faults: int, healthy: int, seed: int
) -> None:
    """Add windows with a share of all links congested, with one fault and with none."""
    rng = np.random.default_rng(seed)
    scene = scene_of(fabric, rng)
    for turn, count in enumerate([1] * faults + [0] * healthy):
        if turn % 25 == 24:
            scene = scene_of(fabric, rng)
        truth = tuple(draw(scene, rng) for _ in range(count))
        seen = congested_watch(scene, truth, rng, share)
        tally.add(truth, [one.fault for one in suspect(fabric, seen)])


def several_row(  # noqa: PLR0913  (one row: where, how much of what)
    tally: Tally,
    fabric: Fabric,
    draw: Draw,
    *,
    faults: int,
    windows: int,
    seed: int,
    wrong: float = 0.0,
) -> None:
    """Add windows with so many faults each, on different parts."""
    rng = np.random.default_rng(seed)
    scene = scene_of(fabric, rng)
    for turn in range(windows):
        if turn % 25 == 24:
            scene = scene_of(fabric, rng)
        truth: list[FaultHypothesis] = []
        while len(truth) < faults:
            one = draw(scene, rng)
            if not any(same_part(one, other) for other in truth):
                truth.append(one)
        seen = watch(scene, tuple(truth), rng)
        seen = _misrouted(scene, seen, rng, wrong) if wrong else seen
        tally.add(tuple(truth), [one.fault for one in suspect(fabric, seen)])


def _misrouted(
    scene: Scene, seen: Observations, rng: np.random.Generator, wrong: float
) -> Observations:
    """Return *seen* with the paths of some flows recorded as those of another source port."""
    port = scene.flows.source_port.copy()
    bad = rng.random(len(port)) < wrong
    port[bad] = rng.integers(49_152, 65_536, int(bad.sum()))
    flows = Flows(source=scene.flows.source, target=scene.flows.target, source_port=port)
    return replace(seen, paths=ecmp.paths(tables(scene.fabric), flows))


def sized_row(fabric: Fabric, draw: Draw, *, share: float, seed: int) -> tuple[float, float, int]:
    """Return processor seconds and most GiB of one window, and how many flows it has."""
    rng = np.random.default_rng(seed)
    scene = scene_of(fabric, rng)
    seen = congested_watch(scene, (draw(scene, rng),), rng, share)
    start = time.process_time()
    suspect(fabric, seen)
    took_s = time.process_time() - start
    return took_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, len(seen)
