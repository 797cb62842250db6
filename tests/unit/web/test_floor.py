"""Racks on the floor: every cell ends in two of them, as the audit names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.app.live.tour import tour_twin

if TYPE_CHECKING:
    from netloom.app.live.twin import LiveTwin


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> LiveTwin:
    return tour_twin(tmp_path_factory.mktemp("floor"))


def test_each_cell_ends_in_the_racks_of_its_two_devices(twin: LiveTwin) -> None:
    plan, plant, racks = twin.floor, twin.designed.plant, twin.designed.racks
    by_number = {cable.number: cable for cable in plant.cables}
    for cell in range(0, len(twin.cells.layout.cables), 97):
        cable = by_number[int(twin.cells.layout.cables[cell])]
        named = {racks[plant.devices[port.device].name] for port in cable.ends}
        assert {plan.names[rack] for rack in plan.ends[cell].tolist()} == named


def test_no_two_racks_stand_in_one_place(twin: LiveTwin) -> None:
    plan = twin.floor
    places = set(zip(plan.x_m.tolist(), plan.y_m.tolist(), strict=True))
    assert len(places) == len(plan.names) == len(set(plan.names))


def test_eight_bytes_a_cell_travel(twin: LiveTwin) -> None:
    plan = twin.floor
    found = np.frombuffer(plan.to_bytes(), dtype="<u4").reshape(-1, 2)
    assert np.array_equal(found, plan.ends)
    assert len(found) == len(twin.cells.layout.cables)
    told = plan.to_json()
    assert len(told["racks"]) == len(told["x_m"]) == len(told["y_m"]) > int(found.max())
