"""A prediction in a terminal: bars keep their proportions however narrow it is."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import netloom as nl
from netloom.report.predict import prediction_text


@pytest.mark.parametrize("columns", [80, 100])
def test_bars_are_shares_of_the_room_there_is(columns: int) -> None:
    found = nl.predict(nl.example("gpt3-175b-1k"))
    file = StringIO()
    Console(width=columns, file=file).print(prediction_text(found))
    lines = file.getvalue().splitlines()
    compute = next(line for line in lines if line.startswith("compute"))
    tensor = next(line for line in lines if line.startswith("exposed tensor"))
    step = found.step
    assert "\N{HORIZONTAL ELLIPSIS}" not in file.getvalue()
    room = compute.count("#") / (step.compute_s / step.duration_s)
    exposed_s = found.to_json()["breakdown_s"]["exposed_tensor"]
    assert tensor.count("#") == pytest.approx(room * exposed_s / step.duration_s, abs=1)
