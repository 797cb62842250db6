"""The collectives of traces summed up: what they are, how often, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import MAX_GPUS
from netloom.study.trace.table import RankTally, network_for, num_ranks_of, summarize, tally
from netloom.workload.trace import NodeKind, TraceNode

if TYPE_CHECKING:
    from netloom.study.trace.table import TraceTable
    from netloom.workload.trace import AttributeValue

ALL_REDUCE, ALL_GATHER, BARRIER = 0, 2, 9


def collective(code: int, size: int, group: str | None = None) -> TraceNode:
    attributes: dict[str, AttributeValue] = {"comm_type": code, "comm_size": size}
    if group is not None:
        attributes["pg_name"] = group
    return TraceNode(node_id=0, name="", kind=NodeKind.COLLECTIVE, attributes=attributes)


def send(to: int, size: int) -> TraceNode:
    return TraceNode(
        node_id=0, name="", kind=NodeKind.SEND, attributes={"comm_dst": to, "comm_size": size}
    )


def table_of(
    traces: dict[int, list[TraceNode]], groups: dict[str, tuple[int, ...]] | None = None
) -> TraceTable:
    listed = groups or {}
    tallies = {rank: tally(nodes, rank=rank, where="x") for rank, nodes in traces.items()}
    num_ranks = num_ranks_of(tallies, listed, where="x")
    network = network_for(num_ranks, load_catalog(), technology="infiniband-ndr", node="dgx-h100")
    return summarize(tallies, listed, network=network, engine=AnalyticEngine(), where="x")


def test_equal_collectives_are_one_row_with_their_count() -> None:
    one = collective(ALL_REDUCE, 1 << 20, "1")
    found = table_of({0: [one, one, one], 1: [one, one, one]}, {"1": (0, 1)})
    (row,) = found.rows
    assert (row.count, row.num_ranks, row.num_calls) == (3, 2, 6)
    assert row.collective.size_bytes == 1 << 20
    assert row.total_s == 3 * row.outcome.duration_s > 0


def test_an_all_gather_counts_what_is_gathered_not_what_one_rank_puts_in() -> None:
    # Four ranks with 1 MiB each gather 4 MiB.
    found = table_of({rank: [collective(ALL_GATHER, 1 << 20)] for rank in range(4)})
    assert [row.collective.size_bytes for row in found.rows] == [4 << 20]


@pytest.mark.parametrize("name", [None, "", "0"])
def test_a_collective_without_a_group_is_of_all_ranks(name: str | None) -> None:
    found = table_of({rank: [collective(ALL_REDUCE, 8, name)] for rank in range(16)})
    group = found.rows[0].collective.group
    assert (group.size, group.per_node, group.num_nodes) == (16, 8, 2)
    assert found.notes == ()


def test_groups_of_one_shape_are_one_row_and_others_their_own() -> None:
    # Ranks 0 to 3 and 4 to 7 sit in one node each; 0 and 8 in two.
    near = {rank: [collective(ALL_REDUCE, 64, "1" if rank < 4 else "2")] for rank in range(8)}
    groups = {"1": (0, 1, 2, 3), "2": (4, 5, 6, 7), "3": (0, 8)}
    far = collective(ALL_REDUCE, 64, "3")
    found = table_of(near | {0: [*near[0], far], 8: [far]}, groups)
    shapes = {
        (r.collective.group.size, r.collective.group.num_nodes): r.num_ranks for r in found.rows
    }
    assert shapes == {(4, 1): 8, (2, 2): 2}


def test_a_group_that_is_listed_nowhere_is_those_who_use_it_and_says_so() -> None:
    one = collective(ALL_REDUCE, 64, "data")
    found = table_of({0: [one], 3: [one]})
    assert found.rows[0].collective.group.size == 2
    assert any("listed nowhere" in note for note in found.notes)
    assert any("2 of 4 ranks" in note for note in found.notes)


def test_messages_are_counted_where_they_are_sent() -> None:
    receive = TraceNode(node_id=1, name="", kind=NodeKind.RECEIVE)
    found = table_of({0: [send(9, 100), send(1, 100)], 9: [receive], 1: []})
    assert [(r.collective.kind, r.num_calls) for r in found.rows] == [("send_recv", 1)] * 2
    assert {r.collective.group.num_nodes for r in found.rows} == {1, 2}


def test_what_has_no_model_is_named_and_not_counted() -> None:
    found = table_of({0: [collective(BARRIER, 0)], 1: []})
    assert found.rows == ()
    assert found.notes == ("1 x barrier left out: no engine has it",)


def test_a_group_of_one_moves_nothing() -> None:
    found = table_of({0: [collective(ALL_REDUCE, 64, "1")]}, {"1": (0,)})
    assert found.rows == ()
    assert "single rank" in found.notes[0]


def test_an_empty_collective_has_a_duration() -> None:
    found = table_of({rank: [collective(ALL_REDUCE, 0)] for rank in range(2)})
    assert found.rows[0].outcome.duration_s >= 0


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (collective(77, 8), "x: node 0: comm_type 77 is no collective"),
        (collective(0, -1), "x: node 0 has '-1' as comm_size"),
        (TraceNode(node_id=5, name="", kind=NodeKind.COLLECTIVE), "x: node 5 has no comm_type"),
        (send(0, 8), "a message from 0 to 0 in the trace of rank 0"),
        (send(MAX_GPUS, 8), "as comm_dst"),
        (
            TraceNode(
                node_id=1, name="", kind=NodeKind.SEND, attributes={"comm_src": 4, "comm_dst": 1}
            ),
            r"a message from 4 to 1 in the trace of rank 0; name files PREFIX\.<rank>\.et",
        ),
    ],
)
def test_a_node_that_makes_no_sense_is_refused(node: TraceNode, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        tally([node], rank=0, where="x")


def test_a_rank_outside_its_group_is_refused() -> None:
    with pytest.raises(SpecError, match="rank 2 communicates in group '1', which does not"):
        table_of({2: [collective(ALL_REDUCE, 8, "1")]}, {"1": (0, 1)})


def test_more_ranks_than_anybody_has_are_refused() -> None:
    with pytest.raises(SpecError, match="netloom goes to"):
        num_ranks_of({MAX_GPUS: RankTally()}, {}, where="x")
