"""NCCL's cost model, recomputed by hand from src/graph/tuning.cc at commit 5067397c."""

from __future__ import annotations

import pytest

from netloom.engines.analytic.tables import Algorithm, LinkKind, Protocol
from netloom.engines.analytic.tuner import AlgorithmChoice, Communicator, choose, estimates
from netloom.workload.collective import CollectiveKind

ALL_REDUCE = CollectiveKind.ALL_REDUCE
MIB = 2**20


def hopper_node(**changes: object) -> Communicator:
    known: dict[str, object] = {
        "generation": "hopper",
        "num_ranks": 8,
        "num_nodes": 1,
        "num_channels": 16,
        "intra_gbps": 370.8,
        "has_nvls": True,
        "has_switch": True,
    }
    return Communicator(**(known | changes))  # type: ignore[arg-type]


def ampere_pair(**changes: object) -> Communicator:
    known: dict[str, object] = {
        "generation": "ampere",
        "num_ranks": 32,
        "num_nodes": 4,
        "num_channels": 12,
        "intra_gbps": 240.0,
        "inter_gbps": 96.0,
        "has_switch": True,
    }
    return Communicator(**(known | changes))  # type: ignore[arg-type]


def estimate(
    kind: CollectiveKind,
    size_bytes: float,
    comm: Communicator,
    algorithm: Algorithm,
    protocol: Protocol,
) -> AlgorithmChoice:
    found = estimates(kind, size_bytes, comm)
    return next(c for c in found if c.algorithm is algorithm and c.protocol is protocol)


@pytest.mark.parametrize(
    ("algorithm", "protocol", "expected_us"),
    [
        (Algorithm.RING, Protocol.LL, 6.6 + 14 * 0.6),  # 15.0: base + 2(n-1) hops
        (Algorithm.RING, Protocol.LL128, 14 + 14 * 1.9),  # 40.6
        (Algorithm.RING, Protocol.SIMPLE, 8.4 + 14 * 3.4),  # 56.0
        (Algorithm.TREE, Protocol.LL, 6.8 + 2 * 7 * 0.6),  # 15.2: up and down a chain of 7
        (Algorithm.TREE, Protocol.LL128, 14 + 2 * 7 * 1.25),  # 31.5
        (Algorithm.TREE, Protocol.SIMPLE, 8.4 + 2 * 7 * 4.0),  # 64.4
        (Algorithm.NVLS, Protocol.SIMPLE, 25.0),
    ],
)
def test_the_latency_of_an_all_reduce_in_one_node_is_the_tables(
    algorithm: Algorithm, protocol: Protocol, expected_us: float
) -> None:
    found = estimate(ALL_REDUCE, 64, hopper_node(), algorithm, protocol)
    assert found.latency_us == pytest.approx(expected_us)


@pytest.mark.parametrize(
    ("algorithm", "protocol", "expected_gbps"),
    [
        # bus x n / nsteps = 370.8 x 8 / 14
        (Algorithm.RING, Protocol.SIMPLE, 370.8 * 8 / 14),
        # half of 370.8 is 185.4, over the Hopper cap of 141
        (Algorithm.RING, Protocol.LL, 141.0 * 8 / 14),
        (Algorithm.RING, Protocol.LL128, 370.8 * 0.92 * 8 / 14),
        # trees: 0.92 of the bus, halved; 512 MiB is past the correction table's last entry used
        (Algorithm.TREE, Protocol.SIMPLE, 370.8 * 0.92 * 0.5),
        (Algorithm.TREE, Protocol.LL, 370.8 * 0.92 / 3.8 * 0.5),
        (Algorithm.TREE, Protocol.LL128, 370.8 * 0.92 * 7 / 9 * 0.5),
        # NVLS: efficiency 0.85, one of 16 channels lost, two operations pipelined
        (Algorithm.NVLS, Protocol.SIMPLE, 370.8 * 0.85 * 15 / 16 * 2 * 8 / 14),
    ],
)
def test_the_bandwidth_of_an_all_reduce_in_one_node_is_the_tables(
    algorithm: Algorithm, protocol: Protocol, expected_gbps: float
) -> None:
    found = estimate(ALL_REDUCE, 512 * MIB, hopper_node(), algorithm, protocol)
    assert found.bandwidth_gbps == pytest.approx(expected_gbps)


def test_a_ring_over_nodes_pays_the_network_for_its_crossings_and_the_plateau() -> None:
    # 62 steps, 2 x 3 of them between nodes. The 56 others cost max(3.4, 3 x 1 us of posting).
    plain_us = 8.4 + 56 * 3.4 + 6 * 14
    small = estimate(ALL_REDUCE, 64, ampere_pair(), Algorithm.RING, Protocol.SIMPLE)
    large = estimate(ALL_REDUCE, 64 * MIB, ampere_pair(), Algorithm.RING, Protocol.SIMPLE)
    assert small.latency_us == pytest.approx(plain_us)
    assert large.latency_us == pytest.approx(1.4 * plain_us)


