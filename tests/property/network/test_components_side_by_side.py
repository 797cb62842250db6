"""Components that share nothing give the same to the last bit, on however many workers they run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_equal_components_once import rails, rings

from netloom.engines.packet import PacketSettings, run_packets
from netloom.engines.packet.apart.components import components_of
from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.lower import Recording
from netloom.engines.packet.settings import Ecn, Transport
from netloom.workload.dag import Dag, Label, to_transfers

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

US = 1_000_000
MARKED = PacketSettings(
    flow_control="pfc",
    congestion_control="dcqcn",
    ecn=Ecn(kmin_bytes=2_000, kmax_bytes=200_000, pmax=0.5),
    transport=Transport(cnp_interval_ps=4_000_000),
)
WAYS = {
    "pauses": PacketSettings(flow_control="pfc"),
    "credits": PacketSettings(flow_control="credits", balance="d-mod-k"),
    "adaptive": PacketSettings(flow_control="credits", balance="adaptive"),
    "marked": MARKED,
    "sprayed": PacketSettings(
        flow_control="trimming",
        spray="oblivious",
        congestion_control="nscc",
        transport=Transport(recovery="selective"),
    ),
    "digested": replace(MARKED, congestion_control="hpcc-pint"),
    "four connections": replace(MARKED, connections=4),
}


def some(num_rails: int, num_hosts: int, seed: int) -> Transfers:
    """Return random messages inside rails, of which some wait for others of their rail."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(num_rails, 40))
    rail = np.concatenate([np.arange(num_rails), rng.integers(0, num_rails, count - num_rails)])
    source = rng.integers(0, num_hosts, count)
    target = (source + rng.integers(1, num_hosts, count)) % num_hosts
    size = rng.choice([1, 4_096, 60_000, 400_000], count)
    dag = Dag.of(
        source * num_rails + rail, target * num_rails + rail, size, connection=np.arange(count)
    )
    dag.start_ps[:] = rng.choice([0, 0, 0, US], count)
    waiter = np.flatnonzero(rng.random(count) < 0.2)
    before = [np.flatnonzero(rail[:one] == rail[one]) for one in waiter]
    pairs = [
        (one, int(rng.choice(all_of)))
        for one, all_of in zip(waiter, before, strict=True)
        if len(all_of)
    ]
    dag = replace(
        dag,
        waiter=np.array([one for one, _ in pairs], dtype=np.int64),
        waited=np.array([other for _, other in pairs], dtype=np.int64),
    )
    return to_transfers([dag], [Label()], rng=rng)


def told(found: Delivery) -> dict[str, Any]:
    """Return all that a run says, but for the number of simulations it took."""
    return {
        "start": found.start_ps.tolist(),
        "finish": found.finish_ps.tolist(),
        "end": found.simulated_ps,
        "link_bytes": found.link_bytes.tolist(),
        "counters": dict(found.counters),
        "tables": {
            name: {key: cells.tolist() for key, cells in table.items()}
            for name, table in found.tables.items()
        },
        "ended": (found.partial, found.stuck, found.num_draws, found.num_components, found.notes),
    }


def same(wiring: PacketTopology, work: Transfers, how: PacketSettings, **more: Any) -> Delivery:
    """Check that one, two and three workers give the same; return what three gave."""
    one, two, three = (
        run_packets(wiring, work, how, seed=7, num_workers=number, **more) for number in (1, 2, 3)
    )
    assert one.num_parts == 1
    assert told(two) == told(one)
    assert told(three) == told(one)
    return three


@settings(max_examples=60, deadline=None)
@given(
    num_rails=st.integers(2, 5),
    num_hosts=st.integers(2, 6),
    seed=st.integers(0, 2**32),
    how=st.sampled_from(sorted(WAYS)),
    until_us=st.sampled_from([None, None, 3, 30]),
)
def test_one_two_and_three_workers_are_equal_to_the_last_bit(
    num_rails: int, num_hosts: int, seed: int, how: str, until_us: int | None
) -> None:
    network, work = rails(num_rails, num_hosts), some(num_rails, num_hosts, seed)
    watch = Recording(links=(3, 0, network.num_links - 1), every_ps=100_000, max_samples=40)
    until_ps = None if until_us is None else until_us * US
    found = same(network, work, WAYS[how], watch=watch, until_ps=until_ps)
    assert found.num_parts == min(3, found.num_components)
    assert found.num_components >= num_rails


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    link=st.integers(0, 1000),
    kind=st.sampled_from(["loss", "down", "rate"]),
    how=st.sampled_from(["pauses", "credits", "marked"]),
)
def test_faults_stay_in_their_component(seed: int, link: int, kind: str, how: str) -> None:
    network, work = rails(3, 4, num_spines=0), some(3, 4, seed)
    link %= network.num_links
    faults = {
        "loss": [PacketFault(when_ps=US, kind="loss", link=link, loss=0.1)],
        "rate": [PacketFault(when_ps=US, kind="rate", link=link, rate_bps=10e9)],
        "down": [
            PacketFault(when_ps=US, kind="down", link=link),
            PacketFault(when_ps=20 * US, kind="up", link=link),
        ],
    }[kind]
    same(network, work, WAYS[how], faults=faults)


