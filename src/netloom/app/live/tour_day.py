"""Simulate the day of faults that ``netloom serve --example`` shows.

Faults are planted; what is stored are the ports' own words (link state, rate, symbol errors) and
the job's steps, and the cases come from the locator that a watch uses, run over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.app.designs import design_of
from netloom.app.watch.locating import Locator
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.observe.cases import cases_in
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.store import ObservationStore
from netloom.spec.example import example_text
from netloom.spec.load import parse
from netloom.study.predict.prediction import predict
from netloom.study.whatif.changes import changes_of
from netloom.study.whatif.failure import whatif

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from netloom.ops.observe.designed import Designed
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario

__all__ = ["DAY_S", "DAY_START_S", "TOUR", "TourDay", "simulated_day"]

TOUR: Final = "gpt3-175b-1k"
DAY_START_S: Final = 1_763_251_200.0  # 2025-11-16 00:00 UTC
DAY_S: Final = 86400.0
QUIET_S: Final = 1800.0  # between looks while nothing happens
BUSY_S: Final = 120.0
AFTER_S: Final = 1500.0  # a case closes within this: a window and three looks
ERRORS_PER_S: Final = 3.0
FLAP_S: Final = 90.0
HOUR_S: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """What goes wrong with which part, from when to when."""

    kind: str
    part: str
    start_s: float
    end_s: float

    def is_on(self, time_s: float) -> bool:
        """Whether it is there at a time."""
        return self.start_s <= time_s < self.end_s


@dataclass(slots=True)
class _TourClock:
    """A clock that stands where the simulation is; locating takes no time in it."""

    time_s: float = 0.0

    def now_s(self) -> float:
        return self.time_s

    def ticks_s(self) -> float:
        return self.time_s

    def wait(self, wait_s: float) -> bool:
        self.time_s += wait_s
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TourDay:
    """What a watch would have stored of the day.

    Attributes:
        changes: Time, source, part, metric and value, in the order of time; what does not change
            is not told again.
        looks: When the watch looked.
        cases: The locator's, as the store has them.
    """

    changes: tuple[tuple[float, str, str, str, float], ...]
    looks: tuple[float, ...]
    cases: tuple[dict[str, Any], ...]


def simulated_day(folder: Path, *, on_progress: OnProgress | None = None) -> TourDay:
    """Return the day, with the cases that the locator of a watch finds in it.

    Args:
        folder: For the store that the locator works on.
        on_progress: Told how many looks are made, and how many there are.
    """
    scenario = parse(example_text(TOUR), name=TOUR)
    designed = design_of(scenario)
    path = folder / "day.db"
    changes = _record(path, scenario, designed, on_progress or (lambda *_: None))
    cases = cases_in(path, start_s=0.0)
    return TourDay(
        changes=changes,
        looks=tuple(_look_times(_faults(designed))),
        cases=tuple(one.to_json() for one in cases),
    )


def _faults(designed: Designed) -> tuple[PlantedFault, ...]:
    """Return the day's faults; parts are those that this design has."""
    switched = [
        cable
        for cable in designed.plant.cables
        if designed.plant.devices[cable.lower.device].role == "switch"
    ]
    names = [f"cable:{switched[i * len(switched) // 7].number}" for i in range(7)]
    host, other_host = (f"cable:{designed.plant.cables[at].number}" for at in (11, 500))
    hours = [
        ("down", names[1], 2.2, 3.0),
        ("down", "spine:7", 5.5, 6.1),
        ("errors", names[2], 8.0, 10.0),
        ("flapping", names[3], 11.3, 11.7),
        ("slow", names[4], 14.0, 15.5),
        ("down", host, 17.0, 17.4),
        ("down", names[5], 21.75, 30.0),
        ("errors", names[6], 22.3, 30.0),
        ("slow", other_host, 23.0, 30.0),
    ]
    return tuple(
        PlantedFault(
            kind=kind,
            part=part,
            start_s=DAY_START_S + first * HOUR_S,
            end_s=DAY_START_S + last * HOUR_S,
        )
        for kind, part, first, last in hours
    )


