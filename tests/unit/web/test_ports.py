"""States and loads of cables from what their ports said, at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.app.designs import design_of
from netloom.app.live.ports import PortLoads, PortStates
from netloom.app.live.states import CableState, CellMap
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.past import Past
from netloom.ops.observe.store import ObservationStore
from netloom.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FABRIC = {"cluster": {"nodes": 4, "node": "dgx-h100", "fabric": {"technology": "infiniband-ndr"}}}
EVERY_S = 10.0


@pytest.fixture(scope="module")
def cells() -> CellMap:
    return CellMap(design_of(load(FABRIC)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObservationStore]:
    with ObservationStore(tmp_path / "watch.db") as found:
        yield found


def _ends(cells: CellMap, cell: int) -> tuple[str, str]:
    plant = cells.designed.plant
    (cable,) = plant.find(f"cable:{int(cells.layout.cables[cell])}")
    one, other = (plant.port_name(port) for port in cable.ends)
    return one, other


def _look(store: ObservationStore, at_s: float, **values: dict[str, float]) -> None:
    """Store one look: metric to part to value."""
    seen = [
        Observation(at_s, part, metric, value)
        for metric, parts in values.items()
        for part, value in parts.items()
    ]
    store.add(Reading(source="subnet", time_s=at_s, observations=tuple(seen), is_whole=True))


def _at(kind: type[PortStates | PortLoads], store: ObservationStore, cells: CellMap):  # type: ignore[no-untyped-def]
    return kind(Past(store.path), cells)


def test_a_cable_is_up_down_drained_or_unknown_by_its_ports(
    store: ObservationStore, cells: CellMap
) -> None:
    up, down, drained = (_ends(cells, cell)[0] for cell in range(3))
    _look(
        store,
        100.0,
        link_up={up: 1.0, down: 0.0, drained: 1.0},
        admin_up={up: 1.0, drained: 0.0},
    )
    found = _at(PortStates, store, cells).at(100.0)
    assert found[:4].tolist() == [
        CableState.UP,
        CableState.DOWN,
        CableState.DRAINED,
        CableState.UNKNOWN,
    ]


def test_a_port_that_a_look_no_longer_tells_of_is_unknown(
    store: ObservationStore, cells: CellMap
) -> None:
    port = _ends(cells, 0)[0]
    other = _ends(cells, 1)[0]
    _look(store, 100.0, link_up={port: 1.0, other: 1.0})
    _look(store, 110.0, link_up={other: 1.0})
    states = _at(PortStates, store, cells)
    assert states.at(105.0)[0] == CableState.UP
    assert states.at(110.0)[0] == CableState.UNKNOWN


def test_load_is_the_bytes_between_two_looks_over_the_rate(
    store: ObservationStore, cells: CellMap
) -> None:
    """A quarter of the rate for ten seconds is 1 + 254/4 = 64.5, which rounds to 64."""
    port = _ends(cells, 0)[0]
    quarter = 0.25 * cells.rate_bps[0] / 8 * EVERY_S
    _look(store, 100.0, sent_bytes={port: 5.0})
    _look(store, 110.0, sent_bytes={port: 5.0 + quarter})
    loads = _at(PortLoads, store, cells)
    assert loads.at(110.0)[0] == 1 + np.rint(254 / 4)
    assert loads.at(105.0)[0] == 0  # one look alone says nothing
    assert loads.at(110.0)[1] == 0  # nor does none


def test_the_busier_direction_counts_and_the_peer_speaks_for_a_silent_port(
    store: ObservationStore, cells: CellMap
) -> None:
    one, other = _ends(cells, 0)
    (lone, _) = _ends(cells, 1)
    full = cells.rate_bps[0] / 8 * EVERY_S
    _look(store, 100.0, sent_bytes={one: 0.0, other: 0.0}, received_bytes={lone: 0.0})
    _look(store, 110.0, sent_bytes={one: full / 2, other: full}, received_bytes={lone: full / 2})
    found = _at(PortLoads, store, cells).at(110.0)
    assert found[:2].tolist() == [255, 128]


def test_a_counter_that_stood_still_is_idle_and_one_that_went_back_is_unknown(
    store: ObservationStore, cells: CellMap
) -> None:
    still, reset = (_ends(cells, cell)[0] for cell in range(2))
    for at_s, value in ((100.0, 9e9), (110.0, 9e9), (120.0, 1e3)):
        _look(store, at_s, sent_bytes={still: 7.0, reset: value})
    found = _at(PortLoads, store, cells).at(120.0)
    assert found[:2].tolist() == [1, 0]


def test_a_counter_that_moved_after_an_hour_of_rest_is_measured_since_the_last_look(
    store: ObservationStore, cells: CellMap
) -> None:
    """A value that does not change is not written again: the rest is no part of the span."""
    port = _ends(cells, 0)[0]
    for look in range(60):
        _look(store, 100.0 + look * EVERY_S, sent_bytes={port: 7.0})
    full = cells.rate_bps[0] / 8 * EVERY_S
    _look(store, 700.0, sent_bytes={port: 7.0 + full})
    assert _at(PortLoads, store, cells).at(700.0)[0] == 255


def test_series_that_come_later_are_seen(store: ObservationStore, cells: CellMap) -> None:
    one, other = _ends(cells, 0)[0], _ends(cells, 1)[0]
    _look(store, 100.0, link_up={one: 1.0})
    states = _at(PortStates, store, cells)
    assert states.at(100.0)[1] == CableState.UNKNOWN
    _look(store, 110.0, link_up={one: 1.0, other: 1.0})
    assert states.at(110.0)[1] == CableState.UP


def test_loads_that_take_long_come_later(store: ObservationStore, cells: CellMap) -> None:
    port = _ends(cells, 0)[0]
    _look(store, 100.0, sent_bytes={port: 0.0})
    _look(store, 110.0, sent_bytes={port: 0.0})
    loads = _at(PortLoads, store, cells)
    found = loads.soon(110.0, wait_s=60.0)
    assert found is not None
    assert found[0] == 1
