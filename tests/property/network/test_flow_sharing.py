"""Max-min fairness with caps, weights and split flows, by its definition, while flows come and go.

Bertsekas and Gallager, Data Networks, section 6.5.2: an allocation is max-min fair exactly when
no link is over its capacity and every flow is at its cap or crosses a saturated link on which no
other flow has more (for its weight).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netloom.engines import native

if TYPE_CHECKING:
    from numpy.typing import NDArray

INFINITE = float("inf")
SHARES = (1.0, 0.5, 0.25)  # exact in single precision
NO_LINK = 2**32 - 1


@dataclass
class Sharing:
    capacity: list[float]
    links: list[list[int]]
    shares: list[list[float]]
    cap: list[float]
    weight: list[float]

    def arrays(self, batches: list[list[tuple[int, int]]]) -> dict[str, NDArray[Any]]:
        changes = [change for batch in batches for change in batch]
        return {
            "capacity_bps": np.array(self.capacity),
            "route_offsets": np.cumsum([0, *map(len, self.links)], dtype=np.uint64),
            "links": np.array([x for path in self.links for x in path], dtype=np.uint32),
            "shares": np.array([x for path in self.shares for x in path], dtype=np.float32),
            "cap_bps": np.array(self.cap),
            "weight": np.array(self.weight),
            "changed": np.array([c for c, _ in changes], dtype=np.uint32),
            "count": np.array([count for _, count in changes], dtype=np.int32),
            "batches": np.cumsum([0, *map(len, batches)], dtype=np.uint64),
        }

    def load(self, rate: NDArray[np.float64], count: list[int]) -> NDArray[np.float64]:
        load = np.zeros(len(self.capacity))
        for c, path in enumerate(self.links):
            for link, share in zip(path, self.shares[c], strict=True):
                load[link] += rate[c] * count[c] * share
        return load


@st.composite
def sharings(draw: st.DrawFn) -> Sharing:
    capacity = draw(st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.5, 1e3]), min_size=1, max_size=7))
    link = st.integers(0, len(capacity) - 1)
    links = draw(
        st.lists(st.lists(link, min_size=1, max_size=4, unique=True), min_size=1, max_size=9)
    )
    shares = [[draw(st.sampled_from(SHARES)) for _ in path] for path in links]
    cap = [draw(st.sampled_from([INFINITE, INFINITE, 0.3, 2.0])) for _ in links]
    weight = [draw(st.sampled_from([1.0, 1.0, 2.0, 0.1])) for _ in links]
    return Sharing(capacity, links, shares, cap, weight)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Sharing, list[list[tuple[int, int]]]]:
    """Draw classes, and batches of starts and ends that never leave less than nothing."""
    sharing = draw(sharings())
    left = [0] * len(sharing.links)
    batches = []
    for _ in range(draw(st.integers(1, 8))):
        batch = []
        for c in draw(st.lists(st.integers(0, len(left) - 1), min_size=1, max_size=5)):
            count = draw(st.integers(-left[c], 3).filter(lambda n: n != 0))
            left[c] += count
            batch.append((c, count))
        batches.append(batch)
    return sharing, batches


def counts_after(sharing: Sharing, batches: list[list[tuple[int, int]]]) -> list[list[int]]:
    count = [0] * len(sharing.links)
    after = []
    for batch in batches:
        for c, change in batch:
            count[c] += change
        after.append(count.copy())
    return after


@given(histories())
def test_no_link_ever_carries_more_than_its_capacity(
    history: tuple[Sharing, list[list[tuple[int, int]]]],
) -> None:
    sharing, batches = history
    rates, _ = native.fair_history(sharing.arrays(batches))
    for rate, count in zip(rates, counts_after(sharing, batches), strict=True):
        load = sharing.load(rate, count)
        assert np.all(load <= np.array(sharing.capacity) * (1 + 1e-9))


@given(histories())
def test_every_flow_is_at_its_cap_or_among_the_fastest_on_a_full_link(
    history: tuple[Sharing, list[list[tuple[int, int]]]],
) -> None:
    sharing, batches = history
    rates, bottlenecks = native.fair_history(sharing.arrays(batches))
    after = counts_after(sharing, batches)
    for rate, held, count in zip(rates, bottlenecks, after, strict=True):
        load = sharing.load(rate, count)
        for c, number in enumerate(count):
            if number == 0 or rate[c] >= sharing.cap[c] * (1 - 1e-9):
                continue
            link = int(held[c])
            assert link in sharing.links[c]
            assert np.isclose(load[link], sharing.capacity[link], rtol=1e-9)
            level = rate[c] / sharing.weight[c] * (1 + 1e-9)
            others = [d for d, path in enumerate(sharing.links) if link in path and count[d]]
            assert all(rate[d] / sharing.weight[d] <= level for d in others)


@given(histories())
def test_keeping_rates_up_to_date_gives_what_starting_afresh_gives(
    history: tuple[Sharing, list[list[tuple[int, int]]]],
) -> None:
    sharing, batches = history
    kept, _ = native.fair_history(sharing.arrays(batches))
    for rate, count in zip(kept, counts_after(sharing, batches), strict=True):
        fresh, _ = native.fair_history(
            sharing.arrays([[(c, number) for c, number in enumerate(count) if number]])
        )
        active = np.array(count) > 0
        np.testing.assert_allclose(rate[active], fresh[0][active], rtol=1e-9)


@given(sharings(), st.data())
def test_equal_flows_in_one_class_get_what_they_get_apart(
    sharing: Sharing, data: st.DataObject
) -> None:
    count = [data.draw(st.integers(1, 4)) for _ in sharing.links]
    folded, _ = native.fair_history(sharing.arrays([list(enumerate(count))]))
    each = np.repeat(np.arange(len(count)), count).tolist()
    apart = Sharing(
        sharing.capacity,
        [sharing.links[c] for c in each],
        [sharing.shares[c] for c in each],
        [sharing.cap[c] for c in each],
        [sharing.weight[c] for c in each],
    )
    single, _ = native.fair_history(apart.arrays([[(c, 1) for c in range(sum(count))]]))
    np.testing.assert_allclose(np.repeat(folded[0], count), single[0], rtol=1e-9)


@given(sharings())
def test_without_caps_weights_and_shares_it_is_plain_progressive_filling(
    sharing: Sharing,
) -> None:
    plain = Sharing(
        sharing.capacity,
        sharing.links,
        [[1.0] * len(path) for path in sharing.links],
        [INFINITE] * len(sharing.links),
        [1.0] * len(sharing.links),
    )
    rates, _ = native.fair_history(plain.arrays([[(c, 1) for c in range(len(plain.links))]]))
    reference = native.max_min_rates(np.array(plain.capacity), plain.links)
    np.testing.assert_allclose(rates[0], reference, rtol=1e-9)
