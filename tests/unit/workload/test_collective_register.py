"""A collective is one entry: its closed form and its transfers say the same."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import numpy as np
import pytest

from netloom.spec.traffic import CollectiveTraffic
from netloom.workload.collective import CollectiveKind
from netloom.workload.collective_entry import (
    COLLECTIVES,
    CollectiveEntry,
    ExchangePlan,
    collective_entry,
)

RANKS = 6
SIZE = 6 * 1024


def plan() -> ExchangePlan:
    group = np.arange(RANKS, dtype=np.int64)
    return ExchangePlan(group=group, size_bytes=SIZE, orders=lambda: [group])


def test_every_kind_has_an_entry_and_every_entry_a_kind() -> None:
    assert set(COLLECTIVES.names()) == {kind.value for kind in CollectiveKind}


def test_scenarios_take_the_same_collectives() -> None:
    spoken = get_args(CollectiveTraffic.model_fields["operation"].annotation)
    assert {name.replace("-", "_") for name in spoken} == set(COLLECTIVES.names())


def test_a_collective_that_lacks_a_trait_fails_where_it_is_defined() -> None:
    known = collective_entry(CollectiveKind.ALL_REDUCE)
    given = {field.name: getattr(known, field.name) for field in fields(known)}
    for trait in given:
        with pytest.raises(TypeError, match=trait):
            CollectiveEntry(**{name: value for name, value in given.items() if name != trait})


@pytest.mark.parametrize("kind", CollectiveKind)
def test_transfers_carry_what_the_closed_form_says(kind: CollectiveKind) -> None:
    # Bus bandwidth counts what the busiest rank sends or receives over its link; a chain's last
    # rank sends nothing, and of a gather the root alone receives.
    entry = collective_entry(kind)
    dag = entry.transfers(plan())
    sent, received = (
        np.bincount(ends, weights=dag.size_bytes, minlength=RANKS)
        for ends in (dag.source, dag.target)
    )
    assert max(sent.max(), received.max()) == entry.bus_factor(RANKS) * SIZE


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "gather", "scatter"])
def test_the_first_rank_is_the_root(kind: str) -> None:
    dag = COLLECTIVES.get(kind).transfers(plan())
    from_root = kind in {"broadcast", "scatter"}
    assert (0 in dag.source, 0 in dag.target) == (from_root, not from_root)


@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_every_other_rank_shares_its_part_with_the_root_once(kind: str) -> None:
    dag = COLLECTIVES.get(kind).transfers(plan())
    others = dag.source if kind == "gather" else dag.target
    assert sorted(others) == [1, 2, 3, 4, 5]
    assert (dag.size_bytes == SIZE / RANKS).all()


@pytest.mark.parametrize(
    ("kind", "steps"),
    # A ring of 6: 5 hops around for a gather, twice that for a sum that must come back.
    [("all_reduce", 10), ("all_gather", 5), ("reduce_scatter", 5), ("broadcast", 6), ("reduce", 6)],
)
def test_a_piece_goes_so_many_hops_around_a_ring(kind: str, steps: int) -> None:
    entry = COLLECTIVES.get(kind)
    assert entry.ring_steps(RANKS) == steps
    whole = kind in {"broadcast", "reduce"}
    assert entry.ring_bytes(SIZE, RANKS) == (SIZE if whole else SIZE * steps / RANKS)


def test_only_messages_between_pairs_are_direct() -> None:
    assert {one.name for one in COLLECTIVES.entries() if one.is_direct} == {
        "all_to_all",
        "gather",
        "scatter",
        "send_recv",
    }
    assert not COLLECTIVES.get("send_recv").has_partners
