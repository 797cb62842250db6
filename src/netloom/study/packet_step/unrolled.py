"""The programs of all stages as transfers and computations that wait for one another.

GPUs that are joined by collectives inside their node go in step: they are one *unit*, which
computes together. A unit's messages leave when it is ready; it goes on when all that it waits for
has come to all its GPUs.

GPUs of equal place in their units are a *lane*. Where all messages stay in their lane, the lanes
send the same at the same time, and one of them may stand for all.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError
from netloom.study.packet_step.program import COMPUTE, OPTIMIZER
from netloom.study.simulate.step_traffic import messages_of
from netloom.workload.collective import CollectiveKind
from netloom.workload.dag import Dag, Label, to_transfers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.study.packet_step.program import StageProgram, StepOperation
    from netloom.workload.communication import Communication
    from netloom.workload.placement import Layout
    from netloom.workload.transfers import Transfers

__all__ = ["MAX_MESSAGES", "StepWork", "count_messages", "unroll"]

# Books of 700 bytes a message on one connection each: 8 GiB hold them and the packets.
MAX_MESSAGES: Final = 8_000_000
_PS: Final = 1e12
_PRIORITY: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepWork:
    """A step, ready to run.

    Attributes:
        dag: Messages, and computations of no bytes.
        label: Which of ``names`` each message belongs to.
        names: What the messages are for.
        unit_gpus: GPUs that go in step.
        num_lanes: How many equal lanes the messages stand for; 1 where all are here.
        first: For each stage and operation, the number of the first unit's computation, or of the
            first message that it sends or waits for; the other units' follow it.
        ends: For each stage and operation that is a collective, the first unit's end of it.
        sent: For each target stage and tag, the first message, and whether it is one of a ring.
        programs: What it was made from.
    """

    dag: Dag
    label: NDArray[np.int32]
    names: tuple[str, ...]
    unit_gpus: int
    num_lanes: int
    first: tuple[NDArray[np.int64], ...]
    ends: Mapping[tuple[int, int], int]
    sent: Mapping[tuple[int, int], tuple[int, bool]]
    programs: tuple[StageProgram, ...]
    plan: Layout

    @property
    def num_units(self) -> int:
        """Units of one stage."""
        return self.plan.stage_gpus // self.unit_gpus

    def end_of(self, stage: int, place: int) -> int:
        """Return the number of the first unit's end of a collective."""
        return self.ends[stage, place]

    def received(self, stage: int, tag: int, unit: int) -> NDArray[np.int64]:
        """Return the messages of a tag that come to a unit of a stage."""
        first, in_ring = self.sent[stage, tag]
        there = ring_next(self._local, self.plan) if in_ring else self._local
        return first + np.flatnonzero(there // self.unit_gpus == unit)

    def sent_by(self, stage: int, place: int, unit: int) -> NDArray[np.int64]:
        """Return the messages that a unit sends in an operation that is no collective."""
        return int(self.first[stage][place]) + np.flatnonzero(self._local // self.unit_gpus == unit)

    @property
    def _local(self) -> NDArray[np.int64]:
        return _locals(self.plan, self.unit_gpus, one_lane=self.num_lanes > 1)

    def transfers(self, seed: int) -> Transfers:
        """Return all of it; *seed* draws the ports of connections."""
        found = to_transfers(
            [self.dag], [Label(priority=_PRIORITY)], rng=np.random.default_rng(seed)
        )
        return replace(found, job=self.label)


def count_messages(programs: Sequence[StageProgram], plan: Layout) -> int:
    """Return how many messages the programs send, of all lanes, at most."""
    total = 0
    for program in programs:
        for one in program.operations:
            if one.item is None or one.is_receipt:
                continue
            group = one.item.collective.group
            laps = 2 if one.item.collective.kind is CollectiveKind.ALL_REDUCE else 1
            each = 1 if one.tag >= 0 else laps * group.size * group.per_node
            total += plan.stage_gpus * each
    return total


def unroll(
    programs: Sequence[StageProgram],
    plan: Layout,
    *,
    stragglers: Mapping[int, float] | None = None,
    one_lane: bool = False,
    apart: str = "",
) -> StepWork:
    """Return what all GPUs do.

    Args:
        programs: Of every stage.
        plan: Where the stages' GPUs are.
        stragglers: GPUs whose computation takes this many times as long.
        one_lane: Whether the messages of the first lane stand for all, where none leaves its lane.
        apart: Why it does not, for the message where all are too many.

    Raises:
        InfeasibleError: no message leaves a node, or they are too many.
    """
    unit_gpus = _unit_gpus(programs, plan)
    maker = _Maker(programs, plan, unit_gpus, one_lane=one_lane and unit_gpus > 1)
    if maker.one_lane and not maker.stays_in_lanes():
        maker.one_lane = False
    _check_count(-(-count_messages(programs, plan) // maker.num_lanes), apart)
    slow = np.ones(plan.num_gpus)
    for rank, factor in (stragglers or {}).items():
        slow[rank] = factor
    maker.slow = slow.reshape(plan.pipeline, -1, maker.unit_gpus).max(axis=2)
    return maker.made()


def _check_count(count: int, apart: str) -> None:
    if not count:
        raise InfeasibleError(
            key="job",
            what="nothing of a step leaves a node",
            remedy="use 'netloom predict': packets have nothing to show",
        )
    if count > MAX_MESSAGES:
        why = f" (one lane does not stand for all: {apart})" if apart else ""
        raise InfeasibleError(
            key="job",
            what=f"a step is up to {count:,} messages, and {MAX_MESSAGES:,} fit in memory{why}",
            remedy="use fewer micro-batches or a smaller cluster, or 'netloom predict'",
        )


def _locals(plan: Layout, unit_gpus: int, *, one_lane: bool) -> NDArray[np.int64]:
    """Return the GPUs of a stage, counted from its first: all, or those of the first lane."""
    return np.arange(0, plan.stage_gpus, unit_gpus if one_lane else 1, dtype=np.int64)


def ring_next(local: NDArray[np.int64], plan: Layout) -> NDArray[np.int64]:
    """Return the next GPU in the context ring of each of a stage."""
    stride, size = plan.tensor, plan.context
    place = local // stride % size
    return np.asarray(local + ((place + 1) % size - place) * stride)


def _unit_gpus(programs: Sequence[StageProgram], plan: Layout) -> int:
    """Return how many GPUs the collectives inside nodes join: the largest block of any of them."""
    inside = {name for program in programs for one in program.operations for name in one.times_s}
    blocks = {
        "tensor": plan.tensor,
        "context": plan.tensor * plan.context,
        "expert": plan.expert_ranks,
        "data": plan.stage_gpus,
    }
    block = max((size for name, size in blocks.items() if name in inside), default=1)
    within = min(block, plan.gpus_per_node, plan.stage_gpus)
    return within if plan.stage_gpus % within == 0 else 1


def _part(dag: Dag, keep: NDArray[np.bool_]) -> Dag:
    """Return some messages of a dag, and of their waits those for one another."""
    number = np.cumsum(keep) - 1
    among = keep[dag.waiter] & keep[dag.waited]
    return Dag(
        source=dag.source[keep],
        target=dag.target[keep],
        size_bytes=dag.size_bytes[keep],
        connection=dag.connection[keep],
        start_ps=dag.start_ps[keep],
        delay_ps=dag.delay_ps[keep],
        waiter=number[dag.waiter[among]],
        waited=number[dag.waited[among]],
    )


@dataclass(slots=True)
class _Maker:
    """Numbers everything, then says who waits for whom."""

    programs: Sequence[StageProgram]
    plan: Layout
    unit_gpus: int
    one_lane: bool = False
    slow: NDArray[np.float64] = field(default_factory=lambda: np.ones((1, 1)))
    _columns: dict[str, list[NDArray[np.int64]]] = field(default_factory=lambda: defaultdict(list))
    _count: int = 0
    _dags: dict[tuple[int, Communication], Dag] = field(default_factory=dict)
    _kinds: dict[str, int] = field(default_factory=dict)  # what messages are for
    _bases: dict[Communication, int] = field(default_factory=dict)  # of connections
    _next_base: int = 0
    _ends: dict[tuple[int, int], int] = field(default_factory=dict)
    # By target stage and tag: the first message, and whether it is one of a ring.
    _sent: dict[tuple[int, int], tuple[int, bool]] = field(default_factory=dict)

    @property
    def num_units(self) -> int:
        return self.plan.stage_gpus // self.unit_gpus

    @property
    def num_lanes(self) -> int:
        return self.unit_gpus if self.one_lane else 1

    @property
    def local(self) -> NDArray[np.int64]:
        """GPUs of a stage that send."""
        return _locals(self.plan, self.unit_gpus, one_lane=self.one_lane)

    def stays_in_lanes(self) -> bool:
        """Whether no message goes from one place in a unit to another."""
        sends = {
            (program.stage, one.item, one.to_stage if one.tag >= 0 else -1)
            for program in self.programs
            for one in program.operations
            if one.item is not None and not one.is_receipt
        }
        return all(self._stays(*one) for one in sends)

    def _stays(self, stage: int, item: Communication, to_stage: int) -> bool:
        if to_stage >= 0:
            local = np.arange(self.plan.stage_gpus, dtype=np.int64)
            apart = (ring_next(local, self.plan) - local) * (to_stage == stage)
        else:
            dag = self._messages_of(stage, item)
            apart = dag.target - dag.source
        return not (apart % self.unit_gpus).any()

    def made(self) -> StepWork:
        first = tuple(self._number(program) for program in self.programs)
        for program, numbers in zip(self.programs, first, strict=True):
            for place, one in enumerate(program.operations):
                self._wait(program.stage, one, numbers, int(numbers[place]))
        found = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        label = found.pop("label").astype(np.int32)
        computes = found["size_bytes"] == 0
        sends = int(np.flatnonzero(~computes)[0])
        for end in ("source", "target"):  # a computation's are not looked at
            found[end][computes] = found[end][sends]
        return StepWork(
            dag=Dag(**found),
            label=label,
            names=tuple(self._kinds),
            unit_gpus=self.unit_gpus,
            num_lanes=self.num_lanes,
            first=first,
            ends=self._ends,
            sent=self._sent,
            programs=tuple(self.programs),
            plan=self.plan,
        )

    def _number(self, program: StageProgram) -> NDArray[np.int64]:
        """Add the rows of a stage, without waits; return the first number of each operation."""
        numbers = []
        for one in program.operations:
            numbers.append(self._count)
            if one.is_receipt:
                continue
            if one.item is None:
                self._compute(self._delays_ps(program.stage, one))
            elif one.tag >= 0:
                self._sent[one.to_stage, one.tag] = (self._count, one.to_stage == program.stage)
                self._send(program.stage, one)
                self._ready_rows(one, program)
            else:
                dag = self._dag(program.stage, one.item)
                self._messages(one.item, dag.source, dag.target, dag.size_bytes, dag.connection)
                self._ready_rows(one, program)
                self._compute(np.zeros(self.num_units, dtype=np.int64))
        return np.array(numbers, dtype=np.int64)

    def _ready_rows(self, one: StepOperation, program: StageProgram) -> None:
        if self._ready_op(one, program) is None:
            self._compute(np.zeros(self.num_units, dtype=np.int64))

    @staticmethod
    def _ready_op(one: StepOperation, program: StageProgram) -> int | None:
        """Return the one operation that stands for all that *one* waits for; None if there isn't.

        One of a single number for each unit.
        """
        if len(one.after) != 1:
            return None
        before = program.operations[one.after[0]]
        return one.after[0] if before.is_local else None

    def _delays_ps(self, stage: int, one: StepOperation) -> NDArray[np.int64]:
        slowed_s = one.times_s.get(COMPUTE, 0.0) + one.times_s.get(OPTIMIZER, 0.0)
        whole_s = one.time_s + slowed_s * (self.slow[stage] - 1.0)
        return np.asarray(np.rint(whole_s * _PS), dtype=np.int64)

    def _compute(self, delay_ps: NDArray[np.int64]) -> None:
        none = np.zeros(len(delay_ps), dtype=np.int64)
        self._rows(source=none, target=none, size=none, connection=none, delay=delay_ps, label=0)

    def _dag(self, stage: int, item: Communication) -> Dag:
        key = (stage, item)
        if key not in self._dags:
            whole = self._messages_of(stage, item)
            keep = whole.source % self.unit_gpus == 0
            self._dags[key] = _part(whole, keep) if self.one_lane else whole
        return self._dags[key]

    def _messages_of(self, stage: int, item: Communication) -> Dag:
        each = self.plan.stage_gpus
        ranks = np.arange(stage * each, (stage + 1) * each, dtype=np.int64)
        return messages_of(item, self.plan, ranks)

    def _targets(self, stage: int, one: StepOperation) -> NDArray[np.int64]:
        local = self.local
        there = local if one.to_stage != stage else ring_next(local, self.plan)
        return there + one.to_stage * self.plan.stage_gpus

    def _send(self, stage: int, one: StepOperation) -> None:
        assert one.item is not None
        source = self.local + stage * self.plan.stage_gpus
        size = max(1, round(one.item.collective.size_bytes))
        none = np.zeros(len(source), dtype=np.int64)
        self._messages(one.item, source, self._targets(stage, one), none + size, none)

    def _messages(
        self,
        item: Communication,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        size: NDArray[np.int64],
        connection: NDArray[np.int64],
    ) -> None:
        if item not in self._bases:
            self._bases[item] = self._next_base
            self._next_base += int(connection.max(initial=0)) + 1
        kind = item.collective.kind.value.replace("_", "-")
        label = self._kinds.setdefault(f"{item.axis.value} {kind}", len(self._kinds))
        self._rows(
            source=source,
            target=target,
            size=size,
            connection=connection + self._bases[item],
            delay=np.zeros(len(source), dtype=np.int64),
            label=label,
        )

    def _rows(
        self,
        *,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        size: NDArray[np.int64],
        connection: NDArray[np.int64],
        delay: NDArray[np.int64],
        label: int,
    ) -> None:
        add = self._columns
        add["source"].append(source)
        add["target"].append(target)
        add["size_bytes"].append(size)
        add["connection"].append(connection)
        add["start_ps"].append(np.zeros(len(source), dtype=np.int64))
        add["delay_ps"].append(delay)
        add["label"].append(np.full(len(source), label, dtype=np.int64))
        self._count += len(source)

    def _wait(
        self, stage: int, one: StepOperation, numbers: NDArray[np.int64], number: int
    ) -> None:
        """Say what the rows of one operation wait for."""
        if one.is_receipt:
            return
        units = np.arange(self.num_units, dtype=np.int64)
        if one.item is None:
            self._after(stage, one, numbers, number + units)
            return
        program = self.programs[stage]
        dag = None if one.tag >= 0 else self._dag(stage, one.item)
        count = len(self.local) if dag is None else len(dag)
        ready = self._ready_op(one, program)
        if ready is None:
            first_ready = number + count
            self._after(stage, one, numbers, first_ready + units)
        else:
            first_ready = int(numbers[ready])
        source = self.local if dag is None else dag.source - stage * self.plan.stage_gpus
        self._edges(number + np.arange(count), first_ready + source // self.unit_gpus)
        if dag is not None:
            self._edges(number + dag.waiter, number + dag.waited)
            done = number + count + (self.num_units if ready is None else 0)
            self._ends[stage, int(np.searchsorted(numbers, number, side="right")) - 1] = done
            self._done(stage, dag, number, done, first_ready)

    def _done(self, stage: int, dag: Dag, number: int, done: int, ready: int) -> None:
        """Let the end of a collective on each unit wait for what comes last to its GPUs."""
        units = np.arange(self.num_units, dtype=np.int64)
        self._edges(done + units, ready + units)
        last = np.ones(len(dag), dtype=np.bool_)
        last[dag.waited] = False
        ends = np.flatnonzero(last)
        unit = (dag.target[ends] - stage * self.plan.stage_gpus) // self.unit_gpus
        self._edges(done + unit, number + ends)

    def _after(
        self, stage: int, one: StepOperation, numbers: NDArray[np.int64], waiter: NDArray[np.int64]
    ) -> None:
        """Let each unit's row wait for what the operation is after, on that unit."""
        units = np.arange(self.num_units, dtype=np.int64)
        program = self.programs[stage]
        for place in one.after:
            before = program.operations[place]
            if before.is_receipt:
                sent, in_ring = self._sent[stage, before.tag]
                there = ring_next(self.local, self.plan) if in_ring else self.local
                self._edges(waiter[there // self.unit_gpus], sent + np.arange(len(there)))
            elif before.item is None:
                self._edges(waiter, int(numbers[place]) + units)
            elif before.tag >= 0:
                rows = int(numbers[place]) + np.arange(len(self.local))
                self._edges(waiter[self.local // self.unit_gpus], rows)
            else:
                self._edges(waiter, self._end_of(stage, place, numbers) + units)

    def _end_of(self, stage: int, place: int, numbers: NDArray[np.int64]) -> int:
        """Return the first row that stands for the end of a collective."""
        one = self.programs[stage].operations[place]
        assert one.item is not None
        count = len(self._dag(stage, one.item))
        ready = self._ready_op(one, self.programs[stage])
        return int(numbers[place]) + count + (self.num_units if ready is None else 0)

    def _edges(self, waiter: NDArray[np.int64], waited: NDArray[np.int64]) -> None:
        self._columns["waiter"].append(np.asarray(waiter, dtype=np.int64))
        self._columns["waited"].append(np.asarray(waited, dtype=np.int64))