def _record(
    path: Path, scenario: Scenario, designed: Designed, on_progress: Callable[[int, int], object]
) -> tuple[tuple[float, str, str, str, float], ...]:
    faults = _faults(designed)
    times = _look_times(faults)
    steps = _steps(scenario, faults)
    clock = _TourClock()
    known: dict[tuple[str, str], float] = {}
    changes: list[tuple[float, str, str, str, float]] = []
    with ObservationStore(path) as store:
        locator = _locator(store, designed, clock)
        for done, time_s in enumerate(times):
            clock.time_s = time_s
            step = Observation(time_s, "job:gpt3", "step_s", steps(time_s))
            for source, seen in (
                ("subnet", tuple(_ports(designed, faults, time_s))),
                ("job", (step,)),
            ):
                store.add(Reading(source=source, time_s=time_s, observations=seen, is_whole=True))
                for one in seen:
                    if known.get((one.part, one.metric)) != one.value:
                        known[one.part, one.metric] = one.value
                        changes.append((time_s, source, one.part, one.metric, one.value))
            locator(time_s)
            on_progress(done + 1, len(times))
    return tuple(changes)


def _locator(store: ObservationStore, designed: Designed, clock: _TourClock) -> Locator:
    return Locator(
        store=store,
        network=DesignedNetwork(
            fabric=designed.fabric, plant=designed.plant, rate_bps=lambda c: c.rate_bps
        ),
        technology=designed.network.technology,
        collectors=(),
        clock=clock,
        log=lambda *_, **__: None,
        say=lambda _: None,
    )


def _look_times(faults: Sequence[PlantedFault]) -> list[float]:
    """Return when to look: often while something changes, else now and then."""
    end_s = DAY_START_S + DAY_S
    times = {DAY_START_S + k * QUIET_S for k in range(int(DAY_S / QUIET_S))} | {end_s}
    for fault in faults:
        for edge_s in (fault.start_s, fault.end_s):
            times |= {edge_s + k * BUSY_S for k in range(int(AFTER_S / BUSY_S))}
        if fault.kind == "flapping":
            count = int((fault.end_s - fault.start_s) / FLAP_S)
            times |= {fault.start_s + k * FLAP_S for k in range(count)}
    return sorted(time_s for time_s in times if time_s <= end_s)


def _ports(
    designed: Designed, faults: Sequence[PlantedFault], time_s: float
) -> Iterator[Observation]:
    plant = designed.plant
    down, slow, errors = _troubled(designed, faults, time_s)
    for cable in plant.cables:
        is_up = cable.number not in down
        for port in cable.ends:
            name = plant.port_name(port)
            yield Observation(time_s, name, "link_up", float(is_up))
        yield Observation(
            time_s, plant.port_name(cable.upper), "symbol_errors", errors.get(cable.number, 0.0)
        )
        if cable.number in slow:
            yield Observation(time_s, f"cable:{cable.number}", "cable_slowdown", 2.0)


def _troubled(
    designed: Designed, faults: Sequence[PlantedFault], time_s: float
) -> tuple[set[int], set[int], dict[int, float]]:
    """Return the cables that are down and slow at a time, and the symbol errors of others."""
    down: set[int] = set()
    slow: set[int] = set()
    errors: dict[int, float] = {}
    for fault in faults:
        numbers = {cable.number for cable in designed.plant.find(fault.part)}
        since_s = min(time_s, fault.end_s) - fault.start_s
        flaps = fault.kind == "flapping" and int(since_s / FLAP_S) % 2 == 0
        if fault.is_on(time_s) and (fault.kind == "down" or flaps):
            down |= numbers
        if fault.is_on(time_s) and fault.kind == "slow":
            slow |= numbers
        if fault.kind == "errors" and since_s > 0:
            errors |= dict.fromkeys(numbers, float(round(ERRORS_PER_S * since_s)))
    return down, slow, errors


def _steps(scenario: Scenario, faults: Sequence[PlantedFault]) -> Callable[[float], float]:
    """Return the job's step at a time, by what is down and slow then."""
    known: dict[tuple[PlantedFault, ...], float] = {}

    def step_s(time_s: float) -> float:
        on = tuple(one for one in faults if one.is_on(time_s) and one.kind in {"down", "slow"})
        if on not in known:
            known[on] = _step_with(scenario, on)
        return known[on]

    return step_s


def _step_with(scenario: Scenario, on: Sequence[PlantedFault]) -> float:
    """Return the step with these faults; as it was where the job would have stopped."""
    if not on:
        return float(predict(scenario).to_json()["step_time_s"])
    found = whatif(
        scenario,
        changes_of(
            fail=[one.part for one in on if one.kind == "down"],
            slow=[f"{one.part}=2" for one in on if one.kind == "slow"],
        ),
    ).to_json()
    return float((found["after"] or found["before"])["step_time_s"])
