"""The library's way to the wire, its chunks, and where it switches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netloom.engines.analytic.peers import peers, with_peers
from netloom.engines.analytic.pipeline import chunk_bytes, num_stages, tree_depth
from netloom.engines.analytic.profile import profile_of, with_profile
from netloom.engines.analytic.tables import Algorithm, Protocol
from netloom.engines.analytic.tuner import AlgorithmChoice, Communicator, choose, switches
from netloom.engines.analytic.ways import way_of, with_ways
from netloom.parts.load import load_catalog
from netloom.workload.collective import CollectiveKind

CATALOG = load_catalog()
KIB, MIB = 2.0**10, 2.0**20


def choice(algorithm: Algorithm, protocol: Protocol) -> AlgorithmChoice:
    return AlgorithmChoice(
        algorithm=algorithm, protocol=protocol, time_us=0, latency_us=0, bandwidth_gbps=1
    )


def two_nodes(num_nodes: int = 2) -> Communicator:
    return Communicator(
        generation="hopper",
        num_ranks=8 * num_nodes,
        num_nodes=num_nodes,
        num_channels=16,
        intra_gbps=370,
        inter_gbps=384,
        has_nvls=True,
        has_switch=True,
    )


@pytest.mark.parametrize(
    ("technology", "nic", "name"),
    [
        ("infiniband-ndr", "ConnectX-7", "verbs"),
        ("rocev2-400g", "ConnectX-7", "verbs"),
        ("uet-400g", "Pollara-400", "verbs"),
        ("tcp-400g", "ConnectX-7", "sockets"),
        ("slingshot-11", "Cassini", "libfabric over Slingshot"),
        ("efa-v1", "EFA-v1", "aws-ofi-nccl over EFA v1"),
        ("efa-v2", "EFA-v2", "aws-ofi-nccl over EFA v2"),
        ("efa-v4", "EFA-v4", "aws-ofi-nccl over EFA v3 and later"),
        ("tcpx-200g", "GCP-TCPX", "GPUDirect-TCPX"),
        ("tcpxo-200g", "GCP-TCPXO", "GPUDirect-TCPXO"),
        # EFA's NICs name the plugin, whatever the scenario calls the network.
        ("rocev2-100g", "EFA-v2", "aws-ofi-nccl over EFA v2"),
    ],
)
def test_the_nic_or_the_transport_says_which_plugin_runs(
    technology: str, nic: str, name: str
) -> None:
    assert way_of(CATALOG.technologies[technology], nic).name == name


def test_constants_are_as_before_once_a_fit_is_over() -> None:
    verbs = way_of(CATALOG.technologies["infiniband-ndr"], "ConnectX-7")
    ampere, used = profile_of("ampere"), peers()
    other = replace(verbs, hop_s=replace(verbs.hop_s, value=1.0))
    with (
        with_ways((other,)),
        with_profile("ampere", replace(ampere, launch_s=None)),
        with_peers(replace(used, alone=used.many)),
    ):
        assert way_of(CATALOG.technologies["infiniband-ndr"], "ConnectX-7").hop_s.value == 1.0
        assert profile_of("ampere").launch_s is None
        assert peers().alone == used.many
    assert way_of(CATALOG.technologies["infiniband-ndr"], "ConnectX-7") == verbs
    assert profile_of("ampere") == ampere
    assert peers() == used


def test_a_tree_is_as_deep_as_the_chain_of_a_node_and_the_tree_of_nodes() -> None:
    assert tree_depth(two_nodes(4)) == 7 + 2
    assert num_stages(choice(Algorithm.TREE, Protocol.SIMPLE), two_nodes(4)) == (14, 4)
    assert num_stages(choice(Algorithm.NVLS_TREE, Protocol.SIMPLE), two_nodes(4)) == (2, 4)


@pytest.mark.parametrize(
    ("size_mib", "chunk_kib"),
    # Depth 8, 16 channels: 512 KiB once a channel has 64 of them, 512 MiB in all; 128 KiB from
    # 32 of these (64 MiB) on, 64 KiB from 8 of these (8 MiB) on, then 32 KiB.
    [(512, 512), (256, 256), (128, 128), (64, 128), (32, 64), (8, 64), (4, 32), (2, 32)],
)
def test_a_tree_halves_its_chunks_until_the_levels_are_busy(size_mib: int, chunk_kib: int) -> None:
    tree = choice(Algorithm.TREE, Protocol.SIMPLE)
    assert chunk_bytes(tree, size_mib * MIB, two_nodes(), 8) == 16 * chunk_kib * KIB


@pytest.mark.parametrize(
    ("nodes", "size_mib", "chunk_kib"), [(2, 1024, 128), (2, 32, 64), (4, 1024, 64), (4, 4, 32)]
)
def test_an_nvls_tree_has_smaller_chunks_on_many_nodes(
    nodes: int, size_mib: int, chunk_kib: int
) -> None:
    # 16 channels x 8 heads; at most the whole message.
    tree = choice(Algorithm.NVLS_TREE, Protocol.SIMPLE)
    found = chunk_bytes(tree, size_mib * MIB, two_nodes(nodes), 8)
    assert found == min(size_mib * MIB, 128 * chunk_kib * KIB)


def test_a_switch_is_where_the_choice_changes() -> None:
    comm, kind = two_nodes(), CollectiveKind.ALL_REDUCE
    found = switches(kind, comm)
    assert [size for size, _ in found] == sorted(size for size, _ in found)
    assert found
    for size, after in found:
        assert choose(kind, size, comm) == after
        before = choose(kind, size * (1 - 2e-6), comm)
        assert (before.algorithm, before.protocol) != (after.algorithm, after.protocol)


def test_what_a_plugin_tells_nccl_moves_its_choice() -> None:
    # The NIC's latency counts once with LL128 and twice with Simple, whose rate is 1/0.92 as high:
    # 300 us a hop put the switch off.
    def simple_from(comm: Communicator) -> float:
        found = switches(CollectiveKind.ALL_GATHER, comm)
        return next(size for size, after in found if after.protocol is Protocol.SIMPLE)

    comm = two_nodes()
    assert simple_from(replace(comm, nic_us=300.0)) > 2 * simple_from(comm)
