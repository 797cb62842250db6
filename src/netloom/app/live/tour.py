"""The tour: a simulated day of faults on 1,024 GPUs, as ``netloom serve --example`` shows it.

The day was simulated by :mod:`netloom.app.live.tour_day` and its cases were found by the locator of
a watch; ``tools/web/record_tour.py`` writes the file that is read here.
"""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from netloom.app.designs import design_of
from netloom.app.live.twin import LiveTwin
from netloom.fabric.part_id import PartId
from netloom.ops.observe.cases import Case, CaseChange, write_cases
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.store import ObservationStore
from netloom.spec.example import example_text
from netloom.spec.load import parse

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TOUR", "tour_twin"]

TOUR: Final = "gpt3-175b-1k"


def tour_twin(folder: Path) -> LiveTwin:
    """Return the recorded day; its store is laid out in *folder*."""
    text = example_text(TOUR)
    scenario = parse(text, name=TOUR)
    packed = files("netloom.app.live").joinpath("data", "tour.json.gz").read_bytes()
    day = json.loads(gzip.decompress(packed))
    store = folder / "tour.db"
    for old in folder.glob("tour.db*"):
        old.unlink()
    _lay_out(store, day)
    end_s = float(day["looks"][-1])
    return LiveTwin(
        name=f"{scenario.name}: a simulated day",
        text=text,
        designed=design_of(scenario),
        store=store,
        now=lambda: end_s,
        is_recorded=True,
    )


def _lay_out(path: Path, day: dict[str, Any]) -> None:
    with ObservationStore(path) as store:
        for (time_s, source), rows in groupby(day["changes"], key=lambda row: (row[0], row[1])):
            seen = tuple(Observation(time_s, part, metric, v) for _, _, part, metric, v in rows)
            store.add(Reading(source=source, time_s=time_s, observations=seen))
        last_s = day["looks"][-1]
        for source in ("subnet", "job"):
            store.add(Reading(source=source, time_s=last_s))
        cases = [_case(one) for one in day["cases"]]
        write_cases(store, CaseChange(cases=tuple(cases)))
        closed = tuple(case for case in cases if case.closed_s is not None)
        write_cases(store, CaseChange(cases=(), closed=closed))


def _case(row: dict[str, Any]) -> Case:
    return Case(
        part=PartId.parse(row["part"]),
        label=row["part"],
        kind=row["kind"],
        confidence=row["confidence"],
        magnitude=row["magnitude"],
        evidence=tuple(row["evidence"]),
        hurts=row["hurts"]["num_gpus"],
        opened_s=row["opened_s"],
        seen_s=row["seen_s"],
        closed_s=row["closed_s"],
    )
