"""The search: even starts, hard limits, and a verdict that does not take noise for a gain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.study.tune.limits import TuneLimits
from netloom.study.tune.search import Rung, Score, search
from netloom.study.tune.sobol import MAX_DIMENSIONS, sobol
from netloom.study.tune.space import Knob, KnobSpace
from netloom.study.tune.verdict import NO_GAIN, Gain, TriedSettings, gain_over, no_gain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def space_of(count: int, default: float = 50.0) -> KnobSpace:
    return KnobSpace(
        knobs=tuple(
            Knob(name=f"k{n}", group="", unit="", low=1.0, high=100.0, default=default)
            for n in range(count)
        )
    )


@pytest.mark.parametrize("dimension", range(MAX_DIMENSIONS))
def test_64_points_of_sobol_stand_in_64_equal_cells_of_every_axis(dimension: int) -> None:
    points = sobol(64, MAX_DIMENSIONS, rng=np.random.default_rng(7))
    assert sorted((points[:, dimension] * 64).astype(int).tolist()) == list(range(64))


def test_the_first_two_axes_share_64_points_evenly_over_8_by_8_cells() -> None:
    points = (sobol(64, 2, rng=np.random.default_rng(3)) * 8).astype(int)
    assert len({tuple(cell) for cell in points.tolist()}) == 64


@given(share=st.floats(0.0, 1.0), is_log=st.booleans())
def test_a_knob_s_value_stands_where_it_was_taken(share: float, *, is_log: bool) -> None:
    knob = Knob(name="k", group="", unit="", low=2.0, high=512.0, default=4.0, is_log=is_log)
    assert knob.share_of(knob.at(share)) == pytest.approx(share, abs=1e-9)


@given(st.floats(-1e3, 1e3))
def test_a_knob_never_leaves_its_range(share: float) -> None:
    knob = Knob(name="k", group="", unit="", low=2.0, high=512.0, default=4.0)
    assert 2.0 <= knob.at(share) <= 512.0


def test_a_search_spends_no_more_than_its_budget_and_tries_the_default_at_full_length() -> None:
    asked: list[tuple[int, Rung]] = []

    def evaluate(settings: Sequence[Mapping[str, float]], rung: Rung) -> list[Score]:
        asked.append((len(settings), rung))
        return [Score(excess=0.0, value=sum(values.values())) for values in settings]

    found = search(space_of(3), evaluate, budget=40, rng=np.random.default_rng(0))
    assert sum(count for count, _ in asked) == len(found.trials) <= 40
    assert found.trials[0].values == pytest.approx({"k0": 50.0, "k1": 50.0, "k2": 50.0})
    # The sum is least where every knob is: 3.
    assert found.best.score.value == pytest.approx(3.0, rel=0.02)


def test_what_breaks_a_limit_never_wins() -> None:
    def evaluate(settings: Sequence[Mapping[str, float]], rung: Rung) -> list[Score]:
        del rung
        return [
            Score(excess=1.0 if values["k0"] < 20 else 0.0, value=values["k0"])
            for values in settings
        ]

    best = search(space_of(1), evaluate, budget=40, rng=np.random.default_rng(0)).best
    assert 20.0 <= best.score.value < 22.0


def test_equal_values_leave_the_default_where_it_is() -> None:
    def evaluate(settings: Sequence[Mapping[str, float]], rung: Rung) -> list[Score]:
        del rung
        return [Score(excess=0.0, value=1.0) for _ in settings]

    found = search(space_of(4), evaluate, budget=60, rng=np.random.default_rng(0))
    assert found.best is found.trials[0]


def tried(*runs: float) -> TriedSettings:
    return TriedSettings(
        name="x",
        values={},
        runs=runs,
        mean=float(np.mean(runs)),
        low=None,
        high=None,
        broken=(),
        pause_share=0.0,
    )


def test_gains_are_seed_by_seed() -> None:
    # Each a tenth shorter than its own: no spread, though runs differ tenfold.
    gain = gain_over(tried(1.0, 10.0, 5.0), tried(0.9, 9.0, 4.5))
    assert (gain.mean, gain.low, gain.high) == pytest.approx((0.1, 0.1, 0.1))
    assert gain.is_sure


def test_an_interval_that_holds_zero_is_no_gain() -> None:
    assert not gain_over(tried(1.0, 1.0, 1.0), tried(0.9, 1.1, 0.95)).is_sure
    assert not Gain(mean=0.5, low=None, high=None).is_sure


def test_limits_say_what_is_broken_and_by_how_much() -> None:
    limits = TuneLimits(max_pause_share=0.01)
    fine = {"lost": 0, "pause_share": 0.01, "data_packets": 100, "ended": True}
    assert (limits.broken(fine), limits.excess(fine)) == ((), 0.0)
    bad = {"lost": 5, "pause_share": 0.03, "data_packets": 100, "ended": False}
    assert len(limits.broken(bad)) == 3
    assert limits.excess(bad) == pytest.approx(0.05 + 0.02 + 1.0)


def test_a_published_setting_that_is_surely_better_is_not_passed_over() -> None:
    surely, unsure = Gain(mean=0.105, low=0.09, high=0.12), Gain(mean=0.2, low=-0.1, high=0.5)
    meta = replace(tried(0.9, 0.9, 0.9), name="meta-400g")
    assert no_gain([meta], {"meta-400g": unsure}) == NO_GAIN
    assert "meta-400g is, by 10.5% (9.0% to 12.0%)" in no_gain([meta], {"meta-400g": surely})
    lossy = replace(meta, broken=("packets are lost",))
    assert no_gain([lossy], {"meta-400g": surely}) == NO_GAIN
