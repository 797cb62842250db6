"""Messages that meet no other take their time alone; a run that skips them is the run without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_equal_components_once import rails, rings, wired

from netloom.engines.packet import PacketSettings, Transport, run_packets, settings_for
from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.known.alone import answer_share
from netloom.engines.packet.known.known_run import run_with_known
from netloom.engines.packet.settings import Ecn
from netloom.fabric.wiring.all_ways import all_ways
from netloom.parts.load import load_catalog
from netloom.workload.dag import Dag, Label, to_transfers

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

HOST = Transport(ask_every_packets=256)
CREDITS = PacketSettings(flow_control="credits", transport=HOST)
PAUSES = PacketSettings(flow_control="pfc", transport=HOST)
# Answers share the reverse links with data, 86 bytes each at 100 Gb/s, and a sender that has just
# ended one message may begin the next in the middle of one of them.
ANSWER_PS = 6_880
PACKET_PS = 4178 * 80


def arrivals(
    wiring: PacketTopology, work: Transfers, how: PacketSettings
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return when each arrives with and without what is known, and the share that was moved."""
    found = run_with_known(wiring, work, how)
    whole = run_packets(wiring, work, how)
    known, moved = (one.tables["arrivals"]["arrive_ps"].astype(np.int64) for one in (found, whole))
    return known, moved, found.simulated_share


@settings(max_examples=20, deadline=None)
@given(
    num_hosts=st.integers(2, 5),
    size_bytes=st.integers(1_000, 300_000),
    how=st.sampled_from([CREDITS, PAUSES, replace(PAUSES, connections=4)]),
)
def test_a_ring_without_collisions_needs_no_packets(
    num_hosts: int, size_bytes: int, how: PacketSettings
) -> None:
    work = rings(2, num_hosts, size_bytes)
    found, whole, share = arrivals(rails(2, num_hosts), work, how)
    if share and how.connections > 1:
        # A packet of a few bytes that one of four connections has alone makes messages in a row
        # differ: nothing is taken to be known then.
        assert 0 < -(-size_bytes // num_hosts) % (how.connections * 4096) < 4096
        np.testing.assert_array_equal(found, whole)
        return
    assert share == 0
    # What comes back takes its share of the links: a credit of 8 bytes and a gap of 20 for a packet
    # of 4,178, and some answers; several connections of a message take turns, packet by packet.
    turns_ps = 2 * (num_hosts - 1) * (2 * ANSWER_PS + (how.connections - 1) * PACKET_PS)
    assert (np.abs(found - whole) <= 28 / 4178 * whole + turns_ps).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), how=st.sampled_from([CREDITS, PAUSES]))
def test_what_meets_is_moved_and_ends_as_in_the_whole_run(seed: int, how: PacketSettings) -> None:
    # Messages to random hosts of two rails at random times: some meet at a receiver.
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 14))
    rail = rng.integers(0, 2, count)
    source, other = rng.integers(0, 4, (2, count))
    target = (source + 1 + other % 3) % 4
    size = rng.integers(4_096, 400_000, count)
    dag = Dag.of(source * 2 + rail, target * 2 + rail, size, connection=np.arange(count))
    dag.start_ps[:] = rng.integers(0, 60_000_000, count)
    work = to_transfers([dag], [Label()], rng=rng)
    found, whole, _ = arrivals(rails(2, 4), work, how)
    # A message that follows another on a link closely may wait for one packet of it, or of the
    # other's answers.
    assert np.abs(found - whole).max() <= count * (PACKET_PS + ANSWER_PS)


def test_two_that_meet_at_a_receiver_are_both_moved_and_a_third_is_not() -> None:
    dag = Dag.of(
        np.array([0, 2, 1], dtype=np.int64),
        np.array([4, 4, 3], dtype=np.int64),
        400_000,
        connection=np.arange(3),
    )
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    found, whole, share = arrivals(rails(2, 3), work, PAUSES)
    assert share == pytest.approx(2 / 3)
    np.testing.assert_array_equal(found[:2], whole[:2])  # the third shares nothing with them
    assert found[2] == whole[2]


def test_messages_of_a_connection_follow_one_another() -> None:
    pair = np.zeros(4, dtype=np.int64)
    dag = Dag.of(pair, pair + 2, 100_000)
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    found, whole, share = arrivals(rails(2, 2), work, PAUSES)
    assert share == 0
    np.testing.assert_allclose(found, whole, atol=4 * ANSWER_PS)


def test_messages_start_when_they_are_posted_not_when_their_connection_is_free() -> None:
    pair = np.zeros(4, dtype=np.int64)
    work = to_transfers([Dag.of(pair, pair + 2, 100_000)], [Label()], rng=np.random.default_rng(0))
    network = rails(2, 2)
    found, whole = run_with_known(network, work, PAUSES), run_packets(network, work, PAUSES)
    np.testing.assert_array_equal(found.start_ps, whole.start_ps)