def test_rails_over_shared_spines_run_apart_where_credits_rule() -> None:
    network, work = rails(4, 4, num_spines=2), some(4, 4, 5)
    for name in ("credits", "adaptive"):
        assert same(network, work, WAYS[name]).num_parts == 3
    # A spine's buffer is shared by all rails.
    assert same(network, work, WAYS["pauses"]).num_components == 1


def test_what_one_waits_for_is_in_its_component() -> None:
    # A computation that all rails wait for joins them.
    assert components_of(rails(4, 3), rings(4, 3, 50_000), MARKED).count == 1


def test_both_directions_of_a_cable_are_one_component() -> None:
    # 0 -> 2 and 3 -> 1 share no link, but credits of each go where the other's data does.
    network = rails(1, 4)
    dag = Dag.of(np.array([0, 3]), np.array([2, 0]), 90_000, connection=np.arange(2))
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    assert components_of(network, work, WAYS["credits"]).count == 1


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (replace(WAYS["pauses"], balance="flowlet"), "one table for all switches"),
        (PacketSettings(flow_control="scheduled", balance="cells"), "cells take all links"),
    ],
)
def test_where_something_is_shared_by_all_there_is_one_component(
    how: PacketSettings, why: str
) -> None:
    found = run_packets(rails(3, 3), some(3, 3, 1), how, num_workers=3)
    assert (found.num_components, found.num_parts) == (1, 1), why


def test_components_draw_numbers_of_their_own() -> None:
    # Two equal rails with two senders into one port: were they to draw the same, or to draw in
    # turn from one stream, both would have equal marks, or another rail would change the first's.
    source, target = np.array([0, 2, 1, 3]), np.array([4, 4, 5, 5])

    def finish_ps(rows: slice) -> Any:
        dag = Dag.of(source[rows], target[rows], 400_000, connection=np.arange(4)[rows])
        work = to_transfers([dag], [Label()], rng=np.random.default_rng(1))
        return run_packets(rails(2, 3), work, MARKED, seed=7).finish_ps.tolist()

    both = finish_ps(slice(0, 4))
    assert both[:2] == finish_ps(slice(0, 2))
    assert both[:2] != both[2:]


def test_a_stop_keeps_what_has_ended() -> None:
    network, work = rails(3, 4), some(3, 4, 11)
    whole = run_packets(network, work, MARKED, seed=7)
    found = run_packets(
        network, work, MARKED, seed=7, num_workers=3, on_progress=lambda _progress: False
    )
    ended = found.finish_ps >= 0
    np.testing.assert_array_equal(found.finish_ps[ended], whole.finish_ps[ended])


def test_a_component_that_is_stuck_is_told_as_by_one_simulation() -> None:
    network, work = rails(3, 4), some(3, 4, 2)
    link = int(np.flatnonzero(network.link_target == int(work.target[0]))[0])
    fault = PacketFault(when_ps=0, kind="down", link=link)
    found = same(network, work, WAYS["pauses"], faults=[fault])
    assert found.stuck == "silence"
    assert found.num_parts == 1


@pytest.mark.parametrize("how", sorted(WAYS))
def test_equal_rails_that_end_in_the_same_picosecond_are_equal_too(how: str) -> None:
    # All events of that picosecond happen, whichever rail's last transfer is the last of all.
    source = np.concatenate([np.arange(3) + 3 * host for host in (1, 2, 3)])
    dag = Dag.of(source, source % 3, 60_000, connection=np.arange(9))
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(3))
    assert same(rails(3, 4), work, WAYS[how]).num_parts == 3
