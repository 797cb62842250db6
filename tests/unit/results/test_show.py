"""What a notebook is given to draw."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

import netloom as nl
from netloom.results.notebook import MAX_BYTES, inline_result
from netloom.results.table import Table


def _data(text: str) -> Any:
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', text)[1])  # type: ignore[index]
    return json.loads(re.search(r'id="netloom-data">(.*?)</script>', page)[1])  # type: ignore[index]


def test_a_result_is_drawn_from_the_keys_of_its_json() -> None:
    found = nl.predict(nl.example("gpt3-175b-1k"))
    told = _data(nl.show(found).html)
    assert told["result"]["step_time_s"] == found.to_json()["step_time_s"]
    assert _data(found._repr_html_()) == told  # and by itself, as the last thing of a cell


def test_the_cables_of_a_fabric_have_the_states_that_were_given_to_them() -> None:
    fabric = nl.build(nl.example("gpt3-175b-1k"))
    num_leaf = len(
        [one for one in _data(nl.show(nl.fail(fabric, "leaf:0")).html)["fabric"]["states"] if one]
    )
    assert num_leaf == 40  # a leaf of 40 ports: 20 cables down, 20 up
    drained = _data(nl.show(nl.drain(fabric, "leaf:0")).html)["fabric"]["states"]
    assert (drained.count(5), drained.count(0)) == (40, len(drained) - 40)
    slowed = _data(nl.show(nl.slow(fabric, "leaf:0", 2)).html)["fabric"]["states"]
    assert slowed.count(2) == 40


@dataclass
class Hostile:
    """A result with text of a stranger."""

    name: str

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name}

    def table(self) -> Table:
        return Table.from_rows([{"name": self.name}])


def test_text_of_strangers_stays_text() -> None:
    evil = '</script><script>alert(1)</script>"><img src=x onerror=alert(1)>'
    shown = nl.show(Hostile(evil)).html
    assert _data(shown)["result"]["name"] == evil
    outside = re.sub(r'srcdoc="[^"]*"', "", shown)
    assert "<script" not in outside
    assert "<img" not in outside
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])  # type: ignore[index]
    assert page.count("<script") == 2  # the data, and our own
    assert 'sandbox="allow-scripts allow-downloads"' in shown


def test_what_is_too_large_for_a_notebook_stays_a_table() -> None:
    told = {"command": "x", "result": {"text": "y" * MAX_BYTES}}
    assert inline_result(told, table="<table></table>") == "<table></table>"


def test_an_address_is_a_frame_of_that_page_and_nothing_else_is() -> None:
    shown = nl.show("http://localhost:8787/live?view=matrix&pod=1").html
    assert 'src="http://localhost:8787/live?view=matrix&amp;pod=1"' in shown
    for wrong in ("javascript:alert(1)", "file:///etc/passwd", "live"):
        with pytest.raises(nl.SpecError):
            nl.show(wrong)
    with pytest.raises(nl.SpecError):
        nl.show(3)  # type: ignore[arg-type]
