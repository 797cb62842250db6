"""The bill of materials."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import pytest
from cost_parts import cables, nic, node, rail_fat_tree, switch, transceivers
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import CatalogError
from netloom.fabric.cost.estimate import estimate
from netloom.spec.scenario import Floor

if TYPE_CHECKING:
    from netloom.fabric.cost.bill import Bill
    from netloom.fabric.design import Design


def bill_of(design: Design) -> Bill:
    return estimate(
        design,
        node=node(),
        nic=nic(),
        floor=Floor(),
        cables=cables(),
        transceivers=transceivers(),
    ).bill


def test_capex_is_switches_transceivers_and_cables_without_nics() -> None:
    bill = bill_of(rail_fat_tree(128))
    # 48 switches of 36,000 USD; 512 + 1,536 twin modules of 1,200 USD; 2,048 fibres, 50 USD and
    # 1 USD a metre, none longer than 20 m.
    assert sum(line.total_usd or 0 for line in bill.of("switch")) == 48 * 36_000
    assert sum(line.total_usd or 0 for line in bill.of("transceiver")) == 2_048 * 1_200
    fibre_usd = bill.capex_usd - 48 * 36_000 - 2_048 * 1_200
    assert 2_048 * 52 < fibre_usd < 2_048 * 70
    assert [(line.count, line.total_usd) for line in bill.of("nic")] == [(1_024, None)]


def test_power_is_that_of_switches_and_optics() -> None:
    bill = bill_of(rail_fat_tree(128))
    assert bill.power.switches_w == 48 * 747
    assert bill.power.optics_w == 2_048 * 16
    assert bill.power_w == 48 * 747 + 2_048 * 16
    assert bill.power.nics_w == 1_024 * 25


def test_a_price_range_spans_the_total() -> None:
    bill = bill_of(rail_fat_tree(128))
    low_usd, high_usd = bill.capex_range_usd
    assert low_usd == bill.capex_usd
    assert high_usd - low_usd == 48 * (50_000 - 36_000)


@pytest.mark.parametrize(("key", "example"), [("price", "36000USD"), ("power", "750W")])
def test_a_switch_without_a_figure_is_an_error_that_says_where_to_add_it(
    key: str, example: str
) -> None:
    bare = switch(price=None) if key == "price" else switch(power=None)
    with pytest.raises(CatalogError, match=rf"box-64: its {key}.*switches.box-64.*{example}"):
        bill_of(replace(rail_fat_tree(32), switch=bare))


def test_every_line_of_the_network_has_a_source() -> None:
    for line in bill_of(rail_fat_tree(512)).network:
        assert line.price_source is not None
        assert line.to_json()["source"] == line.price_source.citation


@pytest.mark.parametrize("field", ["capex_usd", "power_w"])
def test_the_explanation_of_a_total_sums_to_it(field: Literal["capex_usd", "power_w"]) -> None:
    bill = bill_of(rail_fat_tree(512))
    why = bill.why(field)
    assert why.value == getattr(bill, field)
    assert sum(float(part.value) for part in why.parts) == pytest.approx(why.value)
    assert all(leaf.source for part in why.parts for leaf in part.parts[1:])


@given(st.integers(1, 900), st.integers(1, 900))
def test_more_nodes_never_cost_less(one: int, other: int) -> None:
    few, many = sorted((one, other))
    less, more = (bill_of(rail_fat_tree(number)) for number in (few, many))
    assert less.capex_usd <= more.capex_usd
    assert less.power_w <= more.power_w


def test_equal_designs_have_equal_bills() -> None:
    assert bill_of(rail_fat_tree(333)) == bill_of(rail_fat_tree(333))
