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
def test_each_part_waits_for_every_part_of_what_its_transfer_waits_for(
    waits: list[list[int]], connections: int
) -> None:
    whole = replace(transfers(waits), size_bytes=np.arange(len(waits), dtype=np.int64) + 1)
    parts = spread(whole, connections)
    for i, some in enumerate(waits):
        expected = [one * connections + part for one in some for part in range(connections)]
        for part in range(i * connections, (i + 1) * connections):
            begin, end = parts.wait_offsets[part : part + 2]
            assert parts.waits[begin:end].tolist() == expected
