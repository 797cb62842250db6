"""Files of htsim and of HPCC's ns-3, as they are."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.cases import import_case
from netloom.errors import NetloomError, SpecError
from netloom.fabric.wiring.paths import first_ways
from netloom.formats.simulators.htsim import queues_of, read_tree, wire_tree
from netloom.formats.simulators.htsim_cm import read_connections
from netloom.formats.simulators.ns3 import read_config, read_flows, read_topology, write_fct
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from pathlib import Path

# As in the repository of HPCC: two racks of two hosts.
TOPOLOGY = """6 2 5
4 5
0 4 100Gbps 0.001ms 0
1 4 100Gbps 0.001ms 0
2 5 100Gbps 0.001ms 0
3 5 100Gbps 0.001ms 0
4 5 400Gbps 0.001ms 0
"""
FLOWS = """2
0 3 3 100 4000000 2.000000
1 3 3 100 4000000 2.000010
"""
TREE = """# keys are case-insensitive
Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps 400
Radix_Down 8
Radix_Up 8
Downlink_Latency_ns 500
Switch_Latency_ns 300
Oversubscribed 1

Tier 1
Downlink_speed_Gbps 400
Radix_Down 4
Downlink_Latency_ns 500
Switch_Latency_ns 300
"""
THREE_TIERS = """Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
"""
MATRIX = """Nodes 32
Connections 4
Triggers 1
Failures 1
1->0 id 1 start 0 size 2000000 recv_done_trigger 1
2->0 id 2 start 0 size 2000000 recv_done_trigger 1
3->0 id 3 start 1000000 size 2000000 recv_done_trigger 1
0->9 id 4 trigger 1 size 6000000 prio 1
trigger id 1 barrier count 3
failure switch_type TOR switch_id 0 link_id 2
"""


def test_queue_sizes_of_a_tree_are_those_of_its_switches_ports() -> None:
    text = THREE_TIERS.replace("Tier 1\n", "Queue_Up 50000\nTier 1\nQueue_Down 30000\n")
    tree = read_tree(text, name="t")
    wiring = wire_tree(tree)
    kind = [name.split(":")[0] for name in wiring.name]
    found = {
        (kind[source], kind[target]): queue
        for source, target, queue in zip(
            wiring.link_source, wiring.link_target, queues_of(tree, wiring), strict=True
        )
    }
    assert found == {
        ("host", "tor"): 0,
        ("tor", "host"): 0,
        ("tor", "agg"): 50_000,
        ("agg", "tor"): 30_000,
        ("agg", "core"): 0,
        ("core", "agg"): 0,
    }


def test_an_ns3_topology_becomes_hosts_and_switches() -> None:
    found = read_topology(TOPOLOGY, name="topology.txt")
    wiring = found.wiring
    assert wiring.name == ("host:0", "host:1", "host:2", "host:3", "switch:4", "switch:5")
    assert wiring.link_delay_ps.tolist() == [1_000_000] * 10
    ways = first_ways(wiring, np.array([0, 0]), np.array([1, 3]))
    assert ways.num_hops.tolist() == [2, 3]
    assert ways.slowest_bps.tolist() == [100e9, 100e9]
    # 80 ps a byte on the two host links and 20 between the switches.
    assert ways.ps_per_byte.tolist() == [160, 180]


def test_switches_may_have_any_ids() -> None:
    found = read_topology("3 1 2\n0\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n", name="t")
    assert found.node.tolist() == [1, 2, 0]
    assert first_ways(found.wiring, np.array([0]), np.array([1])).num_hops.tolist() == [2]


def test_ns3_flows_keep_ports_priorities_and_exact_starts() -> None:
    flows = read_flows(FLOWS, read_topology(TOPOLOGY, name="t"), name="flow.txt")
    assert flows.start_ps.tolist() == [2_000_000_000_000, 2_000_010_000_000]
    assert flows.priority.tolist() == [3, 3]
    assert flows.source_port.tolist() == [10_000, 10_000]
    again = read_flows(
        "2\n0 3 3 100 5 2\n0 2 3 100 5 2\n", read_topology(TOPOLOGY, name="t"), name="f"
    )
    assert again.source_port.tolist() == [10_000, 10_001]


def test_completion_times_are_written_in_the_columns_of_hpcc() -> None:
    topology = read_topology(TOPOLOGY, name="t")
    flows = read_flows(FLOWS, topology, name="f")
    finish_ps = np.array([flows.start_ps[0] + 345_678_000, -1])
    text = write_fct(
        flows,
        topology.node,
        start_ps=flows.start_ps,
        finish_ps=finish_ps,
        ideal_ps=np.array([322_580_000, 0]),
    )
    assert text == "0b000001 0b000301 10000 100 4000000 2000000000 345678 322580\n"


def test_a_configuration_gives_schemes_thresholds_and_buffers() -> None:
    text = """CC_MODE 3
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.2
BUFFER_SIZE 32
U_TARGET 0.99
MI_THRESH 0
SIMULATOR_STOP_TIME 4.00
TOPOLOGY_FILE mix/fat.txt
"""
    config = read_config(text, name="config.txt")
    assert config.congestion_control == "hpcc"
    assert config.ecn == {
        25_000_000_000: (100_000, 400_000, 0.2),
        100_000_000_000: (400_000, 1_600_000, 0.2),
    }
    assert config.buffer_bytes == 32 << 20
    assert (config.target_utilisation, config.max_stage) == (0.99, 0)
    assert (config.topology_file, config.stop_s) == ("mix/fat.txt", 4.0)


def test_an_htsim_tree_of_two_tiers_is_built_as_htsim_builds_it() -> None:
    wiring = wire_tree(read_tree(TREE, name="l.topo"))
    # 32 hosts, 4 leaves, 8 spines; 32 cables below and 32 above the leaves.
    assert (wiring.num_endpoints, wiring.num_vertices, wiring.num_links) == (32, 44, 128)
    ways = first_ways(wiring, np.array([0, 0]), np.array([1, 31]))
    assert ways.num_hops.tolist() == [2, 4]
    # Two cables and a switch; four cables and three switches.
    assert ways.delay_ps.tolist() == [2 * 500_000 + 300_000, 4 * 500_000 + 3 * 300_000]


def test_an_htsim_tree_of_three_tiers_joins_pods_through_the_core() -> None:
    wiring = wire_tree(read_tree(THREE_TIERS, name="t.topo"))
    # k = 4: 16 hosts, 8 + 8 + 4 switches.
    assert wiring.num_vertices == 16 + 20
    assert first_ways(wiring, np.array([0, 0, 0]), np.array([1, 3, 15])).num_hops.tolist() == [
        2,
        4,
        6,
    ]


def test_triggers_become_waits_and_failures_take_cables_down() -> None:
    matrix = read_connections(MATRIX, name="c.cm")
    assert matrix.transfers.wait_offsets.tolist() == [0, 0, 0, 0, 3]
    assert matrix.transfers.waits.tolist() == [0, 1, 2]
    assert matrix.transfers.start_ps.tolist() == [0, 0, 1_000_000, 0]
    assert matrix.transfers.priority.tolist() == [3, 3, 3, 3]
    assert matrix.num_prio == 1
    wiring = wire_tree(read_tree(TREE, name="l.topo"), matrix.failures)
    tor = wiring.name.index("tor:0")
    number = wiring.choices[tor, wiring.goal[31]]
    assert wiring.offsets[number + 1] - wiring.offsets[number] == 7  # of 8 ways up


def test_the_kth_flow_of_a_multishot_trigger_waits_for_the_kth_that_fires_it() -> None:
    text = """Nodes 4
