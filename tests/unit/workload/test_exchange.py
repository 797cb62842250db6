"""Collectives as transfers: who sends what to whom, and what waits for what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.workload.dag import Dag, Label, beside, then, to_transfers
from netloom.workload.exchange import (
    all_to_all,
    broadcast,
    halving_doubling,
    hierarchical,
    rail_rings,
    ring,
)
from netloom.workload.exchange_tree import binary_tree, double_tree
from netloom.workload.transfers import check_transfers


def _nodes(num_nodes: int, width: int) -> list[np.ndarray]:
    return list(np.arange(num_nodes * width).reshape(num_nodes, width))


def _checked(dag: Dag, num_endpoints: int) -> Dag:
    transfers = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    check_transfers(transfers, num_endpoints)
    return dag


def _held(dag: Dag, num_ranks: int) -> np.ndarray:
    """Return which ranks' inputs have reached each rank once all transfers are done.

    A transfer carries all that its source holds when it starts: what it began with and what the
    transfers that it waits for brought.
    """
    brought = np.zeros((len(dag), num_ranks), dtype=bool)
    waits: dict[int, list[int]] = {}
    for waiter, waited in zip(dag.waiter.tolist(), dag.waited.tolist(), strict=True):
        waits.setdefault(waiter, []).append(waited)
    left = {index: len(set(waits.get(index, []))) for index in range(len(dag))}
    followers: dict[int, set[int]] = {}
    for waiter, all_waited in waits.items():
        for waited in all_waited:
            followers.setdefault(waited, set()).add(waiter)
    ready = [index for index, count in left.items() if count == 0]
    held = np.eye(num_ranks, dtype=bool)
    while ready:
        index = ready.pop()
        brought[index, dag.source[index]] = True
        for waited in waits.get(index, []):
            if dag.target[waited] == dag.source[index]:
                brought[index] |= brought[waited]
        held[dag.target[index]] |= brought[index]
        for follower in followers.get(index, ()):
            left[follower] -= 1
            if left[follower] == 0:
                ready.append(follower)
    return held


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("slices", [1, 3])
def test_a_ring_all_reduce_moves_what_theory_says_and_reaches_everybody(
    n: int, slices: int
) -> None:
    dag = _checked(ring("all-reduce", [np.arange(n)], 1000, slices=slices), n)
    # 2 (n - 1) steps in which the ranks together send the whole vector once.
    assert dag.size_bytes.sum() == 2 * (n - 1) * 1000
    assert len(dag) == 2 * (n - 1) * n * slices
    assert _held(dag, n).all()


def test_every_rank_of_a_ring_sends_each_chunk_but_one() -> None:
    # 10 bytes over 4 ranks are chunks of 2, 3, 2, 3; an all-gather sends all but one's own next.
    dag = ring("all-gather", [np.arange(4)], 10)
    sent = np.bincount(dag.source, dag.size_bytes).tolist()
    # Rank i forwards every chunk but the one its successor began with: 10 minus chunk i + 1.
    assert sent == [10 - 3, 10 - 2, 10 - 3, 10 - 2]


@pytest.mark.parametrize("num_nodes", [2, 4, 6])
def test_rail_rings_stay_on_their_rail_between_nodes(num_nodes: int) -> None:
    for order in rail_rings(_nodes(num_nodes, 4), 4):
        assert sorted(order.tolist()) == list(range(num_nodes * 4))
        here, there = order, np.roll(order, -1)
        crossing = here // 4 != there // 4
        assert crossing.sum() == num_nodes
        assert (here[crossing] % 4 == there[crossing] % 4).all()


def test_rings_of_different_channels_use_different_rails() -> None:
    orders = rail_rings(_nodes(2, 4), 4)
    rails = [
        {int(a) % 4 for a, b in zip(o, np.roll(o, -1), strict=True) if a // 4 != b // 4}
        for o in orders
    ]
    assert set.union(*rails) == {0, 1, 2, 3}


@pytest.mark.parametrize(("num_nodes", "width"), [(4, 8), (3, 2), (1, 4), (5, 1)])
def test_hierarchical_and_tree_all_reduce_reach_everybody(num_nodes: int, width: int) -> None:
    n = num_nodes * width
    for dag in (
        hierarchical(_nodes(num_nodes, width), 4096),
        double_tree(_nodes(num_nodes, width), 4096, channels=2, slices=2),
    ):
        assert _held(_checked(dag, n), n).all()
        # Both move the whole vector up and down: 2 (n - 1) vectors in all.
        assert dag.size_bytes.sum() == 2 * (n - 1) * 4096


def test_halving_and_doubling_sends_half_then_a_quarter_and_back() -> None:
    dag = _checked(halving_doubling(np.arange(4), 800), 4)
    mine = dag.source == 0
    assert dag.size_bytes[mine].tolist() == [400, 200, 200, 400]
    assert dag.target[mine].tolist() == [2, 1, 1, 2]
    assert _held(dag, 4).all()


def test_halving_refuses_what_is_no_power_of_two() -> None:
    with pytest.raises(SpecError, match="6 ranks are no power of two; choose ring or tree"):
        halving_doubling(np.arange(6), 800)


def test_fewer_bytes_than_pieces_are_refused() -> None:
    with pytest.raises(SpecError, match="7 bytes cannot be cut into 8 pieces"):
        ring("all-reduce", [np.arange(8)], 7)


def test_an_all_to_all_with_a_window_waits_for_the_message_that_many_turns_ago() -> None:
    dag = _checked(all_to_all(np.arange(4), 400, in_flight=1), 4)
    mine = np.flatnonzero(dag.source == 0)
    assert dag.target[mine].tolist() == [1, 2, 3]
    waits = dict(zip(dag.waiter.tolist(), dag.waited.tolist(), strict=True))
    assert waits[mine[1]] == mine[0]
    assert waits[mine[2]] == mine[1]


def test_a_broadcast_brings_the_first_ranks_data_to_everybody() -> None:
    dag = _checked(broadcast(np.arange(5), 80, slices=4), 5)
    assert _held(dag, 5)[:, 0].all()
    assert np.bincount(dag.target, dag.size_bytes, minlength=5).tolist() == [0, 80, 80, 80, 80]


def test_the_binary_tree_is_that_of_nccl() -> None:
    # ncclGetBtree for 8 ranks: 4 hangs on 0; 2 and 6 on 4; 1 and 3 on 2; 5 and 7 on 6.
    assert binary_tree(8).tolist() == [-1, 2, 4, 2, 0, 6, 4, 6]


@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 3))
def test_what_comes_after_waits_for_what_was_received(n: int, slices: int, repeats: int) -> None:
    once = ring("reduce-scatter", [np.arange(n)], 100 * n, slices=slices)
    whole = once
    for _ in range(repeats):
        whole = then(whole, once, delay_ps=7)
    _checked(whole, n)
    last = whole.source[len(whole) - len(once) :]
    assert (np.bincount(last, minlength=n) == (n - 1) * slices).all()
    assert set(whole.delay_ps.tolist()) == {0, 7}


def test_pieces_side_by_side_keep_their_connections_apart() -> None:
    one = Dag.of(np.array([0]), np.array([1]), 10)
    ports = to_transfers([one, one], [Label(job=0), Label(job=1)], rng=np.random.default_rng(3))
    assert beside([one, one]).connection.tolist() == [0, 1]
    assert ports.job.tolist() == [0, 1]
    assert (ports.source_port >= 0xC000).all()


def test_connections_of_one_pair_never_have_the_same_port() -> None:
    # Of 300 draws among 16,384 ports, two are the same in 94 of 100 cases: 1 - exp(-300^2 / 2 / N).
    pairs = np.repeat([[0, 1], [2, 3]], 300, axis=0)
    one = Dag.of(pairs[:, 0], pairs[:, 1], 10)
    apart = replace(one, connection=np.arange(len(one)))
    made = to_transfers([apart], [Label()], rng=np.random.default_rng(3))
    drawn = np.random.default_rng(3).integers(0, 0x4000, len(one)) + 0xC000
    assert len(np.unique(drawn[:300])) < 300
    for half in (slice(300), slice(300, None)):
        assert len(np.unique(made.source_port[half])) == 300
    assert (made.source_port != drawn).mean() < 0.05  # others keep what they drew


def test_more_connections_of_a_pair_than_ports_keep_what_they_drew() -> None:
    one = Dag.of(np.zeros(17_000, dtype=np.int64), np.ones(17_000, dtype=np.int64), 10)
    apart = replace(one, connection=np.arange(len(one)))
    made = to_transfers([apart], [Label()], rng=np.random.default_rng(3))
    assert (
        made.source_port.tolist()
        == (np.random.default_rng(3).integers(0, 0x4000, len(one)) + 0xC000).tolist()
    )
