"""Where the time of a step goes that was run packet by packet."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.study.packet_step.program import COMPUTE, OPTIMIZER
from netloom.study.simulate.step_run import StepPhase, StepRun
from netloom.units import TIME, format_quantity
from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.step.model import Step
    from netloom.step.schedule import Traffic
    from netloom.study.packet_step.program import StepOperation
    from netloom.study.packet_step.unrolled import StepWork
    from netloom.workload.transfers import Transfers

__all__ = ["StepMeasure"]

_S: Final = 1e-12
_BUBBLE: Final = "bubble"
_CLOSE: Final = 0.001  # of the step: what differs by less needs no reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepMeasure:
    """Tells the phases of a step from what became of its transfers and computations.

    Attributes:
        work: What was run.
        step: What was predicted.
        traffic: With how long each collective takes in closed form.
    """

    work: StepWork
    step: Step
    traffic: Traffic

    def __call__(self, transfers: Transfers, delivery: Delivery) -> StepRun:
        """Return the phases of the GPUs that compute longest and, of these, end last."""
        arrive_ps = delivery.tables["arrivals"]["arrive_ps"].astype(np.int64)
        stage, unit = self._slowest(arrive_ps)
        books = _Books(self.work, stage, unit, arrive_ps, delivery.start_ps)
        books.fill()
        books.add(_BUBBLE, int(arrive_ps.max()) - books.until_ps)
        work = self.work
        return StepRun(
            phases=tuple(
                StepPhase(
                    name=name,
                    predicted_s=float(predicted_s),
                    packets_s=books.spent_ps.get(name, 0) * _S,
                    why=self._why(name, float(predicted_s), books),
                )
                for name, predicted_s in self.step.breakdown_s().items()
            ),
            stage=stage,
            first_gpu=stage * work.plan.stage_gpus + unit * work.unit_gpus,
            num_gpus=work.unit_gpus,
            num_computations=int(np.count_nonzero(transfers.size_bytes == 0)),
        )

    def _slowest(self, arrive_ps: NDArray[np.int64]) -> tuple[int, int]:
        found: list[tuple[int, int, int, int]] = []
        units = np.arange(self.work.num_units)
        for program, first in zip(self.work.programs, self.work.first, strict=True):
            local = [place for place, one in enumerate(program.operations) if one.is_local]
            rows = first[local][:, None] + units
            busy_ps = self.work.dag.delay_ps[rows].sum(axis=0)
            ends_ps = arrive_ps[rows].max(axis=0)
            best = int(np.lexsort((ends_ps, busy_ps))[-1])
            found.append((int(busy_ps[best]), int(ends_ps[best]), -program.stage, best))
        _, _, stage, unit = max(found)
        return -stage, unit

    def _why(self, name: str, predicted_s: float, books: _Books) -> str:
        """Return why a phase takes another time in packets, from what was seen."""
        packets_s = books.spent_ps.get(name, 0) * _S
        if abs(packets_s - predicted_s) < _CLOSE * self.step.duration_s:
            return ""
        seen = [self._seen(axis, books) for axis in Axis if name == f"exposed_{axis.value}"]
        return "; ".join(reason for reason in (_FIXED.get(name, ""), *seen) if reason)

    def _seen(self, axis: Axis, books: _Books) -> str:
        taken = books.took_ps.get(axis.value)
        if not taken:
            return ""
        mean_s = float(np.mean(taken)) * _S
        alone = [
            self.traffic.time_s(item)
            for program in self.work.programs
            for item in dict.fromkeys(one.item for one in program.operations)
            if item is not None and item.axis is axis
        ]
        told, closed = (format_quantity(value, TIME) for value in (mean_s, float(np.mean(alone))))
        drag = self.traffic.practice.drag
        beside = f"; the closed form also slows computation by {drag:.0%} beside it" if drag else ""
        return f"one took {told} from ready to done, in closed form {closed}{beside}"


_FIXED: Final[Mapping[str, str]] = {
    COMPUTE: "a straggler computes longer than the closed form's slowest rank",
    _BUBBLE: "packets run the passes in their order, and what waits for other stages counts here",
    "exposed_pipeline": (
        "packets expose a hop only where its receiver would have been ready; the closed form lets "
        "every hop of the schedule wait as the software is known to"
    ),
    "exposed_context": "packets go round the ring without what the library costs at each hop",
    "exposed_data": "packets share NICs and links with all else that is sent at the time",
}


@dataclass(slots=True)
class _Books:
    """The time of one unit, spent bit by bit."""

    work: StepWork
    stage: int
    unit: int
    arrive_ps: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    until_ps: int = 0
    spent_ps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    took_ps: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, time_ps: int) -> None:
        self.spent_ps[name] += time_ps

    def fill(self) -> None:
        """Go through the unit's computations in the order of their beginnings.

        What runs beside computation that begins with it counts for what it goes beyond.
        """
        operations = self.work.programs[self.stage].operations
        first = self.work.first[self.stage]
        rows = []
        for place, one in enumerate(operations):
            if one.is_local:
                row = int(first[place]) + self.unit
                end_ps = int(self.arrive_ps[row])
                begin_ps = end_ps - int(self.work.dag.delay_ps[row])
                rows.append((begin_ps, COMPUTE not in one.times_s, end_ps, place))
            elif not one.is_receipt and not self._is_hop(one):
                self._took(place, one)
        for begin_ps, _, end_ps, place in sorted(rows):
            if begin_ps > self.until_ps:
                self._wait(operations[place], begin_ps - self.until_ps)
                self.until_ps = begin_ps
            self._spend(operations[place], end_ps - max(begin_ps, self.until_ps), end_ps - begin_ps)
            self.until_ps = max(self.until_ps, end_ps)

    def _spend(self, one: StepOperation, time_ps: int, whole_ps: int) -> None:
        """Book what of an operation nothing else covered; a straggler's rest is computation."""
        if time_ps <= 0:
            return
        left_ps = time_ps
        for name, part_s in one.times_s.items():
            if name not in {COMPUTE, OPTIMIZER}:
                share_ps = round(part_s / _S * time_ps / whole_ps)
                self.add(f"exposed_{name}", share_ps)
                left_ps -= share_ps
        self.add(OPTIMIZER if OPTIMIZER in one.times_s else COMPUTE, left_ps)

    def _wait(self, one: StepOperation, gap_ps: int) -> None:
        """Give what the unit waited to what it waited for last."""
        last = max(one.after, key=self._when, default=None)
        if last is None:
            self.add(_BUBBLE, gap_ps)
            return
        before = self.work.programs[self.stage].operations[last]
        if before.is_receipt:
            hop_ps = min(gap_ps, self._hop_ps(before))
            name = "exposed_pipeline" if self._is_hop(before) else "exposed_context"
            self.add(name, hop_ps)
            self.add(_BUBBLE, gap_ps - hop_ps)
        elif before.item is not None:
            self.add(f"exposed_{before.item.axis.value}", gap_ps)
        else:
            self.add(_BUBBLE, gap_ps)

    def _when(self, place: int) -> int:
        """Return when an operation was over on the unit."""
        one = self.work.programs[self.stage].operations[place]
        if one.is_receipt:
            return int(self.arrive_ps[self._messages(one)].max())
        if one.item is None:
            return int(self.arrive_ps[int(self.work.first[self.stage][place]) + self.unit])
        if one.tag >= 0:
            return int(self.arrive_ps[self.work.sent_by(self.stage, place, self.unit)].max())
        return int(self.arrive_ps[self.work.end_of(self.stage, place) + self.unit])

    def _messages(self, receipt: StepOperation) -> NDArray[np.int64]:
        return self.work.received(self.stage, receipt.tag, self.unit)

    def _is_hop(self, one: StepOperation) -> bool:
        assert one.item is not None
        return one.tag >= 0 and one.item.axis is Axis.PIPELINE

    def _hop_ps(self, receipt: StepOperation) -> int:
        """Return how long the message that came last was on its way."""
        rows = self._messages(receipt)
        last = rows[int(self.arrive_ps[rows].argmax())]
        return int(self.arrive_ps[last] - self.start_ps[last])

    def _took(self, place: int, one: StepOperation) -> None:
        assert one.item is not None
        begin_ps = max((self._when(before) for before in one.after), default=0)
        self.took_ps[one.item.axis.value].append(self._when(place) - begin_ps)
