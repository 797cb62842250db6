"""A bound is never violated: random networks in the packet engine, against network calculus.

Chains of 2 to 8 ports with 1 to 3 classes; token-bucket sources that spend all they have at once,
in the worst phase, or at random; first come first served, strict priorities, pre-emption,
credit-based and asynchronous shapers, and windows of gates.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.validation.span.random_networks import (
    MECHANISMS,
    Mechanism,
    one_hop,
    play,
    random_case,
)
from netloom.validation.span.timed import least_ratio, violations

ROUNDING = 1 + 1e-9


@given(st.integers(0, 2**32 - 1), st.sampled_from(MECHANISMS))
@settings(max_examples=300, deadline=None)
def test_no_delay_or_backlog_exceeds_its_bound(seed: int, mechanism: Mechanism) -> None:
    case = random_case(np.random.default_rng(seed), mechanism)
    shown = play(case)
    assert 2 <= case.num_hops <= 8
    assert shown.num_frames > 0
    assert shown.worst <= ROUNDING, (case, shown)


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_no_bound_is_violated_in_ten_thousand_networks() -> None:
    assert violations(10_000, seed=2026) == 0


@pytest.mark.parametrize("mechanism", ["fifo", "priority"])
def test_one_hop_reaches_four_fifths_of_its_bound(mechanism: Mechanism) -> None:
    assert least_ratio(mechanism, 20) >= 0.8


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bounds_of_one_hop_are_not_trivially_large(mechanism: Mechanism) -> None:
    # What docs/models/span.md prints; windows are bounded for the worst phase of the gates.
    ratios = [
        max(play(one_hop(np.random.default_rng(n), mechanism)).delay_ratios) for n in range(9)
    ]
    assert max(ratios) <= ROUNDING
    assert np.median(ratios) >= (0.5 if mechanism == "window" else 0.8)
