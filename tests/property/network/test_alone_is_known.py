"""Messages that meet no other take their time alone; a run that skips them is the run without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_equal_components_once import rails, rings

from netloom.engines.packet import PacketSettings, Transport, run_packets, settings_for
from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.known.alone import answer_share, run_with_known
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


def test_a_sender_that_was_cut_is_moved_from_then_on() -> None:
    # DCQCN comes back slowly: of a connection that met another, no message is known.
    cut = replace(PAUSES, congestion_control="dcqcn")
    many = np.zeros(3, dtype=np.int64)
    dag = Dag.of(
        np.concatenate([many, [2]]),
        np.concatenate([many + 4, [4]]),
        400_000,
        connection=np.array([0, 0, 0, 1]),
    )
    dag.start_ps[:] = [0, 300_000_000, 600_000_000, 1_000_000]
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    found, whole, share = arrivals(rails(2, 3), work, cut)
    assert share == pytest.approx(1.0)
    np.testing.assert_array_equal(found, whole)
