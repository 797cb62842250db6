from __future__ import annotations

import numpy as np
import pytest

from netloom.results.interval import mean_interval, student_quantile

# NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2: critical values of Student's t
# distribution, upper tails 0.025 and 0.10; recalled, as any table has them.
TABLE = {
    1: (12.706, 3.078),
    2: (4.303, 1.886),
    3: (3.182, 1.638),
    4: (2.776, 1.533),
    9: (2.262, 1.383),
    15: (2.131, 1.341),
    30: (2.042, 1.310),
    100: (1.984, 1.290),
}


@pytest.mark.parametrize("freedom", list(TABLE))
@pytest.mark.validation
def test_quantiles_are_those_of_the_published_table(freedom: int) -> None:
    wide, narrow = TABLE[freedom]
    assert student_quantile(0.975, freedom) == pytest.approx(wide, abs=5e-4)
    assert student_quantile(0.9, freedom) == pytest.approx(narrow, abs=5.1e-4)


@pytest.mark.validation
def test_many_degrees_of_freedom_come_to_the_normal_distribution() -> None:
    # The normal quantile is 1.959964; t is larger by (z^3 + z) / (4 n) = 2.37e-5 at n = 1e5
    # (Abramowitz and Stegun 1964, 26.7.5).
    assert student_quantile(0.975, 100_000) == pytest.approx(1.959964 + 2.37e-5, abs=1e-6)


def test_the_interval_of_three_values() -> None:
    # Mean 2, standard deviation 1, t(0.975, 2) = 4.30265: half width 4.30265 / sqrt(3) = 2.48414.
    found = mean_interval([1.0, 2.0, 3.0])
    assert (found.count, found.mean, found.least, found.most) == (3, 2.0, 1.0, 3.0)
    assert found.low == pytest.approx(2 - 2.48414, abs=1e-5)
    assert found.high == pytest.approx(2 + 2.48414, abs=1e-5)


def test_one_value_has_no_interval_and_equal_values_one_without_width() -> None:
    assert (mean_interval([5.0]).low, mean_interval([5.0]).high) == (None, None)
    assert (mean_interval([5.0, 5.0]).low, mean_interval([5.0, 5.0]).high) == (5.0, 5.0)


def test_the_true_mean_lies_inside_as_often_as_promised() -> None:
    # 2,000 samples of 5 normal values: inside 95 % of the time, give or take 4 standard errors
    # of sqrt(0.95 x 0.05 / 2000) = 0.5 points.
    samples = np.random.default_rng(1).normal(10.0, 3.0, size=(2000, 5))
    intervals = [mean_interval(sample.tolist()) for sample in samples]
    inside = sum((one.low or 0) <= 10 <= (one.high or 0) for one in intervals)
    assert inside / 2000 == pytest.approx(0.95, abs=0.02)
