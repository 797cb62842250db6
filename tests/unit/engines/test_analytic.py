"""The analytic engine as its callers see it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from netloom.engines.analytic import Algorithm, AnalyticEngine
from netloom.engines.analytic.profile import is_measured, profile_of
from netloom.engines.analytic.tables import TREE_CORRECTION, Protocol
from netloom.errors import InfeasibleError
from netloom.parts.load import load_catalog
from netloom.validation.collectives.measured import case_of, read_measurement
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from netloom.engines.base import Outcome
    from netloom.fabric.network import Network
    from netloom.provenance import Why

MIB = 2.0**20
GIB = 2.0**30


def network(gpu: str, *, nodes: int = 1, scale_out: str = "8x400Gb NDR") -> Network:
    row = {
        "collective": "all_reduce",
        "gpu": gpu,
        "nodes": str(nodes),
        "ranks": str(8 * nodes),
        "scaleout": scale_out,
        "size_bytes": "1",
        "busbw_GBps": "1",
    }
    return case_of(read_measurement(row, 1, where="test"), load_catalog()).network


def run(
    kind: str,
    size_bytes: float,
    where: Network,
    *,
    ranks: int = 8,
    per_node: int = 8,
    skew: float = 1.0,
) -> Outcome:
    group = Group(size=ranks, per_node=per_node)
    asked = Collective(kind=CollectiveKind(kind), size_bytes=size_bytes, group=group, skew=skew)
    return AnalyticEngine().run(asked, where)


def gbps(outcome: Outcome) -> float:
    return outcome.bus_rate_bps / 8e9


def leaves(why: Why) -> list[Why]:
    if not why.parts:
        return [why]
    return [leaf for part in why.parts for leaf in leaves(part)]


def test_a_large_ring_all_gather_on_h100_reaches_what_its_links_give() -> None:
    # 370 GB/s of 450 in a ring; 16 GiB hide the latency.
    assert gbps(run("all_gather", 16 * GIB, network("H100"))) == pytest.approx(370, rel=0.01)


def test_a_ring_on_two_a100_pays_for_its_fill() -> None:
    # 235 x 2 / (2 + 0.4) = 195.8 GB/s
    found = run("all_reduce", 16 * GIB, network("A100"), ranks=2, per_node=2)
    assert gbps(found) == pytest.approx(195.8, rel=0.01)


@pytest.mark.parametrize(("gpus", "expected"), [(5, 258), (6, 265), (7, 270), (8, 273)])
def test_nvlink_sharp_pulls_the_whole_vector_and_pushes_a_share(gpus: int, expected: int) -> None:
    # Algorithm bandwidth of H100, NVIDIA/nccl issue #1455: 307 / (1 + 1/n).
    found = run("all_reduce", 16 * GIB, network("H100"), ranks=gpus, per_node=gpus)
    assert found.algorithm == "nvls"
    assert 16 * GIB / found.duration_s / 1e9 == pytest.approx(expected, rel=0.015)


def test_a_pair_on_a_mesh_has_one_link_and_all_together_have_seven() -> None:
    mesh = network("MI300X")
    pair = gbps(run("all_reduce", 16 * GIB, mesh, ranks=2, per_node=2))
    assert pair == pytest.approx(47.67, rel=0.01)
    assert gbps(run("all_reduce", 16 * GIB, mesh)) == pytest.approx(7 * 47.67, rel=0.01)


def test_more_than_two_nodes_are_held_to_their_nics() -> None:
    # 8 NICs at 48 GB/s; a tree sends every byte twice, so bus bandwidth is 384 x 31/32.
    found = run("all_reduce", 16 * GIB, network("H100", nodes=4), ranks=32)
    assert gbps(found) == pytest.approx(384 * 31 / 32, rel=0.02)


def test_an_all_to_all_over_nodes_sends_most_of_its_bytes_through_one_nic_a_rank() -> None:
    # Of each rank's bytes 24/32 leave the node at 0.96 x 48 GB/s; bus bandwidth counts 31/32.
    found = run("all_to_all", 16 * GIB, network("H100", nodes=4), ranks=32)
    assert gbps(found) == pytest.approx(0.96 * 48 * (31 / 32) / (24 / 32), rel=0.02)


def test_an_all_to_all_is_slower_where_gpus_share_a_nic() -> None:
    # Four NICs instead of eight halve the rate, and 0.57 of that is reached.
    own = run("all_to_all", 16 * GIB, network("H100", nodes=4), ranks=32)
    shared = network("H100", nodes=4, scale_out="4x400Gb NDR")
    assert run("all_to_all", 16 * GIB, shared, ranks=32).duration_s == pytest.approx(
        own.duration_s * 2 / 0.57, rel=0.01
    )


def test_an_all_to_all_starts_with_the_partners_beyond_nineteen_one_after_another() -> None:
    # Of 24 in other nodes 5 wait, of 120 101: 10.2 us each. All others at 0.4 us. NCCL's 8.4 us of
    # base and 14 us of a hop, Simple as always between nodes, and the plugin's 6.5 us.
    few = run("all_to_all", 1024, network("H100", nodes=4), ranks=32).duration_s
    many = run("all_to_all", 1024, network("H100", nodes=16), ranks=128).duration_s
    start_us = 8.4 + 14 + 6.5
    assert few * 1e6 == pytest.approx(start_us + 5 * 10.2 + 26 * 0.4, rel=0.01)
    assert many * 1e6 == pytest.approx(start_us + 101 * 10.2 + 26 * 0.4, rel=0.01)


def test_uneven_experts_make_an_all_to_all_as_slow_as_the_busiest() -> None:
    where = network("H100", nodes=4)
    even = run("all_to_all", GIB, where, ranks=32).duration_s
    uneven = run("all_to_all", GIB, where, ranks=32, skew=2.0).duration_s
    assert 1.8 * even < uneven < 2 * even


def test_a_message_between_nodes_takes_the_nic_beside_the_gpu() -> None:
    # One message reaches 0.88 of the 48 GB/s that rings reach.
    found = run("send_recv", 16 * GIB, network("H100", nodes=2), ranks=2, per_node=1)
    assert gbps(found) == pytest.approx(0.88 * 48, rel=0.01)


@pytest.mark.parametrize(
    ("nodes", "per_node", "channels"),
    [(10, 1, 2), (10, 2, 2), (10, 4, 2), (10, 8, 1), (64, 8, 1)],
)
def test_a_message_between_nodes_has_fewer_channels_the_more_ranks_there_are(
    nodes: int, per_node: int, channels: int
) -> None:
    # NDR needs four of 14 GB/s; 4 a GPU and 16 a node serve eight ranks each.
    where = network("H100", nodes=nodes)
    found = run("send_recv", 16 * GIB, where, ranks=nodes * per_node, per_node=per_node)
    assert gbps(found) == pytest.approx(channels * 14, rel=0.01)


def test_an_all_to_all_of_two_ranks_reaches_what_one_message_does() -> None:
    # Half of each rank's bytes crosses, and bus bandwidth counts half.
    found = run("all_to_all", 16 * GIB, network("H100", nodes=2), ranks=2, per_node=1)
    assert gbps(found) == pytest.approx(0.88 * 48, rel=0.01)


def test_a_reduce_is_a_chain_as_a_broadcast_is() -> None:
    where = network("H100", nodes=2)
    for size in (8.0, MIB, GIB):
        reduce, broadcast = (run(kind, size, where, ranks=16) for kind in ("reduce", "broadcast"))
        assert reduce.duration_s == broadcast.duration_s


@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_all_but_its_own_part_goes_through_the_nic_of_the_root(kind: str) -> None:
    # 24 of 32 parts cross at 0.96 of 48 GB/s; bus bandwidth counts 31 of 32.
    found = run(kind, 16 * GIB, network("H100", nodes=4), ranks=32)
    assert gbps(found) == pytest.approx(0.96 * 48 * 31 / 24, rel=0.01)


@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_inside_a_node_the_root_reaches_what_a_rank_of_an_all_to_all_does(kind: str) -> None:
    where = network("H100")
    assert gbps(run(kind, 16 * GIB, where)) == pytest.approx(
        gbps(run("all_to_all", 16 * GIB, where)), rel=0.01
    )


def test_steps_and_bytes_of_a_ring_between_nodes_overlap() -> None:
    # 39 hops, 9 of them between nodes: 14 us, the plugin's 6.5 us and 8 us to ask the receiver; the
    # others take 3.4 us. 39/40 of the bytes leave a node over 4 NICs of 48 GB/s. 8.4 us of base.
    found = run("all_gather", GIB, network("H100", nodes=10), ranks=40, per_node=4)
    assert (found.algorithm, found.protocol) == ("ring", "Simple")
    steps_us = 9 * (14 + 6.5 + 8) + 30 * 3.4
    bytes_us = GIB * 39 / 40 / (4 * 48e3)
    expected_us = 8.4 + math.hypot(steps_us, bytes_us)
    assert found.duration_s * 1e6 == pytest.approx(expected_us, rel=1e-3)


def test_steps_and_bytes_of_rccl_add_up() -> None:
    group = Group(size=32, per_node=8)
    asked = Collective(kind=CollectiveKind.ALL_GATHER, size_bytes=GIB, group=group)
    found = AnalyticEngine(Algorithm.RING).run(asked, network("MI300X", nodes=4))
    names = {part.name for part in found.why.parts}
    assert "between nodes" in names
    assert "steps and bytes at the same time" not in names


def test_of_a_shift_one_rank_of_a_node_crosses() -> None:
    # nccl-tests sends to rank + 1: seven of eight messages stay inside the node.
    where = network("A100", nodes=2, scale_out="4x200Gb HDR")
    alone = run("send_recv", GIB, where, ranks=2, per_node=1).duration_s
    assert run("send_recv", GIB, where, ranks=16).duration_s == pytest.approx(alone, rel=0.05)


@pytest.mark.parametrize(("size_mib", "channels"), [(32, 4), (64, 4), (128, 8), (256, 16)])
def test_a_message_inside_a_node_gets_a_channel_for_each_16_mib(
    size_mib: int, channels: int
) -> None:
    # Of 32 channels eight ranks have four each; one carries 20.6 GB/s. 8.4 us of base, 3.4 us of a
    # hop, and 9 us a doubling.
    found = run("send_recv", size_mib * MIB, network("H100"))
    ramp_us = 9 * math.log2(1 + size_mib)
    expected_us = 8.4 + 3.4 + ramp_us + size_mib * MIB / (channels * 20.6e3)
    assert found.duration_s * 1e6 == pytest.approx(expected_us, rel=1e-6)


def test_a_small_collective_between_nodes_pays_each_hop_of_its_plugin() -> None:
    # Tree with LL: 6.8 + 2 x (7 x 0.6 + 5 + plugin), which has 6.5 us over verbs.
    found = run("all_reduce", 8, network("H100", nodes=2), ranks=16)
    assert (found.algorithm, found.protocol) == ("tree", "LL")
    assert found.duration_s * 1e6 == pytest.approx(6.8 + 2 * (7 * 0.6 + 5 + 6.5), rel=0.01)


def test_an_a100_node_takes_what_launching_on_each_of_its_gpus_takes() -> None:
    # 8 x 4.9 us; the steps themselves are 6.6 + 14 x 0.6 = 15 us.
    assert run("all_reduce", 8, network("A100")).duration_s == pytest.approx(39.2e-6, rel=0.01)


@pytest.mark.parametrize(("gpu", "most_gbps"), [("H100", 141.0), ("B200", 282.0)])
def test_ll_in_a_node_is_held_to_what_nccl_lets_it_carry(gpu: str, most_gbps: float) -> None:
    # Half the rings' rate would be 185 and 361 GB/s. 6.6 us of base, 14 hops of 0.6 us, 7/4 MiB out
    # of each GPU, and 22.2 us a call on Blackwell.
    found = run("all_reduce", MIB, network(gpu))
    assert (found.algorithm, found.protocol) == ("ring", "LL")
    call_us = {"H100": 0.0, "B200": 22.2}[gpu]
    expected_us = call_us + 6.6 + 14 * 0.6 + 7 / 4 * MIB / (most_gbps * 1e3)
    assert found.duration_s * 1e6 == pytest.approx(expected_us, rel=1e-6)


def test_a_broadcast_pays_for_every_hop_of_its_chain() -> None:
    # LL: 6.6 + 7 x 0.6 us, where NCCL's own estimate has one hop.
    found = run("broadcast", 8, network("H100"))
    assert found.duration_s == pytest.approx(10.8e-6, rel=0.01)


def test_an_nvls_tree_fills_as_many_chunks_as_nccl_has_in_flight() -> None:
    # Two nodes, 256 MiB: 16 channels x 8 heads x 128 KiB = 16 MiB in a stage. Two stages inside at
    # 256 MiB x 9/8 / 307 GB/s = 983.7 us each for all bytes, two between at 256 MiB / 384 GB/s =
    # 699.1 us: 1/16 of 2 x (983.7 + 699.1).
    found = run("all_reduce", 256 * MIB, network("H100", nodes=2), ranks=16)
    assert found.algorithm == "nvls-tree"
    fill = next(part for part in found.why.parts if part.name == "filling the pipeline")
    assert fill.value == pytest.approx(2 * (983.7 + 699.1) / 16 * 1e-6, rel=0.01)


def test_forcing_a_ring_forgoes_nvlink_sharp() -> None:
    group = Group(size=8, per_node=8)
    asked = Collective(kind=CollectiveKind.ALL_REDUCE, size_bytes=16 * GIB, group=group)
    ring = AnalyticEngine(Algorithm.RING).run(asked, network("H100"))
    assert ring.algorithm == "ring"
    assert gbps(ring) == pytest.approx(370, rel=0.01)


def test_a_tree_inside_a_node_carries_the_vector_up_and_down() -> None:
    # 235 GB/s of a ring on A100, of which a tree of large messages achieves 0.9, for 2 x size.
    group = Group(size=8, per_node=8)
    asked = Collective(kind=CollectiveKind.ALL_REDUCE, size_bytes=16 * GIB, group=group)
    tree = AnalyticEngine(Algorithm.TREE).run(asked, network("A100"))
    assert (tree.algorithm, tree.protocol) == ("tree", "Simple")
    assert 16 * GIB / tree.duration_s / 1e9 == pytest.approx(235 * 0.9 / 2, rel=1e-3)


def test_switches_that_reduce_speed_up_an_all_reduce_over_nodes() -> None:
    plain = network("A100", nodes=16, scale_out="8x200Gb HDR")
    sharp = run("all_reduce", 64 * MIB, replace(plain, in_network_reduction=True), ranks=128)
    assert sharp.algorithm.startswith("collnet")
    assert sharp.duration_s < run("all_reduce", 64 * MIB, plain, ranks=128).duration_s


@pytest.mark.parametrize("kind", list(CollectiveKind))
@pytest.mark.parametrize("gpu", ["V100", "A100", "H100-PCIe", "H100", "B200", "GB200", "MI300X"])
def test_time_grows_with_size_under_one_algorithm(kind: CollectiveKind, gpu: str) -> None:
    where = network(gpu, nodes=2)
    group = Group(size=16, per_node=8)
    times: dict[tuple[str, str], list[float]] = {}
    for power in range(3, 35):
        asked = Collective(kind=kind, size_bytes=2.0**power, group=group)
        found = AnalyticEngine(Algorithm.RING).run(asked, where)
        times.setdefault((found.algorithm, found.protocol), []).append(found.duration_s)
    for series in times.values():
        assert series == sorted(series)


def test_a_group_of_one_has_nothing_to_do() -> None:
    assert run("all_reduce", GIB, network("H100"), ranks=1, per_node=1).duration_s == 0.0


def test_a_slower_network_is_never_faster() -> None:
    fast = network("H100", nodes=4)
    slow = network("H100", nodes=4, scale_out="8x100Gb EDR")
    for kind in ("all_reduce", "all_gather", "all_to_all", "send_recv"):
        for power in (20, 26, 32):
            quick = run(kind, 2.0**power, fast, ranks=32).duration_s
            assert quick <= run(kind, 2.0**power, slow, ranks=32).duration_s


def test_equal_questions_get_equal_answers() -> None:
    first = run("all_reduce", GIB, network("H100", nodes=4), ranks=32)
    assert first == run("all_reduce", GIB, network("H100", nodes=4), ranks=32)


def test_the_parts_of_the_explanation_add_up_to_the_duration() -> None:
    found = run("all_reduce", GIB, network("H100", nodes=4), ranks=32)
    parts = {part.name: part.value for part in found.why.parts}
    latency, ramp = parts["latency"], parts["filling the pipeline"]
    carry = [parts["inside a node"], parts["between nodes"]]
    numbers = [value for value in (latency, ramp, *carry) if isinstance(value, float)]
    assert len(numbers) == 4
    assert numbers[0] + numbers[1] + max(numbers[2:]) == pytest.approx(found.duration_s)


def test_constants_in_the_explanation_name_their_source() -> None:
    found = run("all_reduce", GIB, network("H100", nodes=4), ranks=32)
    sourced = [leaf for leaf in leaves(found.why) if leaf.source is not None]
    names = {leaf.name for leaf in sourced}
    hop = "what a hop between nodes takes longer than NCCL's table"
    assert {"ConnectX-7 rate", "chunk of all channels", hop} <= names
    assert all(leaf.source is not None and leaf.source.citation for leaf in sourced)


@pytest.mark.parametrize(
    ("kind", "size_bytes", "gpu", "nodes", "words"),
    [
        ("all_reduce", GIB, "H100", 64, "between 64 nodes over InfiniBand was not compared"),
        ("all_to_all", GIB, "B200", 1, "nvswitch4 was not compared with a measurement; nearest is"),
        ("all_gather", GIB, "A100", 1, "was measured on one machine only"),
        ("all_reduce", GIB, "H100-PCIe", 1, "PCIe"),
    ],
)
def test_what_was_not_checked_is_said(
    kind: str, size_bytes: float, gpu: str, nodes: int, words: str
) -> None:
    found = run(kind, size_bytes, network(gpu, nodes=nodes), ranks=8 * nodes)
    assert not found.validity.inside
    assert any(words in doubt for doubt in found.validity.doubts)


def test_what_was_checked_is_inside() -> None:
    assert run("all_reduce", GIB, network("H100")).validity.inside


def test_more_ranks_than_gpus_in_a_node_is_refused() -> None:
    with pytest.raises(InfeasibleError, match=r"16 ranks in a node.*8 GPUs; lower"):
        run("all_reduce", GIB, network("H100"), ranks=16, per_node=16)


def test_a_gpu_is_measured_where_its_own_architecture_was() -> None:
    assert [is_measured(name) for name in ("Hopper", "Ampere", "Rubin")] == [True, True, False]
    assert profile_of("Hopper") is not profile_of("Ampere")


@pytest.mark.parametrize("protocol", list(Protocol))
def test_a_tree_never_achieves_more_than_its_nominal_rate(protocol: Protocol) -> None:
    # 64 B, 128 B, ... 512 MiB: 2^6 to 2^29, 24 sizes.
    row = TREE_CORRECTION[protocol]
    assert len(row) == 29 - 6 + 1
    assert all(0 < share <= 1 for share in row)
