from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.fabric.wire.credits import blocks, reach_m, usable_rate_bps


def test_a_packet_needs_credit_for_its_headers_too() -> None:
    assert blocks(4096) == 64
    assert blocks(4096 + 26) == 65
    assert blocks(1) == 1


def test_a_lane_with_half_the_credits_reaches_half_as_far() -> None:
    assert reach_m(400e9, num_blocks=1024) == pytest.approx(reach_m(400e9) / 2)


def test_a_cable_of_no_length_needs_no_credits_under_way() -> None:
    assert usable_rate_bps(400e9, length_m=0) == 400e9


@given(st.floats(1e9, 1.6e12), st.floats(0.1, 1e7))
def test_the_rate_is_full_within_reach_and_what_is_in_flight_never_exceeds_the_credits(
    rate_bps: float, length_m: float
) -> None:
    usable = usable_rate_bps(rate_bps, length_m=length_m)
    assert (usable == rate_bps) == (length_m <= reach_m(rate_bps))
    assert usable * 2 * length_m * 5e-9 / 8 <= 2048 * 64 * (1 + 1e-12)