Connections 4
Triggers 1
0->1 id 1 start 0 size 10 recv_done_trigger 1
0->2 id 2 start 0 size 10 send_done_trigger 1
0->3 id 3 trigger 1 size 10
0->1 id 4 trigger 1 size 10
trigger id 1 multishot
"""
    assert read_connections(text, name="c").transfers.waits.tolist() == [0, 1]


def test_a_prio_makes_no_class_and_is_told(tmp_path: Path) -> None:
    # Nothing between hosts of htsim knows it, and its own generators count up to the group's size.
    tree, matrix = tmp_path / "l.topo", tmp_path / "c.cm"
    tree.write_text(TREE)
    matrix.write_text(MATRIX.replace("prio 1", "prio 15"))
    found = import_case(tree, matrix)
    assert set(found.transfers.priority.tolist()) == {3}
    told = f"{matrix}: prio of a flow not used: htsim's switches have no priorities"
    assert found.notes == (told,)


def test_a_flow_that_waits_for_a_sender_waits_for_the_acknowledgement(tmp_path: Path) -> None:
    # Two tiers: four cables of 500 ns and three switches of 300 ns are 2.9 us back to the sender,
    # less what receiving takes meanwhile; a receiver's trigger needs no such way.
    tree, matrix = tmp_path / "l.topo", tmp_path / "c.cm"
    tree.write_text(TREE)
    matrix.write_text("""Nodes 32
