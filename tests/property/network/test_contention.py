from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.fabric.contention import (
    LoadBalancing,
    balancing_for,
    busy_share,
    distinct_links,
    expected_max_load,
    expected_max_normal,
    hashed_slowdown,
    max_load_cdf,
    no_collision_probability,
    slowdown,
    straggler_factor,
    thinner_flows,
)

FLOWS = st.integers(0, 3000)
LINKS = st.integers(1, 256)
SWITCHES = st.floats(1, 1e5)
CLOSE = 1e-4  # twice the error stated for laws that are interpolated


@cache
def exact_cdf(num_flows: int, num_links: int) -> list[Fraction]:
    """P(max <= k) for each k: n! / m^n times the x^n term of (sum over i <= k of x^i / i!)^m."""
    law = []
    for load in range(num_flows + 1):
        series = [Fraction(1, math.factorial(i)) for i in range(load + 1)]
        power = [Fraction(1)] + [Fraction(0)] * num_flows
        for _ in range(num_links):
            power = [
                sum((series[i] * power[j - i] for i in range(min(load, j) + 1)), Fraction(0))
                for j in range(num_flows + 1)
            ]
        law.append(power[num_flows] * math.factorial(num_flows) / num_links**num_flows)
    return law


@pytest.mark.parametrize(
    ("flows", "links"), [(2, 2), (7, 2), (8, 2), (3, 3), (5, 3), (4, 4), (9, 4), (8, 8), (6, 12)]
)
def test_the_law_of_the_fullest_link_is_that_of_exact_enumeration(flows: int, links: int) -> None:
    exact = exact_cdf(flows, links)
    loads, cdf = max_load_cdf(flows, links)
    assert all(float(p) < 1e-12 for p in exact[: loads[0]])
    assert cdf == pytest.approx([float(exact[k]) for k in loads], abs=1e-12)
    mean = float(sum(1 - p for p in exact))
    assert expected_max_load(flows, links) == pytest.approx(mean, abs=1e-11)


@pytest.mark.parametrize(
    ("flows", "links", "switches"),
    [
        (8, 8, 1),
        (64, 16, 1),
        (64, 16, 32),
        (1000, 16, 1),
        (1000, 16, 20),
        (300, 3, 4),
        (20, 200, 8),
    ],
)
def test_throwing_flows_at_random_gives_the_same_mean(
    flows: int, links: int, switches: int
) -> None:
    # 4,000 throws: the standard error of the mean stays under 0.5 %; 5 of them are allowed.
    rng = np.random.default_rng(7)
    throws = rng.multinomial(flows, np.full(links, 1 / links), size=(4000, switches)).max(
        axis=(1, 2)
    )
    error = throws.std() / math.sqrt(len(throws))
    mean = expected_max_load(flows, links, num_switches=switches)
    assert abs(mean - throws.mean()) < 5 * error + 1e-9
    assert error < 0.005 * mean


