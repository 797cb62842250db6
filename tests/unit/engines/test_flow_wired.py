"""Flows on a wiring: sets of next links, as read from a file, in place of a fabric's tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small
from wirings import leaf_spine

from netloom.engines.flow import FlowSettings, run_flows
from netloom.engines.flow.ends import TransferEnds
from netloom.engines.flow.phases import at_once
from netloom.errors import InfeasibleError

RATE = small.RATE_BPS


def test_a_wiring_and_a_fabric_take_as_long_where_flows_are_split() -> None:
    asked = at_once(np.arange(8), (np.arange(8) + 3) % 12, size_bytes=10**6 * np.arange(1, 9))
    spray = FlowSettings(balance="spray")
    wired = run_flows(leaf_spine(3, 2, 4), asked, spray)
    built = run_flows(small.leaf_spine(3, 2, 4), asked, spray)
    assert wired.finish_ps.tolist() == built.finish_ps.tolist()


def test_a_wirings_own_delays_come_on_top() -> None:
    wiring = leaf_spine(2, 1, 1)
    forward_ps = np.where(np.arange(wiring.num_vertices) >= 2, 100, 0)
    slow = replace(wiring, link_delay_ps=np.full(wiring.num_links, 7), forward_ps=forward_ps)
    asked = at_once(np.array([0]), np.array([1]), size_bytes=50)
    found = run_flows(slow, asked, FlowSettings(latency_ps=(1,)))
    # 400 bits at 400 Gb/s, 4 links of 7 ps, 3 switches of 100 ps, and 1 ps at the ends.
    assert found.finish_ps.tolist() == [1000 + 28 + 300 + 1]


def test_ends_storing_switches_and_the_way_back_are_counted_once() -> None:
    wiring = leaf_spine(2, 1, 1)
    forward_ps = np.where(np.arange(wiring.num_vertices) >= 2, 1000, 0)
    slow = replace(wiring, link_delay_ps=np.full(wiring.num_links, 500), forward_ps=forward_ps)
    asked = at_once(np.array([0]), np.array([1]), size_bytes=500)
    ends = TransferEnds(send_ps=7, receive_ps=3000, payload_bytes=100, header_bytes=6, stores=True)
    # 500 bytes at 400 Gb/s are 10,000 ps; a packet of 106 bytes is stored at 3 switches, 2,120 ps
    # each; 4 links of 500 ps and 3 switches of 1,000 ps; 7 ps before and 3,000 ps after them. The
    # acknowledgement of 10 bytes takes 4 x 200 + 5,000 ps, of which receiving hides 3,000.
    found = run_flows(slow, asked, FlowSettings(ends=ends))
    arrives = 10_000 + 3 * 2_120 + 5_000 + 7 + 3_000
    assert found.finish_ps.tolist() == [arrives + 5_800 - 3_000]
    stopped = run_flows(slow, asked, FlowSettings(ends=ends), until_ps=arrives + 10)
    assert stopped.partial
    assert stopped.finish_ps.tolist() == [-1]


def test_static_routes_send_a_shift_apart() -> None:
    # Four hosts of a leaf to four of another over four spines: destinations differ modulo 4.
    asked = at_once(np.arange(4), 4 + np.arange(4), size_bytes=10**6)
    found = run_flows(leaf_spine(2, 4, 4), asked, FlowSettings(balance="static"))
    assert found.finish_ps.tolist() == [20_000_000] * 4


def test_hashed_flows_take_one_spine_each_and_meet_on_it() -> None:
    asked = at_once(np.arange(8), 8 + np.arange(8), size_bytes=10**6)
    found = run_flows(leaf_spine(2, 8, 8), asked)
    up = found.link_bytes[2 * 16 : 2 * 24 : 2]  # leaf 0 to its spines
    assert up.sum() == 8 * 10**6
    assert found.simulated_ps == pytest.approx(up.max() * 8 / RATE * 1e12, rel=1e-6)


@pytest.mark.parametrize("balance", ["ecmp", "static", "spray"])
def test_a_pair_without_a_way_is_named(balance: str) -> None:
    wiring = leaf_spine(2, 2, 2)
    choices = wiring.choices.copy()
    choices[4, 1] = 0  # leaf 0 knows no way to leaf 1
    asked = at_once(np.array([0]), np.array([3]), size_bytes=1)
    with pytest.raises(InfeasibleError, match=r"v4 to v3: no path is left \(1 flows\)"):
        run_flows(replace(wiring, choices=choices), asked, FlowSettings(balance=balance))  # type: ignore[arg-type]


@pytest.mark.parametrize("balance", ["ecmp", "spray"])
def test_routes_that_lead_round_in_a_circle_are_refused(balance: str) -> None:
    wiring = leaf_spine(2, 1, 2)
    choices = wiring.choices.copy()
    choices[6, 1] = choices[6, 0]  # the spine sends what is for leaf 1 back to leaf 0
    asked = at_once(np.array([0]), np.array([3]), size_bytes=1)
    with pytest.raises(InfeasibleError, match="round in a circle"):
        run_flows(replace(wiring, choices=choices), asked, FlowSettings(balance=balance))  # type: ignore[arg-type]