Connections 4
Triggers 2
0->9 id 1 start 0 size 10 send_done_trigger 1
0->1 id 2 start 0 size 10 recv_done_trigger 2
0->17 id 3 trigger 1 size 10
0->17 id 4 trigger 2 size 10
trigger id 1 oneshot
trigger id 2 oneshot
""")
    found = import_case(tree, matrix)
    assert found.told_ps is not None
    assert found.told_ps.tolist() == [0, 0, 2_900_000, 0]
    technology = load_catalog().technology("infiniband-ndr")
    budget = technology.latency
    receive_s = budget.nic_receive_s + budget.interrupt_s + budget.receive_stack_s + budget.wake_s
    delay_ps = found.transfers_on(technology).delay_ps
    assert delay_ps.tolist() == [0, 0, 2_900_000 - round(receive_s * 1e12), 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("0->9 id 4 trigger 1", "0->9 id 4 trigger 2"), ":8: trigger 2 is not defined"),
        (("barrier count 3", "barrier count 4"), ":9: barrier is fired by 3 flows, not 4"),
        (
            ("1->0 id 1 start 0", "1->0 id 1 strat 0"),
            ":5: 'strat' is not known; did you mean 'start'",
        ),
        (("1->0 id 1 start 0", "1->1 id 1 start 0"), ":5: host 1 sends to itself"),
        (
            ("size 2000000 recv_done_trigger 1\n2", "recv_done_trigger 1\n2"),
            ":5: a flow without end",
        ),
        (("Connections 4", "Connections 5"), "4 connections, but the header says 5"),
        (("prio 1", "prio high"), ":8: 'high' is no prio"),
        (("Nodes 32", "Nodes 9"), ":8: host 9; hosts are 0 to 8"),
        (("Nodes 32\n", ""), "the line 'Nodes N' is missing"),
        (("TOR switch_id", "TOP switch_id"), ":10: a failure has the form"),
    ],
)
def test_a_wrong_matrix_is_refused_with_line_and_remedy(
    change: tuple[str, str], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        read_connections(MATRIX.replace(*change), name="c.cm")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Radix_Up 8", "Radix_Up 4"), "which is not Oversubscribed 1"),
        (("Radix_Down 4", "Radix_Down 5"), "tier 1 has radix_down 5, but 4 switches below"),
        (("Tiers 2", "Tiers 4"), "4 tiers with blocks"),
        (("Nodes 32", "Nodse 32"), ":2: 'Nodse' is not known; did you mean 'nodes'"),
        (("Downlink_Latency_ns 500", "Downlink_Latency_ns x"), ":10: 'x' is no downlink_latency"),
    ],
)
def test_a_wrong_tree_is_refused_with_line_and_remedy(
    change: tuple[str, str], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        read_tree(TREE.replace(*change, 1), name="l.topo")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("6 2 5", "6 2 6"), "5 links, but line 1 says 6"),
        (("4 5\n", "4 4\n"), ":2: not 2 different switch ids"),
        (("100Gbps", "100"), ":3: '100' has no unit"),
        (("0 4 100Gbps", "4 4 100Gbps"), ":3: node 4 is joined to itself"),
        (("0.001ms 0\n", "0.001ms\n"), ":3: .* has not the form"),
        (("0.001ms 0\n", "0.001ms 1\n"), ":3: cables that lose every packet are none"),
    ],
)
def test_a_wrong_topology_is_refused_with_line_and_remedy(
    change: tuple[str, str], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        read_topology(TOPOLOGY.replace(*change, 1), name="t.txt")


def test_flows_of_hosts_that_are_not_there_are_refused() -> None:
    topology = read_topology(TOPOLOGY, name="t")
    with pytest.raises(SpecError, match="f:2: node 4 is no host of the topology"):
        read_flows("1\n0 4 3 100 5 2\n", topology, name="f")


def test_files_without_flows_are_refused() -> None:
    with pytest.raises(SpecError, match=r"c.cm: no connections; add a line"):
        read_connections("Nodes 4\nConnections 0\n", name="c.cm")
    with pytest.raises(SpecError, match="f: no flows; add a line"):
        read_flows("0\n", read_topology(TOPOLOGY, name="t"), name="f")


def test_what_follows_the_announced_flows_and_links_is_not_read_and_told(tmp_path: Path) -> None:
    # HPCC's own mix/flow.txt announces 2 flows, holds 256 and ends with a legend; so does its
    # mix/topology.txt, with 65 links and nodes beyond those of line 1.
    topology, flows = tmp_path / "topology.txt", tmp_path / "flow.txt"
    legend = "First line: # of flows\nsrc0 dst0 3 dst_port0 size0 start_time0\n...\n"
    topology.write_text(f"{TOPOLOGY}0 77 25Gbps 0.001ms 0\n")
    flows.write_text(f"{FLOWS}2 3 3 100 5000000 2\n\n{legend}")
    found = import_case(topology, flows)
    assert found.transfers.size_bytes.tolist() == [4_000_000, 4_000_000]
    assert found.wiring.num_links == 10
    assert found.notes == (
        f"{topology}: a line behind what line 1 announces not read, as in HPCC's simulator",
        f"{flows}: 4 lines behind what line 1 announces not read, as in HPCC's simulator",
    )
    topology.write_text(TOPOLOGY)
    flows.write_text(FLOWS)
    assert import_case(topology, flows).notes == ()


def test_files_of_two_simulators_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"bring \.topo with \.cm"):
        import_case(tmp_path / "a.topo", tmp_path / "flow.txt")


def test_a_configuration_cuts_the_link_that_it_names(tmp_path: Path) -> None:
    # Hosts 0 and 1, switches 2 and 3, joined twice: third.cc knows the last of parallel links.
    topology, flows, config = (tmp_path / name for name in ("t.txt", "f.txt", "c.txt"))
    cable = "100Gbps 1us 0"
    topology.write_text(f"4 2 4\n2 3\n0 2 {cable}\n1 3 {cable}\n2 3 {cable}\n3 2 {cable}\n")
    flows.write_text("1\n0 1 3 100 5000 2\n")
    config.write_text("LINK_DOWN 25 3 2\n")
    faults = import_case(topology, flows, config).faults
    assert [(fault.kind, fault.link) for fault in faults] == [("down", 6), ("down", 7)]
    assert {fault.when_ps for fault in faults} == {2_000_025_000_000}
    config.write_text("LINK_DOWN 0 3 2\n")
    assert import_case(topology, flows, config).faults == ()
    config.write_text("LINK_DOWN 25 0 1\n")
    with pytest.raises(SpecError, match="LINK_DOWN: no link joins 0 and 1"):
        import_case(topology, flows, config)


WORDS = st.sampled_from(
    [
        "Nodes",
        "Tiers",
        "Tier",
        "trigger",
        "id",
        "start",
        "size",
        "0->1",
        "4",
        "-1",
        "1e9",
        "barrier",
    ]
)
LINES = st.lists(st.lists(WORDS | st.text(max_size=5), max_size=6).map(" ".join), max_size=8)


@given(LINES.map("\n".join), st.sampled_from([TREE, MATRIX, TOPOLOGY, FLOWS]), st.integers(0, 300))
def test_any_text_is_read_or_clearly_refused(text: str, whole: str, cut: int) -> None:
    topology = read_topology(TOPOLOGY, name="t")
    for broken in (text, whole[:cut] + text + whole[cut:], whole[cut:]):
        for read in (
            lambda it: wire_tree(read_tree(it, name="x")),
            lambda it: read_connections(it, name="x"),
            lambda it: read_topology(it, name="x"),
            lambda it: read_flows(it, topology, name="x"),
            lambda it: read_config(it, name="x"),
        ):
            with contextlib.suppress(NetloomError):
                read(broken)
