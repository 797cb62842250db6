"""Transfers that can never start, and those of several connections, by their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.engines.packet.connections import spread
from netloom.errors import SpecError
from netloom.workload.transfers import Transfers, check_transfers


def transfers(waits: list[list[int]]) -> Transfers:
    count = len(waits)
    none = np.zeros(count, dtype=np.int64)
    return Transfers(
        source=np.zeros(count, dtype=np.int32),
        target=np.ones(count, dtype=np.int32),
        size_bytes=none + 1000,
        start_ps=none,
        delay_ps=none,
        source_port=np.arange(count, dtype=np.uint16),
        priority=np.zeros(count, dtype=np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.cumsum([0, *map(len, waits)], dtype=np.int64),
        waits=np.array([one for some in waits for one in some], dtype=np.int32),
    )


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    count = draw(st.integers(1, 12))
    some = st.lists(st.integers(0, count - 1), max_size=3)
    return draw(st.lists(some, min_size=count, max_size=count))


def never(waits: list[list[int]]) -> list[int]:
    """Return those that do not start however long one waits."""
    started: set[int] = set()
    for _ in waits:
        started |= {i for i, some in enumerate(waits) if started.issuperset(some)}
    return [i for i in range(len(waits)) if i not in started]


@given(graphs())
def test_a_transfer_is_refused_if_and_only_if_it_can_never_start(waits: list[list[int]]) -> None:
    stuck = never(waits)
    if not stuck:
        check_transfers(transfers(waits), 2)
        return
    with pytest.raises(SpecError, match=rf"transfer {stuck[0]}: .*\({len(stuck)} transfers"):
        check_transfers(transfers(waits), 2)


@given(graphs(), st.integers(2, 4))
def test_parts_have_their_transfers_bytes_and_wait_for_every_part_of_what_it_waits_for(
    waits: list[list[int]], connections: int
) -> None:
    whole = replace(transfers(waits), size_bytes=np.arange(len(waits), dtype=np.int64) + 1)
    parts = spread(whole, connections)
    count = np.minimum(whole.size_bytes, connections).tolist()  # no part is without a byte
    begin = [sum(count[:i]) for i in range(len(count) + 1)]
    for i, some in enumerate(waits):
        mine = slice(begin[i], begin[i + 1])
        assert parts.size_bytes[mine].sum() == whole.size_bytes[i]
        assert parts.size_bytes[mine].min() >= 1
        assert np.ptp(parts.size_bytes[mine]) <= 1
        expected = [part for one in some for part in range(begin[one], begin[one + 1])]
        for part in range(begin[i], begin[i + 1]):
            first, last = parts.wait_offsets[part : part + 2]
            assert parts.waits[first:last].tolist() == expected
