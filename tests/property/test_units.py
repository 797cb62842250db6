from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.spec.quantity import write_quantity
from netloom.units import DIMENSIONS, SHARE, Dimension, format_quantity, parse_quantity

dimensions = st.sampled_from(DIMENSIONS)
EXACT = [dimension for dimension in DIMENSIONS if dimension is not SHARE]


@given(dimensions, st.data(), st.floats(-1e12, 1e12))
def test_a_number_with_a_unit_is_that_many_times_the_unit(
    dimension: Dimension, data: st.DataObject, number: float
) -> None:
    unit = data.draw(st.sampled_from(list(dimension.units)))
    got = parse_quantity(f"{number!r} {unit}", dimension, where="x")
    assert got == number * dimension.units[unit]


@given(dimensions, st.floats(1e-9, 1e18), st.integers(1, 12))
def test_what_is_printed_reads_back_within_its_digits(
    dimension: Dimension, value: float, digits: int
) -> None:
    text = format_quantity(value, dimension, digits=digits)
    got = parse_quantity(text, dimension, where="x")
    # Half a unit in the last of `digits` places: 0.5 * 10**(1 - digits) of the leading digit.
    smallest = dimension.units[dimension.shown[-1]]
    assert math.isclose(got, value, rel_tol=0.51 * 10.0 ** (1 - digits)) or value < smallest


@given(dimensions, st.floats(1e-9, 1e18))
def test_no_exponent_is_printed_between_the_smallest_and_the_largest_unit(
    dimension: Dimension, value: float
) -> None:
    shown = [dimension.units[unit] for unit in dimension.shown]
    if shown[-1] <= value < shown[0] * 1000:
        assert "e" not in format_quantity(value, dimension).removesuffix("years")


@given(st.sampled_from(EXACT), st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_quantity_is_exact_to_the_last_bit(dimension: Dimension, value: float) -> None:
    assert parse_quantity(write_quantity(value, dimension), dimension, where="x") == value


@given(st.text(), dimensions)
def test_any_text_is_a_finite_quantity_or_a_spec_error(text: str, dimension: Dimension) -> None:
    try:
        assert math.isfinite(parse_quantity(text, dimension, where="here"))
    except SpecError as error:
        assert str(error).startswith("here: ")  # noqa: PT017  (either outcome is right)
