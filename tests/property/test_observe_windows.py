from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netloom.ops.observe.windows import Summary, summarise

counts = st.lists(st.integers(0, 10**9).map(float), min_size=1, max_size=30)


@given(counts, st.data())
def test_the_summary_of_a_whole_is_the_sum_of_its_parts(
    values: list[float], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(values)))
    parts = [one for some in (values[:cut], values[cut:]) if (one := summarise(some)) is not None]
    assert sum(parts[1:], start=parts[0]) == summarise(values)


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_a_counter_that_never_starts_anew_rises_by_last_less_first(rises: list[int]) -> None:
    values = [float(sum(rises[: n + 1])) for n in range(len(rises))]
    found = summarise(values)
    assert found is not None
    assert found.increase == found.last - found.first


@given(counts)
def test_an_increase_is_never_negative_and_gaps_do_not_matter(values: list[float]) -> None:
    found = summarise(values)
    assert isinstance(found, Summary)
    assert found.increase >= 0
    gappy = [item for value in values for item in (None, value, None)]
    assert summarise(gappy) == found
