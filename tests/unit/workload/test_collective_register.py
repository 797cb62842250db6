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
    # Bus bandwidth counts what one rank sends over its link; a chain's last rank sends nothing.
    entry = collective_entry(kind)
    dag = entry.transfers(plan())
    sent = np.bincount(dag.source, weights=dag.size_bytes, minlength=RANKS)
    assert sent.max() == entry.bus_factor(RANKS) * SIZE


@pytest.mark.parametrize(
    ("kind", "steps"),
    # A ring of 6: 5 hops around for a gather, twice that for a sum that must come back.
    [("all_reduce", 10), ("all_gather", 5), ("reduce_scatter", 5), ("broadcast", 6)],
)
def test_a_piece_goes_so_many_hops_around_a_ring(kind: str, steps: int) -> None:
    entry = COLLECTIVES.get(kind)
    assert entry.ring_steps(RANKS) == steps
    whole = kind == "broadcast"
    assert entry.ring_bytes(SIZE, RANKS) == (SIZE if whole else SIZE * steps / RANKS)


def test_only_messages_between_pairs_are_direct() -> None:
    assert {one.name for one in COLLECTIVES.entries() if one.is_direct} == {
        "all_to_all",
        "send_recv",
    }
    assert not COLLECTIVES.get("send_recv").has_partners
