"""What if, on the live state: one more fault beside those that are open."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from netloom.app.jobs.quick import QuickAnswers
from netloom.app.live.next_faults import likely_next, next_fault, with_part
from netloom.app.live.steps import StepForecasts
from netloom.app.live.tour import tour_twin
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.app.jobs.job import JobRequest
    from netloom.app.live.steps import Faults
    from netloom.app.live.twin import LiveTwin

WAIT_S = 120.0


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> LiveTwin:
    return tour_twin(tmp_path_factory.mktemp("tour"))


@pytest.fixture(scope="module")
def steps(twin: LiveTwin) -> Iterator[StepForecasts]:
    quick = QuickAnswers()
    yield StepForecasts(twin, quick)
    quick.close()


def _known(ask: Callable[[], Any]) -> Any:
    """Ask until nothing is null any more."""
    deadline_s = time.monotonic() + WAIT_S
    while "null" in json.dumps(found := ask()).replace('"step_s": null', ""):
        assert time.monotonic() < deadline_s
        time.sleep(0.1)
    return found


def test_one_more_part_is_added_to_what_is_broken() -> None:
    now = (("cable:1",), (), ("cable:2=2",))
    assert with_part(now, "leaf:0", "fail") == (("cable:1", "leaf:0"), (), ("cable:2=2",))
    assert with_part(now, "cable:2", "drain") == (("cable:1",), ("cable:2",), ())


def test_a_spine_that_fails_makes_the_step_longer_and_a_nic_cable_stops_the_job(
    twin: LiveTwin, steps: StepForecasts
) -> None:
    """A spine is one of many ways; the only cable of a NIC is the only way of its GPU."""
    spine = _known(lambda: next_fault(twin, steps, "spine:0"))
    assert spine["if_failed"]["step_s"] >= spine["step_now"]["step_s"] > 0
    cable = twin.cell(0)["parts"][0]
    alone = _known(lambda: next_fault(twin, steps, cable))
    assert alone["if_failed"]["step_s"] is None
    assert "the job stops" in alone["if_failed"]["why"]


def test_what_if_touches_nothing(twin: LiveTwin, steps: StepForecasts) -> None:
    before = twin.states().data
    next_fault(twin, steps, "leaf:0")
    assert twin.states().data == before


def test_ill_parts_and_a_switch_of_each_tier_are_kept_ready(
    twin: LiveTwin, steps: StepForecasts
) -> None:
    """Two open cases still work; the fabric has leaves and spines."""
    found = _known(lambda: likely_next(twin, steps))
    assert {"symbol errors", "wrong speed"} <= {one["because"] for one in found}
    assert {"leaf", "spine"} <= {one["part"].partition(":")[0] for one in found}


def test_an_unknown_part_is_refused(twin: LiveTwin, steps: StepForecasts) -> None:
    with pytest.raises(SpecError):
        next_fault(twin, steps, "leaf:9999")


def test_steps_that_wait_for_one_another_are_computed_not_refused(twin: LiveTwin) -> None:
    """A page asks for a dozen at once; the worker refuses more than four that wait."""
    waiting, most = [0], [0]

    class Slow(QuickAnswers):
        def ask(
            self, request: JobRequest, *, is_gone: Callable[[], bool] = lambda: False
        ) -> dict[str, Any]:
            waiting[0] += 1
            most[0] = max(most[0], waiting[0])
            time.sleep(0.02)
            waiting[0] -= 1
            return {"result": {"after": {"step_time_s": 1.0}, "step_time_s": 1.0}}

    quick = Slow()
    steps = StepForecasts(twin, quick)
    asked: list[Faults] = [((f"cable:{number}",), (), ()) for number in range(12)]
    found = _known(lambda: [one and one.to_json() for one in map(steps.find, asked)])
    assert [one["step_s"] for one in found] == [1.0] * 12
    assert most[0] == 1
    quick.close()