def test_volta_pays_a_plateau_of_1_9() -> None:
    volta = ampere_pair(generation="volta")
    small = estimate(ALL_REDUCE, 64, volta, Algorithm.RING, Protocol.SIMPLE)
    large = estimate(ALL_REDUCE, 64 * MIB, volta, Algorithm.RING, Protocol.SIMPLE)
    assert large.latency_us == pytest.approx(1.9 * small.latency_us)


def test_posting_on_an_amd_host_floors_the_steps_of_a_simple_ring() -> None:
    # 3 x 2 us of posting is more than 3.4 us of NVLink.
    found = estimate(ALL_REDUCE, 64, ampere_pair(post_us=2.0), Algorithm.RING, Protocol.SIMPLE)
    assert found.latency_us == pytest.approx(8.4 + 56 * 6 + 6 * 14)


def test_a_tree_over_nodes_is_as_deep_as_the_logarithm_of_the_nodes() -> None:
    found = estimate(ALL_REDUCE, 64, ampere_pair(), Algorithm.TREE, Protocol.SIMPLE)
    assert found.latency_us == pytest.approx(8.4 + 2 * (7 * 4 + 2 * 14))


def test_the_nic_is_counted_once_and_twice_where_data_is_flushed() -> None:
    for protocol, times in ((Protocol.LL, 1), (Protocol.SIMPLE, 2)):
        before = estimate(ALL_REDUCE, 64, ampere_pair(), Algorithm.TREE, protocol)
        after = estimate(ALL_REDUCE, 64, ampere_pair(nic_us=3.0), Algorithm.TREE, protocol)
        assert after.latency_us - before.latency_us == pytest.approx(2 * 2 * 3.0 * times)


@pytest.mark.parametrize(
    ("num_nodes", "cap_gbps"), [(2, 18.5), (4, 10.0)], ids=["two nodes", "four nodes"]
)
def test_trees_are_held_to_what_a_channel_can_do(num_nodes: int, cap_gbps: float) -> None:
    comm = ampere_pair(
        generation="volta",
        num_nodes=num_nodes,
        num_ranks=8 * num_nodes,
        inter_gbps=1000.0,
        intra_gbps=1000.0,
        num_channels=4,
    )
    found = estimate(ALL_REDUCE, 2**31, comm, Algorithm.TREE, Protocol.SIMPLE)
    assert found.bandwidth_gbps == pytest.approx(4 * cap_gbps * 0.5)


def test_ll_over_nodes_is_capped_by_the_kind_of_host() -> None:
    fast = {"inter_gbps": 1000.0, "intra_gbps": 1000.0}
    for amd, cap in ((False, 20.4), (True, 19.0)):
        found = estimate(
            ALL_REDUCE, 64, ampere_pair(amd_cpu=amd, **fast), Algorithm.RING, Protocol.LL
        )
        assert found.bandwidth_gbps == pytest.approx(cap * 32 / 62)


@pytest.mark.parametrize(
    ("size_bytes", "protocol", "expected"),
    [
        (64, Protocol.LL, 1.0),
        (2**18, Protocol.LL, 0.4),
        (2**20, Protocol.LL128, 0.6),
        (2**17, Protocol.SIMPLE, 0.5),
        (2**30, Protocol.SIMPLE, 1.0),
    ],
)
def test_trees_fall_short_at_medium_sizes(
    size_bytes: int, protocol: Protocol, expected: float
) -> None:
    # Entry log2(size / 64) of the correction table: 0, 12, 14, 11; 1 GiB lies past its end.
    nominal = estimate(ALL_REDUCE, 2**31, hopper_node(), Algorithm.TREE, protocol)
    found = estimate(ALL_REDUCE, size_bytes, hopper_node(), Algorithm.TREE, protocol)
    assert found.bandwidth_gbps / nominal.bandwidth_gbps == pytest.approx(expected)


def test_nvls_trees_count_the_network_twice_on_two_nodes_only() -> None:
    # Hopper, 16 channels: 384 GB/s of NICs is 24 a channel; 48 on two nodes, below both the cap
    # of 57.7 and NVLink's 2 x 370.8/16 x 0.85 x 15/16 = 36.9, so there NVLink decides.
    def bandwidth(num_nodes: int) -> float:
        comm = hopper_node(num_nodes=num_nodes, num_ranks=8 * num_nodes, inter_gbps=384.0)
        kind = Algorithm.NVLS_TREE
        return estimate(ALL_REDUCE, 2**30, comm, kind, Protocol.SIMPLE).bandwidth_gbps

    assert bandwidth(2) == pytest.approx(2 * 370.8 * 0.85 * 15 / 16 * 16 / 30)
    assert bandwidth(4) == pytest.approx(384.0 * 32 / 62)


