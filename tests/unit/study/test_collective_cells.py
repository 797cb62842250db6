"""The table that collectives are held to, and machines left out of a fit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from netloom.parts.load import load_catalog
from netloom.validation.collectives.cells import (
    BANDS,
    FEW_OTHER,
    FEW_RING,
    GOALS,
    MANY,
    ONE_NODE,
    Bound,
    band_of,
    cells_of,
    goal_of,
    group_of,
)
from netloom.validation.collectives.left_out import each_left_out
from netloom.validation.collectives.machines import machine_of
from netloom.validation.collectives.measured import read_measurement
from netloom.validation.collectives.suite import validate_collectives

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.parts.load import Catalog
    from netloom.validation.collectives.measurement import Measurement

KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
GOAL_BOUNDS = {key: goal_of(key) for key in GOALS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    error_pct: float | None
    num_nodes: int = 1
    collective: str = "all_reduce"
    size_bytes: float | None = 32 * MIB
    machine: str = "a"


@pytest.mark.parametrize(
    ("size_bytes", "band"),
    [
        (8, "<64 KiB"),
        (64 * KIB - 1, "<64 KiB"),
        (64 * KIB, "to 1 MiB"),
        (MIB, "to 16 MiB"),
        (16 * MIB, "to 256 MiB"),
        (256 * MIB, "to 1 GiB"),
        (GIB, "above"),
        (1e15, "above"),
    ],
)
def test_a_band_holds_its_lower_end(size_bytes: float, band: str) -> None:
    assert band_of(size_bytes) == band


@pytest.mark.parametrize(
    ("collective", "num_nodes", "group"),
    [
        ("all_to_all", 1, ONE_NODE),
        ("all_gather", 2, FEW_RING),
        ("reduce_scatter", 16, FEW_RING),
        ("broadcast", 16, FEW_OTHER),
        ("send_recv", 2, FEW_OTHER),
        ("all_reduce", 17, MANY),
        ("all_to_all", 540, MANY),
    ],
)
def test_groups_are_by_nodes_and_collective(collective: str, num_nodes: int, group: str) -> None:
    assert group_of(collective, num_nodes) == group


def test_every_group_has_a_goal_in_every_band() -> None:
    assert len(GOALS) == 4 * len(BANDS)
    assert GOALS[ONE_NODE, "to 1 GiB"] == 5
    assert GOALS[MANY, "above"] == 20


def test_a_cell_is_held_by_its_median_its_bias_and_its_p90() -> None:
    # One node, 16 to 256 MiB: 10 % in the median, 5 % of bias, 30 % in p90.
    def is_met(*errors: float) -> bool:
        rows = [Row(error_pct=error, machine=f"m{at % 2}") for at, error in enumerate(errors)]
        (cell,) = cells_of(rows, bounds=GOAL_BOUNDS, min_machines=2)
        return cell.bound_ok and cell.goal_ok

    assert is_met(10, -10, 3, -3)
    assert not is_met(11, -11, 11, -11)  # median 11
    assert not is_met(6, 6, 6, 6)  # bias 6
    assert not is_met(1, -1, 1, -1, 31, -31)  # p90 31


def test_a_cell_of_one_machine_is_shown_but_not_held() -> None:
    (cell,) = cells_of([Row(error_pct=400.0)], bounds=GOAL_BOUNDS, min_machines=2)
    assert (cell.held, cell.bound_ok, cell.goal_ok) == (False, True, False)


def test_a_ratchet_is_a_bound_looser_than_the_goal() -> None:
    rows = [Row(error_pct=12.0, machine=name) for name in ("a", "b")]
    loose = GOAL_BOUNDS | {(ONE_NODE, "to 256 MiB"): Bound(median_pct=12, bias_pct=12, p90_pct=30)}
    (cell,) = cells_of(rows, bounds=loose, min_machines=2)
    assert (cell.bound_ok, cell.goal_ok, cell.bound_pct, cell.goal_pct) == (True, False, 12, 10)


def test_rows_without_an_error_or_a_size_are_in_no_cell() -> None:
    rows = [Row(error_pct=None), Row(error_pct=1.0, size_bytes=None)]
    assert cells_of(rows, bounds=GOAL_BOUNDS, min_machines=2) == ()


def test_a_group_can_be_split_and_keeps_its_bound() -> None:
    rows = [Row(error_pct=1.0), Row(error_pct=2.0, collective="broadcast")]
    found = cells_of(rows, bounds=GOAL_BOUNDS, min_machines=1, key_of=lambda row: row.collective)
    assert [cell.group for cell in found] == ["one node: all_reduce", "one node: broadcast"]
    assert {cell.bound_pct for cell in found} == {10}


def measured(cluster: str, bus_gbps: float) -> Measurement:
    row = {
        "collective": "all_reduce",
        "gpu": "H100",
        "ranks": "8",
        "size_bytes": str(2**30),
        "busbw_GBps": str(bus_gbps),
        "cluster": cluster,
    }
    return read_measurement(row, 1, where="test")


def test_each_machine_is_predicted_by_a_fit_that_did_not_see_it() -> None:
    rows = [measured(name, 400.0) for name in ("a NCCL 2.18", "a NCCL 2.21", "b")]
    seen: list[set[str]] = []

    @contextmanager
    def fit(rows: Sequence[Measurement], catalog: Catalog) -> Iterator[Catalog]:
        seen.append({machine_of(row) for row in rows})
        yield catalog

    found = list(each_left_out(rows, load_catalog(), fit, lambda row, _: machine_of(row)))
    assert found == ["a", "a", "b"]
    assert seen == [{"b"}, {"a"}]  # both library versions of a machine go together


def test_the_error_without_the_machine_stands_beside_the_error_with_it() -> None:
    # The refitted catalogue's links are half as fast: the bus bandwidth falls to about half.
    rows = [measured(name, 480.0) for name in ("a", "b")]

    @contextmanager
    def fit(_: Sequence[Measurement], catalog: Catalog) -> Iterator[Catalog]:
        slow = catalog.scale_ups["nvswitch3"]
        slower = slow.model_copy(
            update={"rate_bps": slow.rate_bps / 2, "link_rate_bps": slow.link_rate_bps / 2}
        )
        yield replace(catalog, scale_ups={**catalog.scale_ups, slower.name: slower})

    plain = validate_collectives(rows, load_catalog()).cells[0]
    assert plain.left_out_median_pct is None
    (cell,) = validate_collectives(rows, load_catalog(), fit=fit).cells
    assert cell.median_abs_error_pct == plain.median_abs_error_pct
    assert cell.left_out_median_pct == pytest.approx(50, abs=10)
