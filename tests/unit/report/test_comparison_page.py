from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import netloom as nl
from netloom.report.compare.figures import cost_against_speed
from netloom.report.compare.page import comparison_page


class Loads(HTMLParser):
    """Collects what a page would fetch, and the scripts and styles that stand in it."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.plots: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.fetched += [named[key] or "" for key in ("src", "href", "data") if key in named]
        if named.get("class") == "plot":
            self.plots.append(named["id"] or "")


@pytest.fixture(scope="module")
def page() -> str:
    return comparison_page(nl.compare(nl.example().comparing(("infiniband-ndr", "rocev2-400g"))))


def test_the_page_fetches_nothing(page: str) -> None:
    found = Loads()
    found.feed(page)
    assert found.fetched == []
    assert "@import" not in page
    assert "url(http" not in page


def test_the_page_has_a_figure_for_each_place_that_waits_for_one(page: str) -> None:
    found = Loads()
    found.feed(page)
    data = re.search(r"const plots = (\{.*?\});\n", page)
    assert data is not None
    plots = json.loads(data[1])
    assert list(plots) == found.plots == ["scaling", "step", "cost", "latency"]
    assert all(figure["data"] and figure["layout"] for figure in plots.values())


def test_the_page_says_what_was_recommended_and_doubted(page: str) -> None:
    found = nl.compare(nl.example().comparing(("infiniband-ndr", "rocev2-400g")))
    assert f"<strong>{found.recommendation.technology}</strong>" in page
    assert "Doubts" in page
    assert "sources behind these numbers" in page


def test_a_name_cannot_end_the_script_or_the_markup_it_stands_in() -> None:
    nasty = "</script><img src=x onerror=alert(1)>"
    scenario = nl.example().comparing(("infiniband-ndr",)).model_copy(update={"name": nasty})
    page = comparison_page(nl.compare(scenario))
    found = Loads()
    found.feed(page)
    assert found.fetched == []
    assert nasty not in page


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
    layout = cost_against_speed([*near, far])["layout"]  # type: ignore[list-item]
    low, high = layout["xaxis"]["range"]
    assert low < math.log10(10)
    assert math.log10(11) < high < math.log10(12)
    assert layout["annotations"][0]["text"] == "not drawn:<br>c: 40.0 days, 9.00 million USD"


def test_where_only_one_would_be_left_all_technologies_are_drawn() -> None:
    layout = cost_against_speed([Priced("a", 10, 2e6), Priced("c", 40, 9e6)])["layout"]  # type: ignore[list-item]
    assert "range" not in layout["xaxis"]
    assert "annotations" not in layout


def test_a_star_in_the_table_is_explained(page: str) -> None:
    assert "infiniband-ndr *" in page
    assert "* outside the range checked against measurements" in page
