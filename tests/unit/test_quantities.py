from __future__ import annotations

import pytest

from netloom.errors import SpecError
from netloom.units import (
    DIMENSIONS,
    LENGTH,
    MONEY,
    POWER,
    RATE,
    SHARE,
    SIZE,
    TIME,
    Dimension,
    format_quantity,
    parse_quantity,
)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("400Gbps", RATE, 400e9),
        ("400 Gbps", RATE, 400e9),
        ("50GB/s", RATE, 400e9),  # 8 bits a byte
        ("1GiB/s", RATE, 8 * 2**30),
        ("16MiB", SIZE, 16 * 2**20),
        ("16MB", SIZE, 16e6),
        ("2us", TIME, 2e-6),
        ("1_000ns", TIME, 1e-6),
        (".5m", LENGTH, 0.5),
        ("1e3W", POWER, 1000),
        ("5%", SHARE, 0.05),
        ("-3m", LENGTH, -3),
    ],
)
def test_a_number_and_a_unit_become_base_units(
    text: str, dimension: Dimension, value: float
) -> None:
    assert parse_quantity(text, dimension, where="x") == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("400", "x: '400' has no unit; a rate is written as '400Gbps'"),
        ("400gbps", "x: '400gbps' has the unit 'gbps'; did you mean 'Gbps'?"),
        ("2us", "x: '2us' has the unit 'us'; a rate is written in Pbps"),
        ("fast", "x: 'fast' is not a rate; write a number and a unit, such as '400Gbps'"),
        ("", "x: '' is not a rate"),
        ("nan Gbps", "x: 'nan Gbps' is not a finite rate"),
        ("-inf", "x: '-inf' is not a finite rate"),
        ("1e400Gbps", "x: '1e400Gbps' is not a finite rate"),
        ("1_Gbps", "x: '1_Gbps' is not a rate"),
        ("infection", "x: 'infection' is not a rate"),
        ("1,000Gbps", "x: '1,000Gbps' is not a rate"),
        ("\u0664\u0660\u0660Gbps", "is not a rate"),  # 400 in Arabic-Indic digits
    ],
)
def test_what_is_not_a_rate_is_refused_with_the_remedy(text: str, says: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_quantity(text, RATE, where="x")
    assert says in str(caught.value)


def test_a_quantity_that_overflows_only_through_its_unit_is_refused() -> None:
    with pytest.raises(SpecError, match="not a finite rate"):
        parse_quantity("1e308Gbps", RATE, where="x")


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(SpecError) as caught:
        parse_quantity("y" * 10_000, RATE, where="x")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (400e9, RATE, "400Gbps"),
        (999.9996e9, RATE, "1Tbps"),  # rounds to four digits before the unit is chosen
        (2e-6, TIME, "2us"),
        (90, TIME, "90s"),
        (3599.9, TIME, "1h"),
        (0.0625, SHARE, "6.25%"),
        (0.0, RATE, "0bps"),
        (0.0, TIME, "0s"),
        (0.0, LENGTH, "0m"),
        (0.0, SHARE, "0%"),
        (-3.0, LENGTH, "-3m"),
        (10.1271e9, MONEY, "10.1BUSD"),
        (9999.94e15, RATE, "9999.9Pbps"),  # beyond the largest unit: whole digits, no exponent
        (float("inf"), RATE, "inf"),
    ],
)
def test_a_quantity_prints_as_a_person_would_write_it(
    value: float, dimension: Dimension, text: str
) -> None:
    assert format_quantity(value, dimension) == text


def test_the_example_and_the_shown_units_of_every_dimension_are_its_own() -> None:
    for dimension in DIMENSIONS:
        assert parse_quantity(dimension.example, dimension, where="x") > 0
        assert set(dimension.shown) <= set(dimension.units)
        worth = [dimension.units[unit] for unit in dimension.shown]
        assert worth == sorted(worth, reverse=True)
