from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.spec.scenario import Reliability
from netloom.study.goodput.failures import interruption_rates, mean_time_between_s
from netloom.study.goodput.model import checkpoint_interval_s, goodput, kept_share

if TYPE_CHECKING:
    from netloom.fabric.design import Design

HOUR = 3600.0
DAY = 86_400.0


@dataclass(frozen=True)
class Counts:
    """The counts of a design that failures depend on."""

    num_gpus: int
    num_planes: int = 1

    @property
    def num_nodes(self) -> int:
        return self.num_gpus // 8

    @property
    def num_ports(self) -> int:
        return self.num_gpus * self.num_planes


def counts(num_gpus: int, num_planes: int = 1) -> Design:
    return cast("Design", Counts(num_gpus, num_planes))


@pytest.mark.validation
def test_llama_3_is_interrupted_every_three_hours() -> None:
    """54 days x 24 h / 419 interruptions = 3.09 h (arXiv:2407.21783, section 3.3.4)."""
    between_s = mean_time_between_s(interruption_rates(counts(16_384), num_hosts=1))
    assert between_s / HOUR == pytest.approx(54 * 24 / 419)


@pytest.mark.validation
def test_llama_3_keeps_more_than_nine_tenths_of_the_time() -> None:
    """More than 90 % effective training time (arXiv:2407.21783, section 3.3.4)."""
    assert 0.90 < goodput(counts(16_384), Reliability()).share < 0.93


def test_a_rack_fails_as_often_as_the_hosts_in_it() -> None:
    """Of 419 interruptions 109 are by host; a second one in each node adds 109 more."""
    between_s = mean_time_between_s(interruption_rates(counts(16_384), num_hosts=2))
    assert between_s / HOUR == pytest.approx(54 * 24 / (419 + 109))


def test_twice_the_gpus_halve_the_time_between_interruptions() -> None:
    one = mean_time_between_s(interruption_rates(counts(1024), num_hosts=1))
    two = mean_time_between_s(interruption_rates(counts(2048), num_hosts=1))
    assert one == pytest.approx(2 * two)


def test_a_nic_on_two_planes_outlives_the_loss_of_a_link() -> None:
    """Of 419 interruptions the 35 by switch or cable go away: 384 are left."""
    between_s = mean_time_between_s(interruption_rates(counts(16_384, num_planes=2), num_hosts=1))
    assert between_s / HOUR == pytest.approx(54 * 24 / 384)


@pytest.mark.validation
@pytest.mark.parametrize(
    ("failures_per_1000_node_days", "write_s", "expected"), [(6.5, 10.0, 0.92), (1.0, 300.0, 0.898)]
)
def test_meta_reaches_nine_tenths_with_fast_writes_or_fewer_failures(
    failures_per_1000_node_days: float, write_s: float, expected: float
) -> None:
    """1,500 nodes, restart in 300 s: Revisiting reliability in large-scale ML research clusters."""
    between_s = DAY / (1500 * failures_per_1000_node_days / 1000)
    interval_s = checkpoint_interval_s(write_s, between_s)
    got = kept_share(interval_s=interval_s, write_s=write_s, restart_s=300.0, between_s=between_s)
    assert got == pytest.approx(expected, abs=0.003)


@given(st.floats(1.0, 3600.0), st.floats(1e3, 1e7))
def test_no_other_interval_keeps_noticeably_more(write_s: float, between_s: float) -> None:
    """Daly's formula is the optimum to the order it was derived to."""
    best_s = checkpoint_interval_s(write_s, between_s)

    def kept(interval_s: float) -> float:
        return kept_share(
            interval_s=interval_s, write_s=write_s, restart_s=60.0, between_s=between_s
        )

    for factor in (0.5, 0.8, 1.25, 2.0):
        assert kept(best_s * factor) <= kept(best_s) * 1.005


def test_the_interval_is_dalys_to_third_order() -> None:
    """With write / (2 M) = 0.3^2: sqrt(2 write M) (1 + 0.3 / 3 + 0.3^2 / 9) - write."""
    # M = 1000, write = 180: sqrt(360,000) = 600; 600 x 1.11 - 180 = 486.
    assert checkpoint_interval_s(180.0, 1000.0) == pytest.approx(486.0)
    # From write = 2 M on there is nothing to be gained: M.
    assert checkpoint_interval_s(2000.0, 1000.0) == 1000.0


def test_what_is_kept_is_an_interval_over_the_expected_time_for_it() -> None:
    """Daly (2006), equation 20: tau / (M e^(R/M) (e^((tau + write)/M) - 1))."""
    # M = 1000, tau + write = 1000 ln 2, so that e^(...) - 1 = 1; R = 1000 ln 1.25.
    kept = kept_share(
        interval_s=600.0,
        write_s=1000 * math.log(2) - 600,
        restart_s=1000 * math.log(1.25),
        between_s=1000.0,
    )
    assert kept == pytest.approx(600 / (1000 * 1.25 * 1))


def test_a_cluster_that_fails_faster_than_it_restarts_keeps_nothing_and_says_so() -> None:
    slow = Reliability(restart_s="1d")  # type: ignore[arg-type]
    assert goodput(counts(4_194_304), slow).share < 1e-3


def test_restarts_take_their_length_times_their_number() -> None:
    """419 interruptions in 54 days, 20 minutes each: 10.8 % of the time."""
    slow = Reliability(restart_s="20min")  # type: ignore[arg-type]
    lost = goodput(counts(16_384), slow).losses()
    assert lost["restarts"] == pytest.approx(419 * 20 * 60 / (54 * DAY))
    # Of an interval and its write, half is lost at each failure, to first order in their share of
    # the time between.
    found = goodput(counts(16_384), Reliability())
    again = (found.interval_s + found.reliability.checkpoint_write_s) / 2
    assert found.losses()["work done again"] == pytest.approx(
        again / found.mean_time_between_s, rel=0.1
    )


def test_the_explanation_adds_up_to_the_rate() -> None:
    found = goodput(counts(16_384), Reliability())
    between = found.why().parts[0]
    assert sum(float(part.value) for part in between.parts) == pytest.approx(419 / 54)
