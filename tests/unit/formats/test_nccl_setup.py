"""What NCCL's log tells of its setup, where no posted log has it."""

from __future__ import annotations

import io

import pytest

from netloom.formats.nccl.setup import parse_setup
from netloom.formats.nccl.setup_facts import way_of_network

HEAD = "node0:11:12 [0] NCCL INFO "


def logged(*messages: str) -> str:
    return "".join(f"{HEAD}{message}\n" for message in messages)


@pytest.mark.parametrize(
    ("network", "way"),
    [
        ("IB", "ib"),
        ("IBext_v8", "ib"),
        ("NCCL RDMA Plugin v10", "ib"),
        ("Socket", "sockets"),
        ("FastSocket", "sockets"),
        ("AWS Libfabric", "ofi"),
        ("Libfabric", "ofi"),
        ("OFI", "ofi"),
        ("GPUDirectTCPX_v7", "tcpx"),
        ("FasTrak", "tcpxo"),
        ("a vendor's own", ""),
        ("", ""),
    ],
)
def test_a_network_has_a_word_of_the_scenario(network: str, way: str) -> None:
    assert way_of_network(network) == way


def test_gpudirect_is_said_by_adapter() -> None:
    setup = parse_setup(
        logged(
            "NET/Socket : Using [0]ib0:192.168.11.1<0>",
            "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_5:1/IB [RO]; OOB eth0:10.0.4.19<0>",
            "Using network IB",
            "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
            "NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 0 'mlx5_0'",
            "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_5' (no module)",
            "+ NET[50.0] - NET/0 (a2761f0003bd70c4/1/50.000000)",
        )
    )
    (host,) = setup.hosts
    assert [(one.name, one.link, one.gpudirect) for one in host.adapters] == [
        ("mlx5_0", "IB", True),
        ("mlx5_5", "IB", False),
    ]
    assert [one.rate_bps for one in host.adapters] == [400e9, None]


def test_connections_go_before_what_adapters_can_do() -> None:
    able = "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"
    bounced = "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0"
    direct = f"{bounced}/GDRDMA/Shared"
    assert parse_setup(logged(able)).gpudirect is True
    assert parse_setup(logged(able, bounced)).gpudirect is False
    assert parse_setup(logged(able, bounced, direct, direct)).gpudirect is True


def test_a_missing_rail_shows_in_the_adapters_used() -> None:
    connection = "Channel 0{0}/0 : {0}[{0}] -> 1{0}[{0}] [send] via NET/IB/{0}/GDRDMA"
    setup = parse_setup(logged(*(connection.format(rail) for rail in (0, 1, 3))))
    assert setup.hosts[0].adapters_used == (0, 1, 3)


def test_nvls_collnet_pxn_and_nvlink_over_nodes_are_told() -> None:
    setup = parse_setup(
        logged(
            "NVLS multicast support is available on dev 0",
            "comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 1",
            "comm 0x6 rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 1",
            "Connected all rings, use ring PXN 1 GDR 0",
            "Connected NVLS tree",
            "Connected collnet",
            "16 coll channels, 4 collnet channels, 16 nvls channels, 32 p2p channels, "
            "2 p2p channels per peer",
        )
    )
    assert (setup.nvls_available, setup.nvls_connected, setup.collnet) == (True, True, True)
    assert (setup.pxn, setup.ring_gpudirect, setup.mnnvl) == (True, False, True)
    assert (setup.num_ranks, setup.num_nodes, setup.local_ranks) == (16, 2, 8)
    assert setup.channels is not None
    assert (setup.channels.collnet, setup.channels.nvls) == (4, 16)
    missing = parse_setup(logged("NVLS multicast support is not available on dev 0"))
    assert missing.nvls_available is False


def test_a_plugin_says_its_version_and_provider() -> None:
    setup = parse_setup(
        logged(
            "NET/OFI Initializing aws-ofi-nccl 1.16.3",
            "NET/OFI Selected provider is efa, fabric is efa-direct (found 8 nics)",
            "NET/Plugin: Loaded net plugin Libfabric (v10)",
            "Using network Libfabric",
        )
    )
    assert (setup.plugin, setup.plugin_version) == ("Libfabric", "aws-ofi-nccl 1.16.3")
    assert (setup.provider, setup.num_provider_nics, setup.way) == ("efa", 8, "ofi")


def test_the_older_table_of_the_tuner_has_both_names_in_a_cell() -> None:
    setup = parse_setup(
        logged(
            "Latency/AlgBw |    Tree/    LL |    Tree/Simple |    Ring/ LL128 |",
            "    AllReduce |    14.0/   1.5 |    40.0/  10.0 |    20.0/   0.0 |",
        )
    )
    assert [(e.algorithm, e.protocol) for e in setup.estimates] == [
        ("Tree", "LL"),
        ("Tree", "Simple"),
    ]
    assert [e.latency_s for e in setup.estimates] == pytest.approx([14e-6, 40e-6])


@pytest.mark.parametrize("tag", ["[1,3]<stdout>:", "3: ", "[3] ", "\x1b[32m"])
def test_a_host_is_found_behind_the_tag_of_a_launcher(tag: str) -> None:
    lines = logged("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.4.19<0>")
    setup = parse_setup("".join(f"{tag}{line}\n" for line in lines.splitlines()))
    assert [(host.name, host.adapters[0].link) for host in setup.hosts] == [("node0", "RoCE")]


def test_versions_stand_alone_too_and_warnings_are_kept() -> None:
    setup = parse_setup(
        io.StringIO(
            "RCCL version : 2.22.3-HEAD:2a8e5e0\nnode0:1:2 [0] net.cc:7 NCCL WARN Call failed\n"
        )
    )
    assert (setup.library, setup.version) == ("rccl", "2.22.3-HEAD")
    assert (setup.warnings, setup.num_warnings) == (("Call failed",), 1)


def test_a_line_that_is_cut_is_named() -> None:
    whole = "AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}"
    setup = parse_setup(logged(whole) + HEAD + whole[: whole.index("TREE")])
    assert len(setup.choices) == 1
    assert [(one.line, one.why) for one in setup.bad.first] == [
        (2, "a choice of the tuner that is cut")
    ]


def test_a_log_of_others_tells_nothing() -> None:
    setup = parse_setup("step 1 loss 2.5\n")
    assert (setup.num_lines, setup.library, setup.hosts, setup.way) == (0, "", (), "")