@given(FLOWS, LINKS, SWITCHES)
def test_the_fullest_link_carries_at_least_its_even_share_and_at_most_all(
    flows: int, links: int, switches: float
) -> None:
    mean = expected_max_load(flows, links, num_switches=switches)
    assert -(-flows // links) * (1 - CLOSE) <= mean <= flows * (1 + CLOSE)


@given(FLOWS, LINKS, SWITCHES, SWITCHES)
def test_more_switches_never_make_the_slowest_flow_faster(
    flows: int, links: int, first: float, second: float
) -> None:
    few, many = sorted((first, second))
    less = hashed_slowdown(num_flows=flows, num_links=links, num_switches=few, flow_share=0.5)
    more = hashed_slowdown(num_flows=flows, num_links=links, num_switches=many, flow_share=0.5)
    assert 1 <= less <= more * (1 + 1e-9)


@given(st.floats(0, 500), st.floats(0, 500), st.integers(1, 64), SWITCHES)
def test_more_flows_never_make_the_slowest_flow_faster(
    first: float, second: float, links: int, switches: float
) -> None:
    few, many = sorted((first, second))
    less = expected_max_load(few, links, num_switches=switches)
    assert less <= expected_max_load(many, links, num_switches=switches) * (1 + CLOSE)


@given(st.integers(0, 300), st.integers(1, 64), SWITCHES)
def test_an_expected_number_of_flows_joins_the_whole_numbers_beside_it(
    flows: int, links: int, switches: float
) -> None:
    for whole, beside in (
        (flows, flows + 1e-9 / switches),
        (flows + 1, flows + 1 - 1e-9 / switches),
    ):
        near = expected_max_load(beside, links, num_switches=switches)
        assert near == pytest.approx(
            expected_max_load(whole, links, num_switches=switches), abs=1e-6
        )


@given(st.integers(2, 64), st.integers(1, 16), st.integers(2, 16))
def test_more_and_thinner_flows_collide_less(links: int, per_link: int, pairs: int) -> None:
    flows, share = links * per_link, 1 / per_link
    thick = hashed_slowdown(num_flows=flows, num_links=links, num_switches=1, flow_share=share)
    many, thin = thinner_flows(flows, share, num_queue_pairs=pairs)
    assert many * thin == pytest.approx(flows * share)
    less = hashed_slowdown(num_flows=many, num_links=links, num_switches=1, flow_share=thin)
    assert 1 <= less <= thick * (1 + CLOSE)


def test_flows_that_want_little_of_a_link_do_not_notice_each_other() -> None:
    # 8 flows of a tenth of a link: even all on one link fit.
    assert hashed_slowdown(num_flows=8, num_links=8, num_switches=1000, flow_share=0.1) == 1


def test_the_slowdown_is_the_mean_of_what_the_slowest_flow_sees() -> None:
    # Two flows on two links, each wanting 3/4 of one: apart (1/2) no slowdown, together 1.5.
    got = hashed_slowdown(num_flows=2, num_links=2, num_switches=1, flow_share=0.75)
    assert got == pytest.approx(0.5 * 1 + 0.5 * 1.5)


@pytest.mark.parametrize("balancing", ["adaptive", "spray", "cells"])
def test_balanced_paths_are_slowed_by_their_efficiency_under_full_load_only(
    balancing: LoadBalancing,
) -> None:
    def at(flows: float) -> float:
        return slowdown(
            load_balancing=balancing,
            path_efficiency=0.9,
            num_flows=flows,
            num_links=16,
            num_switches=100,
            flow_share=1.0,
        )

    assert at(16) == pytest.approx(1 / 0.9)
    assert at(14) == 1
    assert at(32) == pytest.approx(2 / 0.9)


def test_static_routes_spread_a_shift_evenly_and_meet_other_patterns_like_a_hash() -> None:
    at = {
        is_shift: slowdown(
            load_balancing=balancing_for("static", is_shift=is_shift),
            path_efficiency=0.5,
            num_flows=16,
            num_links=16,
            num_switches=1,
            flow_share=1.0,
        )
        for is_shift in (True, False)
    }
    assert at[True] == 1
    assert at[False] == expected_max_load(16, 16)


def test_equal_hashes_leave_one_link_and_coprime_ones_all() -> None:
    assert distinct_links(16, num_links_below=16) == 1
    assert distinct_links(8, num_links_below=16) == 1
    assert distinct_links(16, num_links_below=8) == 2
    assert distinct_links(16, num_links_below=15) == 16


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_links_left_by_polarisation_are_those_that_a_count_finds(
    below: int, links: int
) -> None:
    reached = {h % links for h in range(below * links) if h % below == 0}
    assert distinct_links(links, num_links_below=below) == len(reached)


@given(st.integers(1, 40), st.integers(1, 40))
def test_no_collision_is_a_fullest_link_of_one(flows: int, links: int) -> None:
    loads, cdf = max_load_cdf(flows, links)
    at_most_one = float(np.interp(1, loads, cdf, left=0, right=1))
    assert no_collision_probability(flows, links) == pytest.approx(at_most_one, abs=1e-12)


def test_a_link_is_idle_when_every_flow_missed_it() -> None:
    assert busy_share(8, 8) == pytest.approx(1 - (7 / 8) ** 8)
    assert busy_share(3, 1) == 1
    assert busy_share(0, 4) == 0


@pytest.mark.parametrize(
    ("ranks", "expected"),
    # Closed forms: 1/sqrt(pi), 3/(2 sqrt(pi)); Harter (1961), table 1: 10, 100, 400.
    [
        (1, 0.0),
        (2, 1 / math.sqrt(math.pi)),
        (3, 1.5 / math.sqrt(math.pi)),
        (10, 1.53875),
        (100, 2.50759),
        (400, 2.96818),
    ],
)
def test_the_largest_of_normals_is_that_of_the_tables(ranks: int, expected: float) -> None:
    assert expected_max_normal(ranks) == pytest.approx(expected, abs=1e-5)


def test_the_largest_of_ten_million_normals_lies_between_its_asymptotes() -> None:
    # Median of the maximum: F(z) = 2^(-1/n), z = 5.2671 for n = 1e7; the mean lies about
    # (0.5772 + ln ln 2) / 5.45 = 0.039 higher (Gumbel).
    assert expected_max_normal(1e7) == pytest.approx(5.2671 + 0.039, rel=0.002)


@given(st.floats(1, 1e7), st.floats(1, 1e7))
def test_the_slowest_of_more_ranks_is_slower(first: float, second: float) -> None:
    few, many = sorted((first, second))
    assert straggler_factor(few, relative_sigma=0.05) >= 1 - 1e-9
    assert straggler_factor(few, relative_sigma=0.05) <= straggler_factor(many, relative_sigma=0.05)
