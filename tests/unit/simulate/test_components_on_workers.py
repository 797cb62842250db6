"""Components of one run on the cores that seeds leave."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

import netloom as nl
from netloom.parts.load import load_catalog
from netloom.study.simulate import memory
from netloom.study.simulate.memory import Need, need_of
from netloom.study.simulate.run import case_of, run_case

if TYPE_CHECKING:
    import pytest

CATALOG = load_catalog()
RAILS = nl.load(
    {
        "cluster": {
            "gpus": 32,
            "node": "dgx-h100",
            "fabric": {"technology": "rocev2-400g", "topology": {"kind": "rail-only"}},
        },
        "traffic": [
            {"kind": "incast", "size": "2MB", "target": 0, "every": 8},
            {"kind": "incast", "size": "1MB", "target": 9, "first": 1, "every": 8},
            {"kind": "incast", "size": "3MB", "target": 2, "first": 2, "every": 8},
        ],
    }
)


def test_seeds_come_first_and_components_take_the_cores_that_are_left() -> None:
    case = case_of(RAILS, CATALOG)
    alone = run_case(case, seeds=range(2))
    beside = run_case(case, seeds=range(2), num_workers=5)
    # Three rails; of five threads each of two seeds has two.
    assert [run.delivery.num_components for run in beside.runs] == [3, 3]
    assert [run.delivery.num_parts for run in alone.runs] == [1, 1]
    assert [run.delivery.num_parts for run in beside.runs] == [2, 2]
    for one, other in zip(alone.runs, beside.runs, strict=True):
        assert one.delivery.num_draws > 0
        np.testing.assert_array_equal(one.delivery.finish_ps, other.delivery.finish_ps)
        np.testing.assert_array_equal(one.delivery.link_bytes, other.delivery.link_bytes)
        assert one.delivery.counters == other.delivery.counters
        assert one.delivery.notes == other.delivery.notes


def test_the_whole_run_is_told_by_the_thread_that_asked_for_it() -> None:
    told: list[tuple[int, int]] = []
    shares: list[float] = []

    def on_progress(simulated_ps: int, events: int) -> bool:
        assert threading.current_thread() is threading.main_thread()
        told.append((simulated_ps, events))
        return False

    case = case_of(RAILS.model_copy(update={"traffic": _larger(60)}), CATALOG)
    run = run_case(case, num_workers=2, on_progress=on_progress, on_share=shares.append).first
    assert run.delivery.num_parts == 2
    assert told == sorted(told)
    assert shares == sorted(shares)
    assert max(shares, default=0) <= 1
    assert max(told, default=(0, 0))[1] <= run.delivery.counters["events"]


def test_a_stop_ends_all_parts_and_says_how_far_they_were() -> None:
    case = case_of(RAILS.model_copy(update={"traffic": _larger(2000)}), CATALOG)
    found = run_case(case, num_workers=2, on_progress=lambda _ps, _events: True)
    assert found.partial
    assert any("least far" in note for note in found.notes)
    assert found.first.cut_off


def test_components_run_one_after_another_where_memory_has_no_room_for_a_second_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = case_of(RAILS, CATALOG)
    need = need_of(case.runner, case.traffic(0))
    # The check counts what is held already as there.
    least = need.peak_bytes() - need.held_bytes
    for have, parts in ((least + need.part_bytes - 1, 1), (least + need.part_bytes, 2)):
        monkeypatch.setattr(memory, "available_bytes", lambda have=have: have)
        assert run_case(case, num_workers=2).first.delivery.num_parts == parts


def test_parts_add_up() -> None:
    need = Need(fixed_bytes=100, run_bytes=50, kept_bytes=10, part_bytes=30)
    # Two runs at a time, 200 bytes; three parts each are four more networks, 120 bytes.
    assert need.most_parts(320, num_runs=2, num_workers=6) == 3
    assert need.most_parts(319, num_runs=2, num_workers=6) == 2
    assert need.most_parts(1000, num_runs=2, num_workers=5) == 2
    assert need.most_parts(1000, num_runs=8, num_workers=4) == 1


def _larger(times: int) -> tuple[object, ...]:
    assert RAILS.traffic is not None
    return tuple(
        piece.model_copy(update={"size_bytes": piece.size_bytes * times})  # type: ignore[union-attr]
        for piece in RAILS.traffic
    )
