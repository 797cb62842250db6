"""What is fitted to a window is what plain loops over all flows and crossings give, to the bit."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bench.locate_grid import draw_fault
from bench.locate_scene import scene_of, watch
from netloom.fabric.build import build
from netloom.ops.locate import likelihood
from netloom.ops.locate.congested.judgement import LoadJudgement
from netloom.ops.locate.fitting.evidence import evidence_of
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.observations import Observations

    Array = NDArray[np.float64]


@cache
def window() -> tuple[Fabric, Observations]:
    """Return a fabric of 64 NICs and what flows see of one fault in it."""
    cluster = Cluster.model_validate({"nodes": 8, "fabric": {"topology": {"kind": "fat-tree"}}})
    network = network_of(cluster, load_catalog())
    fabric = build(network.design, network.node, network.scale_up)
    rng = np.random.default_rng(5)
    return fabric, watch(scene_of(fabric, rng), (draw_fault(fabric, rng),), rng)


def by_halving(lost: Array, crossed: Array) -> float:
    """Return what a healthy link loses by forty halvings, each of which asks all flows."""
    unhurt = np.count_nonzero(lost == 0)
    low, high = np.log(likelihood.BASE_LOSS), np.log(likelihood.MAX_BASE_LOSS)
    for _ in range(40):
        middle = (low + high) / 2
        expected = np.exp(-np.exp(middle) * crossed).sum()
        low, high = (middle, high) if expected > unhurt else (low, middle)
    return float(np.exp(low))


def drawn_flows(rng: np.random.Generator, case: int) -> tuple[Array, Array]:
    """Return losses and crossed packets: even, alike, or with a heavy tail; some lose nothing."""
    count = int(rng.integers(50, 2000))
    crossed = [
        rng.integers(0, 10 ** int(rng.integers(1, 7)), count),
        np.full(count, rng.integers(0, 10**6)),
        (rng.pareto(1, count) * 1e3).astype(np.int64),
    ][case % 3].astype(float)
    lost = rng.poisson(np.minimum(10 ** rng.uniform(-10, -2) * crossed, 1e6))
    return (lost * (case % 7 > 0) + (case % 11 == 0)).astype(float), crossed


def test_the_loss_of_healthy_links_is_that_of_forty_halvings() -> None:
    rng = np.random.default_rng(7)
    for case in range(300):
        lost, crossed = drawn_flows(rng, case)
        assert likelihood.base_loss(lost, crossed) == by_halving(lost, crossed), case


def test_the_loss_of_healthy_links_asks_all_flows_five_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two to be sure of Newton's end, and log2(2 x 2e-11 / (ln 1e4 / 2^40)) = 2.3 halvings."""
    rng = np.random.default_rng(8)
    crossed = rng.integers(1, 10**5, 20_000).astype(float)
    lost = rng.poisson(3e-6 * crossed).astype(float)
    asked = []
    plain = likelihood._unhurt_beyond

    def counted(unhurt: int, crossed: Array, log_loss: float) -> float:
        asked.append(log_loss)
        return plain(unhurt, crossed, log_loss)

    monkeypatch.setattr(likelihood, "_unhurt_beyond", counted)
    assert likelihood.base_loss(lost, crossed) == pytest.approx(3e-6, rel=0.05)
    assert len(asked) <= 5


def test_the_flows_of_a_link_stand_in_order() -> None:
    fabric, seen = window()
    evidence = evidence_of(fabric, seen)
    order = np.argsort(seen.paths.links, kind="stable")
    assert np.array_equal(evidence.flows, seen.flow_of_crossing()[order])
    for link in np.unique(seen.paths.links)[::37].tolist():
        there = seen.flow_of_crossing()[seen.paths.links == link]
        assert np.array_equal(evidence.crossing(np.array([link]))[1], there)


def test_what_congestion_allows_is_summed_flow_by_flow() -> None:
    """A few links are loaded; every flow has the sum of delays and losses, and the worst rate."""
    fabric, seen = window()
    rng = np.random.default_rng(9)
    loaded = rng.random(fabric.num_links) < 0.1
    none = np.zeros(fabric.num_links, dtype=bool)
    load = LoadJudgement(
        is_congested=loaded,
        is_told=none,
        is_stuck=none,
        share=0.1,
        loss=np.where(loaded, rng.random(fabric.num_links) * 1e-4, 0.0),
        loss_large=np.where(loaded, rng.random(fabric.num_links) * 1e-3, 0.0),
        slowdown=np.where(loaded, 2.5, 1.0),
        delay_s=np.where(loaded, rng.random(fabric.num_links) * 1e-5, 0.0),
    )
    allowed = load.allowance(seen)
    flow, links = seen.flow_of_crossing(), seen.paths.links
    loss = np.where(seen.is_large[flow], load.loss_large[links], load.loss[links])
    assert np.array_equal(allowed.loss, np.bincount(flow, weights=loss))
    assert np.array_equal(allowed.delay_s, np.bincount(flow, weights=load.delay_s[links]))
    slowest = np.ones(len(seen))
    np.maximum.at(slowest, flow, load.slowdown[links])
    assert np.array_equal(allowed.slowdown, slowest)
