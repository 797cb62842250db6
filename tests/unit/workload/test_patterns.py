"""Traffic that is drawn: permutations, open-loop arrivals and their sizes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import InfeasibleError, SpecError
from netloom.workload.patterns import incast, open_loop, permutation, storage
from netloom.workload.sizes import distribution, parse_distribution, shipped

if TYPE_CHECKING:
    from pathlib import Path


@given(st.integers(2, 200), st.integers(0, 2**32))
def test_a_permutation_moves_everybody_and_hits_everybody_once(n: int, seed: int) -> None:
    dag = permutation(np.arange(n), 1000, rng=np.random.default_rng(seed))
    assert sorted(dag.target.tolist()) == list(range(n))
    assert (dag.source != dag.target).all()


def test_equal_seeds_give_equal_traffic() -> None:
    drawn = [
        open_loop(
            np.arange(16),
            distribution("web-search"),
            rate_bps=100e9,
            load=0.5,
            duration_ps=10**10,
            rng=np.random.default_rng(5),
        )
        for _ in range(2)
    ]
    assert (drawn[0].start_ps == drawn[1].start_ps).all()
    assert (drawn[0].size_bytes == drawn[1].size_bytes).all()


def test_the_load_counts_payload_over_the_host_link() -> None:
    hosts, seconds = 64, 0.1
    dag = open_loop(
        np.arange(hosts),
        distribution("fb-hadoop"),
        rate_bps=100e9,
        load=0.3,
        duration_ps=round(seconds * 1e12),
        rng=np.random.default_rng(1),
    )
    offered = dag.size_bytes.sum() * 8 / (hosts * seconds * 100e9)
    assert offered == pytest.approx(0.3, rel=0.05)
    assert (np.diff(dag.start_ps) >= 0).all()
    assert (dag.source != dag.target).all()


def test_the_mean_sizes_are_those_of_the_generator() -> None:
    # Sum of (x_i + x_(i-1)) / 2 * (p_i - p_(i-1)) / 100 over WebSearch: 750 + 750 + 2500 + 4000
    # + 8450 + 9800 + 60000 + 150000 + 350000 + 525000 + 600000.
    assert distribution("web-search").mean_bytes == pytest.approx(1_711_250)
    assert shipped() == ("fb-hadoop", "web-search")


def test_too_many_flows_are_refused_before_they_are_drawn() -> None:
    with pytest.raises(InfeasibleError, match="shorten the duration"):
        open_loop(
            np.arange(100_000),
            distribution("fb-hadoop"),
            rate_bps=400e9,
            load=1.0,
            duration_ps=10**13,
            rng=np.random.default_rng(0),
        )


def test_an_incast_and_a_storage_burst_are_what_they_say() -> None:
    dag = incast(np.array([3, 5]), 0, 77)
    assert dag.target.tolist() == [0, 0]
    bursts = storage(np.arange(3), np.array([8, 9]), 101, num_bursts=2, period_ps=1000)
    assert np.bincount(bursts.source, bursts.size_bytes).tolist() == [202, 202, 202]
    assert sorted(set(bursts.start_ps.tolist())) == [0, 1000]


def test_a_wrong_distribution_is_refused_with_its_line(tmp_path: Path) -> None:
    for text, message in (
        ("0 0\nten 20\n", ":2: 'ten 20' is not 'size percent'"),
        ("0 0\n10 20\n5 100\n", ":3: 5 bytes at 100 percent follow 10 at 20"),
        ("0 0\n10 20\n", "the last line must reach 100 percent"),
        ("0 0\n10 nan\n", "both must ascend"),
    ):
        file = tmp_path / "own.cdf"
        file.write_text(text)
        with pytest.raises(SpecError, match=message):
            distribution(str(file))


@given(st.text(max_size=60))
def test_any_text_is_a_distribution_or_a_clear_refusal(text: str) -> None:
    with contextlib.suppress(SpecError):
        found = parse_distribution(text, name="x.cdf")
        assert found.draw(10, np.random.default_rng(0)).min() >= 1
