"""Degrading optics are called before they drop, healthy ones are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from netloom.ops.optics.margin import KP4, KR4, SIGNALS, margin_db_of_ber
from netloom.ops.optics.outlook import SIGNS, HourlyHistory, outlooks
from netloom.ops.optics.survival import DAY_S, forecast
from netloom.ops.optics.trend import HOURS, best_trends, without_daily_swing

Array = NDArray[np.float64]
RNG = np.random.default_rng(0)
TIME_D = np.arange(HOURS) / 24


def history(*rows: Array) -> HourlyHistory:
    parts = tuple(f"leaf:0[{number}]" for number in range(1, len(rows) + 1))
    return HourlyHistory(parts=parts, values=np.stack(rows))


def light(fall_db_d: float, *, since_d: float = 8.0, swing_db: float = 0.2) -> Array:
    """A receiver at -1 dBm with a swing by day, which falls from some day on; read to 0.1 dB."""
    noise = 0.05 * RNG.standard_normal(HOURS)
    fall = fall_db_d * np.clip(TIME_D - since_d, 0, None)
    return np.round(-1 + swing_db * np.sin(2 * math.pi * TIME_D) + noise - fall, 1)


def test_a_code_corrects_what_it_says() -> None:
    # With one wrong symbol in 136 four of a codeword of 544 are wrong on average: Poisson.
    ber = 4 / 544 / 10
    tail = 1 - sum(math.exp(-4) * 4**k / math.factorial(k) for k in range(16))
    assert KP4.codeword_failure(ber) == pytest.approx(tail, rel=0.2)
    assert KP4.codeword_failure(KP4.limit) < 1e-11 < KP4.codeword_failure(4 * KP4.limit)
    assert KR4.codeword_failure(KP4.limit) > KP4.codeword_failure(KP4.limit)


def test_a_margin_is_light_that_may_be_lost() -> None:
    # Q of 3/8 erfc(Q / sqrt 2): half of the light is half of Q, so 3.01 dB.
    rates = [0.375 * math.erfc(quality / math.sqrt(2)) for quality in (6.0, 3.0)]
    two, one = margin_db_of_ber(np.array(rates))
    assert two - one == pytest.approx(10 * math.log10(2), abs=0.01)
    assert margin_db_of_ber(np.array([KP4.limit]))[0] == pytest.approx(0, abs=1e-3)
    assert margin_db_of_ber(np.array([0.0]))[0] == margin_db_of_ber(np.array([1e-15]))[0]


@given(st.lists(st.floats(0, 0.5), min_size=2, max_size=20))
def test_more_errors_are_less_margin(rates: list[float]) -> None:
    margins = margin_db_of_ber(np.array(sorted(rates)))
    assert (np.diff(margins) <= 1e-12).all()


def test_a_daily_swing_is_taken_out() -> None:
    swing = 0.4 * np.sin(2 * math.pi * np.arange(HOURS) / 24 + 1)
    left = without_daily_swing(np.stack([swing, swing - 0.1 * TIME_D]))
    assert np.abs(left[0]).max() < 1e-9
    assert left[1, -1] - left[1, 23] == pytest.approx(-0.1 * (HOURS - 24) / 24, abs=0.02)


def test_a_steady_fall_is_called_with_its_slope_and_time() -> None:
    # 0.2 dB a day from day 8 to day 16: of 3.0 dB, which its light may fall, 1.4 are left, and
    # 1.2 at the low of the day.
    until = 16 * 24
    rows = [np.concatenate([np.full(HOURS - until, np.nan), light(0.2)[:until]])]
    (one,) = outlooks({"optic_receive_power_dbm": history(*rows)})
    assert SIGNS[one.sign] == "light received"
    assert one.slope_db_d == pytest.approx(-0.2, rel=0.25)
    assert one.margin_db == pytest.approx(1.2, abs=0.15)
    assert one.drop is not None
    assert one.drop.low_s / DAY_S < 1.4 / 0.2 < one.drop.high_s / DAY_S
    assert one.confidence > 0.9


def test_healthy_light_is_not_called() -> None:
    rows = [light(0.0, swing_db=swing) for swing in (0.0, 0.1, 0.2, 0.3)]
    assert outlooks({"optic_receive_power_dbm": history(*rows)}) == ()


def test_a_link_that_was_plugged_again_is_judged_from_then_on() -> None:
    step = light(0.0)
    step[20 * 24 :] -= 1.2
    downs = np.zeros(HOURS)
    downs[20 * 24] = 2
    told = {"optic_receive_power_dbm": history(step), "link_downs": history(downs)}
    assert outlooks(told) == ()
    assert outlooks({"optic_receive_power_dbm": history(step)}) == ()  # one step is no trend


def test_a_link_near_the_limit_is_called_without_a_trend() -> None:
    rate = np.full(HOURS, 1.5e-4)
    (one,) = outlooks({"pre_fec_error_rate": history(rate)})
    assert SIGNS[one.sign] == "bit errors before correction"
    assert one.margin_db is not None
    assert 0 < one.margin_db < 0.3
    assert outlooks({"pre_fec_error_rate": history(np.full(HOURS, 1e-6))}) == ()


@pytest.mark.parametrize(("num_hours", "called"), [(4, False), (5, True)])
def test_flaps_count_by_the_hour(num_hours: int, *, called: bool) -> None:
    downs = np.zeros(HOURS)
    downs[HOURS - 5 * num_hours :: 5] = 3
    downs[: 24 * 7] = 1  # long ago
    assert bool(outlooks({"link_downs": history(downs)})) is called


def test_codewords_that_cannot_be_corrected_are_a_sign_when_they_come_again() -> None:
    once, often = np.zeros(HOURS), np.zeros(HOURS)
    once[-3] = 1e6
    often[[-20, -13, -7, -2]] = 3
    (one,) = outlooks({"fec_uncorrectable_codewords": history(once, often)})
    assert one.part == "leaf:0[2]"
    assert SIGNS[one.sign] == "codewords that cannot be corrected"


def test_heat_is_a_sign_when_it_lasts_a_day() -> None:
    hot, warm = np.full(HOURS, 72.0), np.full(HOURS, 72.0)
    warm[-5] = 69.0
    (one,) = outlooks({"optic_temperature_c": history(hot, warm)})
    assert (one.part, SIGNS[one.sign]) == ("leaf:0[1]", "heat")


def test_the_worst_lane_speaks_for_its_port() -> None:
    rows = history(light(0.0), light(0.12))
    lanes = HourlyHistory(parts=("leaf:0[1]/lane:1", "leaf:0[1]/lane:2"), values=rows.values)
    (one,) = outlooks({"optic_receive_power_dbm": lanes})
    assert one.part == "leaf:0[1]"


def test_a_drop_without_noise_comes_when_the_margin_is_used_up() -> None:
    sure = forecast(margin_db=1.0, slope_db_d=-0.1, error_db_d=0.0, noise_db=1e-6)
    assert sure.low_s < 10 * DAY_S < sure.high_s
    assert sure.median_s == pytest.approx(10 * DAY_S, rel=0.05)
    assert sure.severity == "plan"
    assert forecast(margin_db=0.0, slope_db_d=-0.1, error_db_d=0.0, noise_db=0.1).severity == "now"


def test_a_link_that_does_not_fall_drops_at_the_rate_of_sudden_failures() -> None:
    calm = forecast(margin_db=3.0, slope_db_d=0.0, error_db_d=0.0, noise_db=0.0)
    assert calm.week_chance == pytest.approx(5.7e-4 * 7 / 30, rel=1e-3)


@given(
    margin=st.floats(-1, 5),
    slope=st.floats(-3, 1),
    error=st.floats(0, 1),
    noise=st.floats(0, 1),
)
@settings(max_examples=60, deadline=None)
def test_a_forecast_is_in_order(margin: float, slope: float, error: float, noise: float) -> None:
    one = forecast(margin_db=margin, slope_db_d=slope, error_db_d=error, noise_db=noise)
    assert 0 <= one.low_s <= one.median_s <= one.high_s
    assert 0 <= one.day_chance <= one.week_chance <= 1


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_any_numbers_give_finite_outlooks(seed: int, num_hours: int) -> None:
    rng = np.random.default_rng(seed)
    pool = [0.0, -1.0, 1e-300, 1e300, np.nan, -40.0, 0.05, 1e-5]
    values = rng.choice(pool, (3, num_hours * 12))
    parts = ("leaf:0[1]", "x", "leaf:0[2]/lane:3")
    metrics = (*(one.metric for one in SIGNALS), "link_downs", "optic_temperature_c")
    for one in outlooks({m: HourlyHistory(parts=parts, values=values) for m in metrics}):
        assert 0 <= one.confidence <= 1
        assert one.margin_db is None or math.isfinite(one.margin_db)
        assert one.drop is None or math.isfinite(one.drop.high_s)


def test_without_history_nothing_is_known() -> None:
    assert (best_trends(np.zeros((2, 5))).confidence == 0).all()
    assert outlooks({}) == ()
