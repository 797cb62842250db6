"""One watched fabric as a page sees it: its cells, its cases, its past."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.app.live.floor import FloorPlan, floor_plan
from netloom.app.live.ports import PortLoads, PortStates
from netloom.app.live.states import SEVERITY, CableState, CellBytes, CellMap, marked, state_of_kind
from netloom.errors import SpecError
from netloom.ops.observe.cases import cases_in
from netloom.ops.observe.past import Past

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from netloom.ops.observe.cases import Case
    from netloom.ops.observe.designed import Designed

__all__ = ["LiveTwin", "case_name"]

STALE_S: Final = 60.0
HISTORY_S: Final = 86400.0
MAX_BINS: Final = 1440
MAX_CASES: Final = 1000
STEP_METRIC: Final = "step_s"


def case_name(case: Case) -> str:
    """Return what tells a case from all others, as an address can hold it."""
    text = f"{case.part}|{case.kind}|{round(case.opened_s * 1e6)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(kw_only=True, eq=False)
class LiveTwin:
    """A design beside what a watch stored of it.

    Attributes:
        name: What it is called.
        text: The scenario.
        designed: The same as a network.
        store: The watch's file.
        now: The time; of a recorded day, its end.
        is_recorded: Whether it is a recorded past, which is never stale.
        stale_s: After how long without a look the watch is held to be dead.
    """

    name: str
    text: str
    designed: Designed
    store: Path
    now: Callable[[], float]
    is_recorded: bool = False
    stale_s: float = STALE_S
    cells: CellMap = field(init=False)

    def __post_init__(self) -> None:
        self.cells = CellMap(self.designed)

    @cached_property
    def past(self) -> Past:
        """The store, read-only."""
        return Past(self.store)

    @cached_property
    def floor(self) -> FloorPlan:
        """The racks that its cells lead between."""
        return floor_plan(self.designed, self.cells.layout)

    @cached_property
    def port_states(self) -> PortStates:
        """The states of its cells."""
        return PortStates(Past(self.store), self.cells)

    @cached_property
    def port_loads(self) -> PortLoads:
        """The loads of its cells; on a connection of their own, for they take longer."""
        return PortLoads(Past(self.store), self.cells)

    def status(self) -> dict[str, Any]:
        """Return how the watch is, and when it saw what is shown."""
        now_s = self.now()
        polls = self.past.last_polls(now_s)
        last_s = max((time_s for _, time_s, _ in polls), default=None)
        sources = [
            {
                "source": name,
                "fresh": self.is_recorded or now_s - time_s <= self.stale_s,
                "error": error,
                "age_s": round(now_s - time_s, 3),
            }
            for name, time_s, error in polls
        ]
        if self.is_recorded:
            word = "ok"
        elif last_s is None or now_s - last_s > self.stale_s:
            word = "stale"
        else:
            word = "ok" if all(one["fresh"] and not one["error"] for one in sources) else "partial"
        return {
            "name": self.name,
            "status": word,
            "recorded": self.is_recorded,
            "now_s": now_s,
            "time_s": last_s,
            "sequence": 0 if last_s is None else round(last_s * 1000),
            "sources": sources,
            "num_cells": len(self.cells.layout.cables),
            "step_s": self._measured_step(now_s),
        }

    def states(self, at_s: float | None = None, *, wait_s: float | None = None) -> CellBytes:
        """Return the state and the load of every cell, in the layout's order.

        Args:
            at_s: When; default: now.
            wait_s: How long loads may take, which need many more rows; default: as they do.
        """
        time_s = self.now() if at_s is None else at_s
        seen_s = self._seen_s(time_s)
        ports = self.port_states.at(seen_s)
        found = marked(
            ports,
            [(self.cells.cells_of(c.part), state_of_kind(c.kind)) for c in self.open_at(time_s)],
        )
        loads: NDArray[np.uint8] | None = (
            self.port_loads.at(seen_s)
            if wait_s is None
            else self.port_loads.soon(seen_s, wait_s=wait_s)
        )
        return CellBytes.of(found, loads, is_seen=ports != CableState.UNKNOWN)

    def warm(self) -> None:
        """Read what the next page will ask for."""
        seen_s = self._seen_s(self.now())
        self.port_states.at(seen_s)
        self.port_loads.at(seen_s)

    def cases(self, at_s: float | None = None) -> list[dict[str, Any]]:
        """Return the cases of the last day, open ones first and the surest of them first."""
        time_s = self.now() if at_s is None else at_s
        known = [case for case in self._known(time_s - HISTORY_S) if case.opened_s <= time_s]
        found = [self.case_json(case, time_s) for case in known]
        found.sort(key=lambda one: (one["closed_s"] is not None, -one["confidence"]))
        return found[:MAX_CASES]

    def case(self, name: str) -> Case:
        """Return the case of that name.

        Raises:
            SpecError: there is none.
        """
        for case in self._known(0.0):
            if case_name(case) == name:
                return case
        raise SpecError(key="case", what="there is no such case", remedy="go back to Live")

    def case_json(self, case: Case, at_s: float) -> dict[str, Any]:
        """Return a case as a page shows it at a time."""
        closed_s = case.closed_s if case.closed_s is not None and case.closed_s <= at_s else None
        return case.to_json() | {
            "case": case_name(case),
            "state": CableState(state_of_kind(case.kind)).name.lower(),
            "closed_s": closed_s,
            "cells": self.cells.cells_of(case.part),
        }

    def evidence(self, case: Case) -> list[dict[str, Any]]:
        """Return the series of the ports of a case, around the time it was opened."""
        start_s, end_s = case.opened_s - 3600, min(self.now(), (case.closed_s or self.now()) + 1800)
        ports = [
            port
            for port, cell in self.cells.cell_of_port.items()
            if cell in set(self.cells.cells_of(case.part)[:2])
        ]
        found = []
        for part in [str(case.part), *ports[:4]]:
            for metric in self.past.metrics_of(part):
                times, values = self.past.series(part, metric, start_s, end_s)
                if len({value for value in values if value is not None}) > 1:
                    # A value holds until the next is written: the first from the start of what is
                    # shown on, the last to its end.
                    at_s = [max(times[0], start_s), *times[1:], max(end_s, times[-1])]
                    held = [*values, values[-1]]
                    found.append({"part": part, "metric": metric, "time_s": at_s, "value": held})
        return found[:8]

    def strips(self, *, hours: float = 24.0, bins: int = 288) -> dict[str, Any]:
        """Return the worst state of each pod over time."""
        end_s = self.now()
        span = self.past.span_s() or (end_s, end_s)
        start_s = max(end_s - hours * 3600, span[0])
        num_bins = max(1, min(bins, MAX_BINS))
        pods = self._pod_of_cell()
        worst = np.zeros((len(self.cells.layout.pods), num_bins), dtype=np.uint8)
        for cells, state, first_s, last_s in self._troubles(start_s, end_s):
            ends = [
                int((time_s - start_s) / max(end_s - start_s, 1e-9) * num_bins)
                for time_s in (first_s, last_s)
            ]
            first, last = max(0, ends[0]), min(num_bins - 1, ends[1])
            for pod in set(pods[cells].tolist()):
                part = worst[pod, first : last + 1]
                part[SEVERITY[part] < SEVERITY[state]] = state
        used = sorted(set(pods.tolist()))
        return {
            "from_s": start_s,
            "to_s": end_s,
            "bins": num_bins,
            "rows": [
                {"title": self.cells.layout.pods[pod], "worst": worst[pod].tolist()} for pod in used
            ],
        }

    def cell(self, number: int) -> dict[str, Any]:
        """Return what one cell is: its cable, and what is known of its ports now.

        Raises:
            SpecError: there is no such cell.
        """
        cables = self.cells.layout.cables
        if not 0 <= number < len(cables):
            raise SpecError(key="cell", what="there is no such cell", remedy="load the page again")
        plant = self.designed.plant
        cable = plant.find(f"cable:{int(cables[number])}")[0]
        now_s = self.now()
        ports = [plant.port_name(port) for port in cable.ends]
        return {
            "cell": number,
            "cable": plant.cable_name(cable),
            "parts": [
                f"cable:{cable.number}",
                *(plant.devices[port.device].name for port in cable.ends),
            ],
            "rate_bps": cable.rate_bps,
            "ports": [
                {
                    "port": port,
                    "values": {
                        metric: (self.past.series(port, metric, now_s, now_s)[1] or [None])[-1]
                        for metric in self.past.metrics_of(port)
                    },
                }
                for port in ports
            ],
        }

    def open_at(self, at_s: float) -> list[Case]:
        """Return the cases that were open at a time."""
        return [
            case
            for case in self._known(at_s)
            if case.opened_s <= at_s and (case.closed_s is None or case.closed_s > at_s)
        ]

    def _known(self, start_s: float) -> Sequence[Case]:
        return cases_in(self.store, start_s=start_s)

    def _seen_s(self, at_s: float) -> float:
        """Return when a watch last looked before a time: until the next, all is as it was."""
        last_s = self.past.last_poll_s(at_s)
        return at_s if last_s is None else last_s

    def _measured_step(self, at_s: float) -> float | None:
        steps = list(self.past.values_at(STEP_METRIC, at_s).values())
        return max(steps) if steps else None

    def _pod_of_cell(self) -> NDArray[np.int64]:
        blocks = self.cells.layout.blocks
        lengths = [sum(block.lengths) for block in blocks]
        return np.repeat([block.pod for block in blocks], lengths)

    def _troubles(
        self, start_s: float, end_s: float
    ) -> list[tuple[list[int], CableState, float, float]]:
        """Return what was wrong from when to when: cases, and links that were down."""
        found = [
            (self.cells.cells_of(c.part), state_of_kind(c.kind), c.opened_s, c.closed_s or end_s)
            for c in self._known(start_s)
        ]
        down = dict.fromkeys(self.past.parts_with("link_up", 0.0, start_s), start_s)
        for time_s, part, value in self._spells(start_s, end_s, down):
            if value == 0:
                down.setdefault(part, time_s)
            elif part in down:
                found.append(self._down(part, down.pop(part), time_s))
        found += [self._down(part, since_s, end_s) for part, since_s in down.items()]
        return [one for one in found if one[0]]

    def _spells(
        self, start_s: float, end_s: float, down: dict[str, float]
    ) -> list[tuple[float, str, float | None]]:
        """Return what ports said that were down at the start or later, in the order of time."""
        found = self.past.spells("link_up", 1.0, start_s, end_s)
        others = set(down) - {part for _, part, _ in found}
        for part in others:
            times, values = self.past.series(part, "link_up", start_s, end_s)
            found += [
                (time_s, part, value)
                for time_s, value in zip(times, values, strict=True)
                if time_s > start_s
            ]
        return sorted(found, key=lambda row: row[0])

    def _down(
        self, port: str, first_s: float, last_s: float
    ) -> tuple[list[int], CableState, float, float]:
        cell = self.cells.cell_of_port.get(port)
        return ([] if cell is None else [cell]), CableState.DOWN, first_s, last_s
