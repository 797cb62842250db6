from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.retention import RetentionLimits, retain
from netloom.ops.observe.store import ObservationStore
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


@given(
    st.lists(st.tuples(st.integers(1, 2000), st.none() | st.integers(0, 9)), min_size=1),
    st.sets(st.integers(0, 40)),
)
@settings(max_examples=40, deadline=None)
def test_summing_up_the_past_changes_nothing_of_a_window_over_it(
    looks: list[tuple[int, int | None]], retained: set[int]
) -> None:
    """Whatever the gaps between looks, missing values, and when retention runs."""
    limits = RetentionLimits(single_s=900.0, window_s=1e9)
    time_s, values = 1.8e9, []
    with tempfile.TemporaryDirectory() as folder, ObservationStore(Path(folder) / "s.db") as store:
        for number, (gap_s, value) in enumerate(looks):
            time_s += gap_s
            seen = [] if value is None else [Observation(time_s, "a", "count", float(value))]
            store.add(Reading(source="x", time_s=time_s, observations=seen, is_whole=True))
            values.append(None if value is None else float(value))
            if number in retained:
                retain(store, time_s, limits)
        found = store.window("count", 0.0, time_s + 1).get("a")
    wanted = summarise(values)
    if found is None or wanted is None:
        assert found is wanted
        return
    for name in ("first", "last", "least", "most", "increase"):
        assert getattr(found, name) == getattr(wanted, name)
