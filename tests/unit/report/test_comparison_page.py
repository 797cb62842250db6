from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

import netloom as nl
from netloom.report.compare.figures import cost_against_speed
from netloom.report.compare.page import comparison_page


@pytest.fixture(scope="module")
def page() -> str:
    return comparison_page(nl.compare(nl.example().comparing(("infiniband-ndr", "rocev2-400g"))))


def test_the_page_has_its_four_figures_in_order(page: str) -> None:
    keys = re.findall(r'<figure class="card" id="(\w+)"', page)
    assert keys == ["scaling", "step", "cost", "latency"]


def test_the_page_says_what_was_recommended_and_doubted(page: str) -> None:
    found = nl.compare(nl.example().comparing(("infiniband-ndr", "rocev2-400g")))
    assert f"<strong>{found.recommendation.technology}</strong>" in page
    assert "Doubts" in page
    assert "sources behind these numbers" in page


def test_a_name_cannot_end_the_markup_it_stands_in() -> None:
    nasty = "</script><img src=x onerror=alert(1)>"
    scenario = nl.example().comparing(("infiniband-ndr",)).model_copy(update={"name": nasty})
    page = comparison_page(nl.compare(scenario))
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in page


@dataclass(frozen=True)
class Priced:
    """A contender, as far as the plot of cost against speed looks at it."""

    name: str
    days_per_trillion_tokens: float
    usd_per_trillion_tokens: float

    @property
    def technology(self) -> SimpleNamespace:
        return SimpleNamespace(status="shipping")


def test_a_technology_far_off_is_named_beside_the_plot_and_leaves_room_for_the_others() -> None:
    near = [Priced("a", 10, 2e6), Priced("b", 11, 2.2e6)]
    far = Priced("c", 40, 9e6)
    plot = cost_against_speed([*near, far])  # type: ignore[list-item]
    assert plot.x.bounds is not None
    low, high = plot.x.bounds
    assert low < 10
    assert 11 < high < 12
    assert plot.aside == "Too far off to draw: c: 40.0 days, 9.00 million USD."


def test_slowness_alone_and_cost_alone_put_a_technology_aside() -> None:
    near = [Priced("a", 10, 2e6), Priced("b", 11, 2.2e6)]
    plot = cost_against_speed([*near, Priced("slow", 21, 2e6), Priced("dear", 10, 4.1e6)])  # type: ignore[list-item]
    assert plot.aside == (
        "Too far off to draw: slow: 21.0 days, 2.00 million USD; dear: 10.0 days, 4.10 million USD."
    )


def test_where_only_one_would_be_left_all_technologies_are_drawn() -> None:
    plot = cost_against_speed([Priced("a", 10, 2e6), Priced("c", 40, 9e6)])  # type: ignore[list-item]
    assert plot.x.bounds is None
    assert plot.aside == ""


def test_a_star_in_the_table_is_explained(page: str) -> None:
    assert "infiniband-ndr *" in page
    assert "* outside the range checked against measurements" in page