def test_pat_needs_one_rank_a_node() -> None:
    alone = ampere_pair(num_ranks=16, num_nodes=16)
    kinds = {c.algorithm for c in estimates(CollectiveKind.ALL_GATHER, MIB, alone)}
    assert Algorithm.PAT in kinds
    found = estimate(CollectiveKind.ALL_GATHER, MIB, alone, Algorithm.PAT, Protocol.SIMPLE)
    # log2(16) x 14 / 3.5 + 16 x 2.8, with the tree's network latency for one rank a node
    assert found.latency_us == pytest.approx(8 + 4 * 14 / 3.5 + 16 * 2.8)
    assert found.bandwidth_gbps == pytest.approx(96 * 0.75)
    together = {c.algorithm for c in estimates(CollectiveKind.ALL_GATHER, MIB, ampere_pair())}
    assert Algorithm.PAT not in together


def test_collnet_needs_switches_that_reduce_and_several_nodes() -> None:
    offers = {c.algorithm for c in estimates(ALL_REDUCE, MIB, ampere_pair(has_collnet=True))}
    assert {Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN} <= offers
    direct = estimate(
        ALL_REDUCE, MIB, ampere_pair(has_collnet=True), Algorithm.COLLNET_DIRECT, Protocol.SIMPLE
    )
    assert direct.latency_us == pytest.approx(2 * (3.7 + 7 * 0.4) + 31)
    # 8 ranks over 12 channels: 0.667 - (0.667 - 1)/2 = 0.8333 of a NIC each
    assert direct.bandwidth_gbps == pytest.approx(96 / (8 / 12 - (8 / 12 - 1) / 2) * 0.5)
    without = {c.algorithm for c in estimates(ALL_REDUCE, MIB, ampere_pair())}
    assert not {Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN} & without


def test_nvlink_sharp_gathers_and_scatters_among_32_gpus_at_most() -> None:
    """NCCL_MAX_NVLS_ARITY is 32; an all-reduce among more has 32 heads."""
    for kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER):
        full = {c.algorithm for c in estimates(kind, MIB, hopper_node(num_ranks=32))}
        rack = {c.algorithm for c in estimates(kind, MIB, hopper_node(num_ranks=33))}
        assert Algorithm.NVLS in full
        assert Algorithm.NVLS not in rack
    rack = {c.algorithm for c in estimates(ALL_REDUCE, MIB, hopper_node(num_ranks=72))}
    assert Algorithm.NVLS in rack


def test_collnet_takes_nodes_of_eight_gpus_at_most() -> None:
    """NCCL_MAX_DIRECT_ARITY + 1 is 8."""
    collnet = {Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN}
    eight = estimates(ALL_REDUCE, MIB, ampere_pair(has_collnet=True, num_ranks=4 * 8))
    nine = estimates(ALL_REDUCE, MIB, ampere_pair(has_collnet=True, num_ranks=4 * 9))
    assert collnet <= {c.algorithm for c in eight}
    assert not collnet & {c.algorithm for c in nine}


def test_ll128_is_for_nvlink_only() -> None:
    over_pcie = hopper_node(intra=LinkKind.PCI, has_nvls=False)
    assert all(c.protocol is not Protocol.LL128 for c in estimates(ALL_REDUCE, MIB, over_pcie))


def test_only_rings_broadcast() -> None:
    found = estimates(CollectiveKind.BROADCAST, MIB, hopper_node())
    assert {c.algorithm for c in found} == {Algorithm.RING}


def test_eight_h100_go_from_ll_to_nvls_as_messages_grow() -> None:
    chosen = [choose(ALL_REDUCE, 2**power, hopper_node()) for power in range(10, 34)]
    assert (chosen[0].algorithm, chosen[0].protocol) == (Algorithm.RING, Protocol.LL)
    assert chosen[-1].algorithm is Algorithm.NVLS
    switches = [n for n in range(1, 24) if chosen[n].algorithm is not chosen[n - 1].algorithm]
    # One switch, at the first size where 25 us + size/338 GB/s beats 15 us + size/80.6 GB/s.
    assert [2 ** (10 + n) for n in switches] == [2 * MIB]


def test_four_a100_nodes_go_from_tree_to_ring() -> None:
    small = choose(ALL_REDUCE, MIB, ampere_pair())
    large = choose(ALL_REDUCE, 2**30, ampere_pair())
    assert (small.algorithm, small.protocol) == (Algorithm.TREE, Protocol.LL128)
    assert (large.algorithm, large.protocol) == (Algorithm.RING, Protocol.SIMPLE)


def test_an_algorithm_that_cannot_run_is_not_forced() -> None:
    forced = choose(ALL_REDUCE, MIB, ampere_pair(), only=Algorithm.NVLS)
    assert forced == choose(ALL_REDUCE, MIB, ampere_pair())
    assert choose(ALL_REDUCE, MIB, ampere_pair(), only=Algorithm.RING).algorithm is Algorithm.RING