@pytest.mark.parametrize("how", [CREDITS, PAUSES, replace(PAUSES, connections=4)])
def test_what_is_behind_a_late_message_of_its_connection_is_not_moved(how: PacketSettings) -> None:
    # Of three messages of a connection the first meets one of another sender; the others follow
    # it as soon as it is gone, and meet nobody.
    dag = Dag.of(
        np.array([0, 0, 0, 2], dtype=np.int64),
        np.array([4, 4, 4, 4], dtype=np.int64),
        np.array([400_000, 400_000, 400_000, 100_000], dtype=np.int64),
        connection=np.array([0, 0, 0, 1]),
    )
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    found, whole, share = arrivals(rails(2, 3), work, how)
    assert share == pytest.approx(5 / 13)
    assert found[0] > 1.2 * 400_000 * 80  # 100 Gb/s are 80 ps a byte: it was late
    np.testing.assert_allclose(found, whole, atol=how.connections * PACKET_PS + 4 * ANSWER_PS)


@pytest.mark.parametrize("spines", [1, 2, 4])
def test_a_message_takes_of_a_link_what_comes_to_it(spines: int) -> None:
    # Four hosts a leaf, and as many cables up: 4 messages take a quarter of each of 4 links up, and
    # so of each of 4 links down, whatever spines they pass.
    hosts = [(host, 8 + host // 4) for host in range(8)]
    trunks = [(leaf, 10 + cable % spines) for leaf in (8, 9) for cable in range(4)]
    source = np.arange(4, dtype=np.int64)
    dag = Dag.of(source, source + 4, 400_000, connection=source)
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    adaptive = settings_for(load_catalog().technology("infiniband-ndr"))
    found, whole, share = arrivals(wired(8, hosts + trunks), work, adaptive)
    assert share == 0
    # Each may wait for one packet of the three others.
    np.testing.assert_allclose(found, whole, atol=3 * PACKET_PS)


def test_the_shares_of_links_are_those_of_what_comes_to_their_switch() -> None:
    # One host a leaf; two cables to the first spine, one to the second: two thirds and one go up,
    # and the first spine has two links down to spread its two thirds over.
    cables = [(0, 2), (1, 3), (2, 4), (2, 4), (2, 5), (3, 4), (3, 4), (3, 5)]
    network = wired(2, cables)
    ways = all_ways(network, np.array([0]), np.array([1]))
    shares = {
        (int(a), int(b)): share
        for a, b, share in zip(
            network.link_source[ways.link], network.link_target[ways.link], ways.share, strict=True
        )
    }
    third = pytest.approx(1 / 3)
    assert shares == {
        (0, 2): 1,
        (2, 4): third,
        (2, 5): third,
        (4, 3): third,
        (5, 3): third,
        (3, 1): pytest.approx(1),
    }
    assert len(ways.link) == 8


def test_nothing_is_known_of_a_window_that_opens_slowly() -> None:
    tcp = settings_for(load_catalog().technology("tcp-100g"))
    network, work = rails(2, 3), rings(2, 3, 300_000)
    found = run_with_known(network, work, tcp)
    whole = run_packets(network, work, tcp)
    np.testing.assert_array_equal(found.finish_ps, whole.finish_ps)
    assert "every message was moved" in found.notes[0]


def test_answers_to_every_packet_leave_nothing_known() -> None:
    # 86 bytes back for 4,178 there: 2 % of the links that data of a ring takes too.
    every = replace(PAUSES, transport=Transport())
    assert answer_share(every.transport) == pytest.approx(86 / 4178)
    found = run_with_known(rails(2, 3), rings(2, 3, 90_000), every)
    assert "answers" in found.notes[0]


def test_nothing_is_known_of_links_that_fail() -> None:
    fault = PacketFault(when_ps=1, kind="rate", link=0, rate_bps=1e9)
    network, work = rails(2, 3), rings(2, 3, 90_000)
    found = run_with_known(network, work, PAUSES, faults=[fault])
    whole = run_packets(network, work, PAUSES, faults=[fault])
    np.testing.assert_array_equal(found.finish_ps, whole.finish_ps)
    assert found.simulated_share == pytest.approx(1.0)


def two_that_meet_and_two_that_follow(how: PacketSettings) -> tuple[np.ndarray, np.ndarray, float]:
    """Three messages of a connection, 300 us apart; another sender's meets the first of them."""
    many = np.zeros(3, dtype=np.int64)
    dag = Dag.of(
        np.concatenate([many, [2]]),
        np.concatenate([many + 4, [4]]),
        400_000,
        connection=np.array([0, 0, 0, 1]),
    )
    dag.start_ps[:] = [0, 300_000_000, 600_000_000, 1_000_000]
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    return arrivals(rails(2, 3), work, how)


def test_a_sender_that_was_cut_is_moved_from_then_on() -> None:
    # DCQCN comes back slowly: of a connection that was marked, no later message is known.
    marks = Ecn(kmin_bytes=20_000, kmax_bytes=100_000, pmax=1.0)
    host = replace(HOST, cnp_interval_ps=50_000_000)
    cut = replace(PAUSES, congestion_control="dcqcn", ecn=marks, transport=host)
    found, whole, share = two_that_meet_and_two_that_follow(cut)
    assert share == pytest.approx(1.0)
    np.testing.assert_array_equal(found, whole)


def test_a_sender_that_met_another_and_was_not_cut_is_as_new() -> None:
    # No marks: the two that meet are moved, the two that follow on the connection are not.
    found, whole, share = two_that_meet_and_two_that_follow(
        replace(PAUSES, congestion_control="dcqcn")
    )
    assert share == pytest.approx(0.5)
    np.testing.assert_array_equal(found, whole)
