"""Explanations as printed."""

from __future__ import annotations

import pytest
from rich.console import Console

from netloom.provenance import Source, Why
from netloom.report.why import format_value, why_tree


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (92_160_000.0, "USD", "92.16MUSD"),
        (1.5e-6, "s", "1.5us"),
        (400e9, "bit/s", "400Gbps"),
        (2560, "", "2,560"),
        (0.125, "", "0.125"),
        (3.0, "hops", "3 hops"),
        ("ring", "", "ring"),
    ],
)
def test_values_are_written_in_their_unit(value: float | str, unit: str, expected: str) -> None:
    assert format_value(value, unit) == expected


def test_a_tree_shows_value_formula_and_source_of_every_number() -> None:
    price = Why(
        name="price",
        value=36_000.0,
        unit="USD",
        source=Source(citation="a sheet", confidence="secondary", note="one of two"),
    )
    total = Why(name="total", value=72_000.0, unit="USD", how="2 x price", parts=(price,))
    console = Console(width=100)
    with console.capture() as captured:
        console.print(why_tree(total))
    text = captured.get()
    assert "total = 72kUSD  (2 x price)" in text
    assert "price = 36kUSD" in text
    assert "[secondary] a sheet: one of two" in text
