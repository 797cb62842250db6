"""What the GPUs of each pipeline stage do in a step: computation, collectives, hops, in order.

All GPUs of a stage do the same, so that a stage has one program. Collectives inside a node have
links of their own that nothing else uses in the meantime: they enter as the time that the closed
form gives them, and so does the host. Everything that crosses a NIC is left to the packets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.study.trace.graph import rank_nodes
from netloom.study.trace.groups import RankGroups
from netloom.workload.collective import CollectiveKind
from netloom.workload.communication import Window
from netloom.workload.trace import NodeKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.step.schedule import Traffic
    from netloom.study.trace.traces import StepTraces
    from netloom.workload.communication import Communication
    from netloom.workload.trace import TraceNode

__all__ = ["COMPUTE", "OPTIMIZER", "StageProgram", "StepOperation", "stage_programs"]

COMPUTE: Final = "compute"
OPTIMIZER: Final = "optimizer"
_S_PER_US: Final = 1e-6
_BESIDE: Final = frozenset({Window.PRODUCT, Window.ATTENTION, Window.LAYER})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOperation:
    """One thing that every GPU of a stage does.

    Attributes:
        after: Operations of the same program that it waits for.
        times_s: How long it takes, by what the time is: ``compute``, ``optimizer``, or the axis of
            a collective inside a node. Empty for what packets decide.
        item: The collective between nodes, or the message, that it is.
        tag: Of a message between stages or in a ring: its receiver has an operation of equal tag.
        to_stage: Where a message between stages goes; the own one in a ring.
        is_receipt: Whether it is the arrival of a message.
    """

    after: tuple[int, ...]
    times_s: Mapping[str, float] = field(default_factory=dict)
    item: Communication | None = None
    tag: int = -1
    to_stage: int = -1
    is_receipt: bool = False

    @property
    def is_local(self) -> bool:
        """Whether it sends nothing over a NIC."""
        return self.item is None

    @property
    def time_s(self) -> float:
        """How long it takes, where packets do not decide."""
        return sum(self.times_s.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProgram:
    """What every GPU of a pipeline stage does, each operation after those it waits for."""

    stage: int
    operations: tuple[StepOperation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ItemNames(RankGroups):
    """Names groups by the communication that they are asked for."""

    items: tuple[Communication, ...]

    def name(self, item: Communication) -> str:
        return str(self.items.index(item))


def stage_programs(traces: StepTraces, traffic: Traffic) -> tuple[StageProgram, ...]:
    """Return the program of every stage, first to last.

    Args:
        traces: The step's stages.
        traffic: How long each collective takes alone, and what the software overlaps.
    """
    found = []
    for work in traces.stages:
        items = work.demand.communications
        names = _ItemNames(
            plan=traces.plan,
            rank=work.stage * traces.plan.stage_gpus,
            num_hop_tags=_num_hop_tags(traces),
            items=items,
        )
        reader = _NodeReader(traces, traffic, items)
        written = [reader.operation(node) for node in rank_nodes(work, names)]
        written = _dragged(written, reader.beside, traffic.practice.drag)
        if not traffic.practice.overlaps_data:
            written = _not_overlapped(written)
        found.append(StageProgram(stage=work.stage, operations=tuple(_merged(written))))
    return tuple(found)


def _num_hop_tags(traces: StepTraces) -> int:
    places = traces.plan.pipeline * traces.plan.virtual_pipeline
    return 2 * places * traces.prediction.step.pipeline.num_micro_batches


@dataclass(slots=True)
class _NodeReader:
    """Turns nodes of a trace into operations.

    Attributes:
        beside: Nodes inside a node that run beside a layer's computation.
    """

    traces: StepTraces
    traffic: Traffic
    items: Sequence[Communication]
    beside: list[int] = field(default_factory=list)

    def operation(self, node: TraceNode) -> StepOperation:
        """Return what *node* is."""
        after = tuple(dict.fromkeys((*node.needs, *node.follows)))
        match node.kind:
            case NodeKind.COMPUTE:
                what = OPTIMIZER if node.name == OPTIMIZER else COMPUTE
                return StepOperation(after=after, times_s={what: node.duration_us * _S_PER_US})
            case NodeKind.COLLECTIVE:
                item = self.items[int(node.attributes["pg_name"])]
                found = self._collective(item, after)
                if found.is_local and item.window in _BESIDE:
                    self.beside.append(node.node_id)
                return found
            case _:
                return self._message(node, after)

    def _collective(self, item: Communication, after: tuple[int, ...]) -> StepOperation:
        if self.traffic.is_between_nodes(item):
            return StepOperation(after=after, item=item)
        hidden = self.traffic.practice.tensor_hidden if item.window is Window.TENSOR else 0.0
        time_s = self.traffic.time_s(item) * (1 - hidden)
        return StepOperation(after=after, times_s={item.axis.value: time_s})

    def _message(self, node: TraceNode, after: tuple[int, ...]) -> StepOperation:
        """Return one end of a message; what a receiver posts waits for nothing but its arrival."""
        tag = int(node.attributes["comm_tag"])
        is_hop = tag < _num_hop_tags(self.traces)
        is_receipt = node.kind is NodeKind.RECEIVE
        item = self._message_item(node.name, is_hop=is_hop)
        if not is_hop and not self.traffic.is_between_nodes(item):
            times_s = {} if is_receipt else {item.axis.value: self.traffic.time_s(item)}
            return StepOperation(after=after, times_s=times_s)
        target = int(node.attributes["comm_dst"]) // self.traces.plan.stage_gpus
        return StepOperation(
            after=() if is_receipt else after,
            item=item,
            tag=tag,
            to_stage=target,
            is_receipt=is_receipt,
        )

    def _message_item(self, purpose: str, *, is_hop: bool) -> Communication:
        window = Window.OTHER_MICRO_BATCH
        return next(
            item
            for item in self.items
            if item.collective.kind is CollectiveKind.SEND_RECV
            and item.purpose == purpose
            and (item.window is window) == is_hop
        )


def _dragged(
    written: list[StepOperation], beside: Sequence[int], drag: float
) -> list[StepOperation]:
    """Return the operations with computation slowed by what runs beside it inside the node."""
    if not drag:
        return written
    found, inside = list(written), frozenset(beside)
    computing: dict[tuple[int, ...], int] = {}
    for place, one in enumerate(written):
        if COMPUTE in one.times_s:
            computing.setdefault(one.after, place)
    for place in beside:
        root = written[place]
        while len(root.after) == 1 and root.after[0] in inside:
            root = written[root.after[0]]
        slowed = computing.get(root.after)
        if slowed is None:
            continue
        for axis, time_s in written[place].times_s.items():
            before = found[slowed]
            more_s = drag * min(time_s, before.times_s[COMPUTE])
            times_s = {**before.times_s, axis: before.times_s.get(axis, 0.0) + more_s}
            found[slowed] = StepOperation(after=before.after, times_s=times_s)
    return found


def _not_overlapped(written: list[StepOperation]) -> list[StepOperation]:
    """Return the operations with gathers before the first and reductions after the last pass."""
    computing = [place for place, one in enumerate(written) if COMPUTE in one.times_s]
    first, last = computing[0], computing[-1]
    gathers = tuple(
        place
        for place, one in enumerate(written)
        if one.item is not None and one.item.window is Window.FIRST_FORWARD
    )
    found = list(written)
    found[first] = _also_after(written[first], gathers)
    for place, one in enumerate(written):
        if one.item is not None and one.item.window is Window.LAST_BACKWARD:
            found[place] = _also_after(one, (last,))
    return found


def _also_after(one: StepOperation, others: tuple[int, ...]) -> StepOperation:
    return StepOperation(
        after=tuple(dict.fromkeys((*one.after, *others))),
        times_s=one.times_s,
        item=one.item,
        tag=one.tag,
        to_stage=one.to_stage,
        is_receipt=one.is_receipt,
    )


def _merged(written: Sequence[StepOperation]) -> list[StepOperation]:
    """Return the operations with local ones that follow one another alone made one.

    Nothing is lost: no other operation waits for what they pass through.
    """
    users = [0] * len(written)
    for one in written:
        for place in one.after:
            users[place] += 1
    made: list[StepOperation] = []
    number: list[int] = []
    for one in written:
        after = tuple(dict.fromkeys(number[place] for place in one.after))
        alone = len(one.after) == 1 and users[one.after[0]] == 1
        if alone and one.is_local and made[after[0]].is_local:
            before = made[after[0]]
            made[after[0]] = StepOperation(after=before.after, times_s=_sum(before, one))
            number.append(after[0])
            continue
        made.append(
            StepOperation(
                after=after,
                times_s=one.times_s,
                item=one.item,
                tag=one.tag,
                to_stage=one.to_stage,
                is_receipt=one.is_receipt,
            )
        )
        number.append(len(made) - 1)
    return made


def _sum(one: StepOperation, other: StepOperation) -> dict[str, float]:
    names = dict.fromkeys((*one.times_s, *other.times_s))
    return {name: one.times_s.get(name, 0.0) + other.times_s.get(name, 0.0) for name in names}
