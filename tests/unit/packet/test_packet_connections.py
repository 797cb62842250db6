"""Messages of one connection are sent in the order in which they were posted, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from wires import leaf_spine, star, transfers

import netloom as nl
from netloom.engines.flow import FlowSettings, run_flows
from netloom.engines.packet import PacketSettings, Transport, run_packets
from netloom.fabric.routing.source_ports import mixed_ports
from netloom.workload.connections import shared_connections
from netloom.workload.dag import Label, to_transfers
from netloom.workload.exchange import broadcast
from netloom.workload.exchange_tree import double_tree

if TYPE_CHECKING:
    from netloom.workload.transfers import Transfers

US = 1_000_000
# 100 packets of 1000 bytes at 100 Gb/s take 8 us; two links of 1 us, and a packet stored between.
BARE = Transport(payload_bytes=1000, header_bytes=0, gap_bytes=0, least_bytes=0, ack_bytes=0)
PLAIN = PacketSettings(transport=BARE)
FIRST = 8 * US + 80_000 + 2 * US


def posted(pairs: list[tuple[int, int]], *, together: bool = True) -> Transfers:
    made = transfers(pairs, 100_000)
    same = np.full(len(pairs), 50_000, dtype=np.uint16)
    return replace(made, source_port=same) if together else made


def arrivals(asked: Transfers, settings: PacketSettings = PLAIN) -> list[int]:
    run = run_packets(star(4), asked, settings)
    return [int(ps) for ps in run.tables["arrivals"]["arrive_ps"]]


@pytest.mark.parametrize("recovery", ["go-back-n", "selective", "pulled"])
def test_the_second_message_follows_the_first(recovery: str) -> None:
    settings = replace(PLAIN, transport=replace(BARE, recovery=recovery))  # type: ignore[arg-type]
    assert arrivals(posted([(0, 1), (0, 1)]), settings) == [FIRST, FIRST + 8 * US]


def test_connections_of_their_own_take_turns() -> None:
    # The second message's packets stand between those of the first: it ends a packet before both.
    assert arrivals(posted([(0, 1), (0, 1)], together=False)) == [
        FIRST + 8 * US - 80_000,
        FIRST + 8 * US,
    ]


def test_connections_that_hash_alike_take_turns_all_the_same() -> None:
    # Of 1,000 ports some two are drawn again, for seed 1, as the same: connections of their own.
    ports = np.arange(49_152, 50_152, dtype=np.uint16)
    drawn = mixed_ports(ports, np.zeros(len(ports), dtype=np.int64), seed=1)
    alike = ports[drawn == np.sort(drawn)[np.flatnonzero(np.diff(np.sort(drawn)) == 0)[0]]]
    asked = replace(transfers([(0, 1), (0, 1)], 100_000), source_port=alike[:2])
    run = run_packets(star(4), asked, PLAIN, seed=1)
    assert run.tables["arrivals"]["arrive_ps"].tolist() == [
        FIRST + 8 * US - 80_000,
        FIRST + 8 * US,
    ]


def test_messages_to_others_do_not_wait() -> None:
    # Three connections of one sender: the first has two messages, which take its turns.
    ends = arrivals(posted([(0, 1), (0, 1), (0, 2)]))
    assert ends[0] == FIRST + 8 * US - 80_000
    assert ends[2] == FIRST + 8 * US
    assert ends[1] == FIRST + 16 * US


def test_every_part_of_a_message_has_its_own_line() -> None:
    settings = replace(PLAIN, connections=4)
    ends = arrivals(posted([(0, 1), (0, 1)]), settings)
    assert ends == [FIRST, FIRST + 8 * US]


def test_flows_of_one_connection_go_in_order_too() -> None:
    flows = FlowSettings(latency_ps=(0,))
    wires = star(4)
    one = run_flows(wires, posted([(0, 1), (0, 1)]), flows).finish_ps
    assert one == pytest.approx(np.array([10, 18]) * US, abs=1)
    apart = run_flows(wires, posted([(0, 1), (0, 1)], together=False), flows).finish_ps
    assert apart == pytest.approx(np.array([18, 18]) * US, abs=1)
    # Half of the link until the first message of the pair is sent, and again for the second.
    three = run_flows(wires, posted([(0, 1), (0, 1), (0, 2)]), flows).finish_ps
    assert three == pytest.approx(np.array([18, 26, 18]) * US, abs=1)


def test_only_shared_connections_are_numbered() -> None:
    assert len(shared_connections(posted([(0, 1), (0, 2)]), np.array([1, 1]))) == 0
    three = posted([(0, 1), (0, 2), (0, 1)])
    assert shared_connections(three, np.array([1, 1, 1])).tolist() == [0, 1, 0]
    assert shared_connections(three, np.array([2, 1, 2])).tolist() == [0, 1, 2, 0, 1]
    apart = posted([(0, 1), (0, 1)])
    other = replace(apart, priority=np.array([0, 1], dtype=np.uint8))
    assert len(shared_connections(other, np.ones(len(other), dtype=np.int64))) == 0


def test_the_slices_of_a_hop_are_messages_of_one_connection() -> None:
    # Two trees of eight nodes have seven edges each, up and down, whatever ports are drawn.
    dag = double_tree([np.array([node]) for node in range(8)], 16_000_000, slices=8)
    asked = to_transfers([dag], [Label(priority=0, job=0)], rng=np.random.default_rng(0))
    used = shared_connections(asked, np.ones(len(asked), dtype=np.int64))
    assert np.bincount(np.unique(used, return_inverse=True)[1]).tolist() == [8] * (2 * 2 * 7)


def test_a_chain_is_a_pipeline() -> None:
    # Eight slices over seven hops: 8 + 6 slices of 2 MB, however many are on their way.
    slice_ps = 2_000_000 * 80
    dag = broadcast(np.arange(8), 16_000_000)
    asked = to_transfers([dag], [Label(priority=0, job=0)], rng=np.random.default_rng(0))
    wires = leaf_spine(1, 8, 1)
    packets = run_packets(wires, asked, PLAIN).finish_ps.max()
    flows = run_flows(wires, asked, FlowSettings(latency_ps=(0,))).finish_ps.max()
    assert packets == pytest.approx(14 * slice_ps, rel=0.02)
    assert flows == pytest.approx(14 * slice_ps, rel=0.02)


@pytest.mark.parametrize("technology", ["infiniband-ndr", "rocev2-400g", "uet-400g"])
@pytest.mark.parametrize("operation", ["broadcast", "tree", "ring"])
def test_collectives_of_one_rail_end_alike_in_both_engines(technology: str, operation: str) -> None:
    asked: dict[str, object] = {"kind": "collective", "group": 8, "stride": 8, "size": "1MB"}
    if operation == "broadcast":
        asked["operation"] = "broadcast"
    else:
        asked |= {"operation": "all-reduce", "algorithm": operation}
    fabric = {"technology": technology, "topology": {"kind": "rail-fat-tree"}}
    scenario = nl.load({"cluster": {"gpus": 64, "fabric": fabric}, "traffic": [asked]})
    packets, flows = (
        nl.simulate(scenario, engine=engine).first.span_s for engine in ("packet", "flow")
    )
    # What comes from two children meets at their parent, and is no fluid there.
    assert packets == pytest.approx(flows, rel=0.05 if operation == "tree" else 0.02)
