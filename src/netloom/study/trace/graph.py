"""What one rank does in one step, node by node."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.step.timeline import orders
from netloom.workload.collective import Axis, CollectiveKind
from netloom.workload.communication import Window
from netloom.workload.trace import COLLECTIVE_CODES, NodeKind, TraceNode, input_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.step.timeline import PassTimes, Pipeline, Way
    from netloom.study.trace.groups import RankGroups
    from netloom.workload.communication import Communication, Phase
    from netloom.workload.demand import Demand
    from netloom.workload.trace import AttributeValue

__all__ = ["StageWork", "rank_nodes"]

_PHASES: Final[dict[Way, tuple[Phase, ...]]] = {
    "forward": ("forward",),
    "backward": ("recompute", "backward"),
    "weights": (),
}
# What a layer cannot go on without. Products cut into pieces to hide tensor traffic behind them
# have no nodes of their own, so that traffic is written as if it hid behind nothing.
_BLOCKING: Final = frozenset({Window.NONE, Window.TENSOR})
_BESIDE: Final = frozenset({Window.PRODUCT, Window.ATTENTION, Window.LAYER})


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWork:
    """What every rank of one pipeline stage does in a step.

    Attributes:
        demand: Of this stage.
        chunks: For each chunk of layers, whether each of its layers has experts.
        optimizer_s: The weight update.
    """

    stage: int
    pipeline: Pipeline
    demand: Demand
    chunks: tuple[tuple[bool, ...], ...]
    optimizer_s: float

    @property
    def times(self) -> PassTimes:
        """Of this stage."""
        return self.pipeline.stages[self.stage]

    @property
    def num_stages(self) -> int:
        """Of the pipeline."""
        return len(self.pipeline.stages)

    @property
    def num_slots(self) -> int:
        """Layers, and chunks that have none (the embedding or the logits alone)."""
        return sum(max(1, len(chunk)) for chunk in self.chunks)

    @property
    def last_way(self) -> Way:
        """The kind of pass after which a gradient is whole."""
        return "weights" if self.pipeline.order == "zero-bubble" else "backward"

    def passes(self) -> list[tuple[Way, int, int]]:
        """Return the passes in order: (way, chunk, micro-batch)."""
        return orders(
            self.num_stages,
            self.pipeline.num_micro_batches,
            virtual=self.pipeline.virtual,
            kind=self.pipeline.order,
            accumulation=self.pipeline.accumulation,
        )[self.stage]

    def compute_s(self, way: Way) -> float:
        """Return the computation of one pass of one chunk, without any waiting."""
        times = self.times
        put_off_s = times.weights_s if self.last_way == "weights" else 0.0
        whole_s = {
            "forward": times.forward_s - times.forward_waiting_s,
            "backward": times.backward_s - times.backward_waiting_s - put_off_s,
            "weights": times.weights_s,
        }[way]
        return whole_s / self.pipeline.virtual

    def behind(self, window: Window) -> list[Communication]:
        """Return the communications that *window* can hide."""
        return [item for item in self.demand.communications if item.window is window]

    def of_layer(
        self, way: Way, *, moe: bool
    ) -> tuple[tuple[Communication, ...], tuple[Communication, ...]]:
        """Return what one layer's pass communicates: in line, and beside the computation.

        Repeats take turns, since the demand does not say where in the layer each stands.
        """
        items = [
            item
            for phase in _PHASES[way]
            for item in self.demand.communications
            if item.phase == phase and item.per in {"layer", "moe-layer" if moe else "dense-layer"}
        ]
        turns = _in_turns(items)
        return (
            tuple(item for item in turns if item.window in _BLOCKING),
            tuple(item for item in turns if item.window in _BESIDE),
        )

    def num_nodes(self) -> int:
        """Return how many nodes a rank of this stage has, at most."""
        turns = self.num_slots * self.pipeline.num_micro_batches * len(_PHASES)
        messages = sum(
            item.count * (2 if item.collective.kind is CollectiveKind.SEND_RECV else 1)
            for item in self.demand.communications
        )
        in_line = sum(i.count for i in self.demand.communications if i.window in _BLOCKING)
        return turns + messages + in_line + 1


def _in_turns(items: list[Communication]) -> list[Communication]:
    most = max((item.each for item in items), default=0)
    return [item for turn in range(most) for item in items if turn < item.each]


def rank_nodes(work: StageWork, groups: RankGroups) -> Iterator[TraceNode]:
    """Yield the nodes of one rank, each after those it depends on."""
    graph = _Graph(work, groups)
    graph.gather_weights()
    yield from graph.taken()
    for way, chunk, batch in work.passes():
        graph.run(way, chunk, batch)
        yield from graph.taken()
    graph.reduce_gradients()
    graph.update_weights()
    yield from graph.taken()


def _collective_attributes(item: Communication, groups: RankGroups) -> dict[str, AttributeValue]:
    asked = item.collective
    return {
        "comm_type": COLLECTIVE_CODES[asked.kind],
        "comm_size": round(input_bytes(asked.kind, asked.size_bytes, asked.group.size)),
        "pg_name": groups.name(item),
    }


class _Graph:
    """The nodes so far, and what the next one depends on."""

    def __init__(self, work: StageWork, groups: RankGroups) -> None:
        self._work, self._groups = work, groups
        self._nodes: list[TraceNode] = []
        self._next_id = 0
        self._last: tuple[int, ...] = ()  # what the next computation needs
        self._computed_s, self._written_us = 0.0, 0
        self._gathered: list[list[int]] = []  # of each kind of weights, its pieces
        self._first_slot = 0  # of the first micro-batch's forward passes
        self._whole: list[int] = []  # nodes after which one more layer's gradients are whole
        self._num_exchanges = 0
        self._of_layer = {
            (way, moe): work.of_layer(way, moe=moe) for way in _PHASES for moe in (False, True)
        }
        hops = [i for i in work.demand.communications if i.axis is Axis.PIPELINE]
        self._hops = {item.phase: item for item in hops}
        collectives = (
            i
            for i in work.demand.communications
            if i.collective.kind is not CollectiveKind.SEND_RECV
        )
        self._asked = {item: _collective_attributes(item, groups) for item in collectives}

    def taken(self) -> list[TraceNode]:
        """Return the nodes added since the last call."""
        nodes, self._nodes = self._nodes, []
        return nodes

    def gather_weights(self) -> None:
        """Add the gathers that the first forward passes wait for, piece by piece."""
        for item in self._work.behind(Window.FIRST_FORWARD):
            ids: list[int] = []
            for _ in range(item.each):
                ids.append(self._collective(item, follows=tuple(ids[-1:])))
            self._gathered.append(ids)

    def run(self, way: Way, chunk: int, batch: int) -> None:
        """Add one pass of one chunk on one micro-batch, with what it receives and sends."""
        place = chunk * self._work.num_stages + self._work.stage
        step = -1 if way == "backward" else 1
        if way != "weights":
            self._hop(way, place - step, place, batch)
        layers: tuple[bool | None, ...] = self._work.chunks[chunk] or (None,)
        slot_s = self._work.compute_s(way) / len(layers)
        for moe in layers if way == "forward" else reversed(layers):
            if way == "forward" and batch == 0:
                self._await_weights()
            self._layer(f"{way} {batch}.{chunk}", way, slot_s, moe=moe)
            if way == self._work.last_way and batch == self._work.pipeline.num_micro_batches - 1:
                self._whole.append(self._last[0])
        if way != "weights":
            self._hop(way, place, place + step, batch)

    def reduce_gradients(self) -> None:
        """Add the reductions, each piece as soon as its layers' gradients are whole."""
        tails: list[int] = []
        for item in self._work.behind(Window.LAST_BACKWARD):
            tail: tuple[int, ...] = ()
            for piece in range(1, item.each + 1):
                ready = self._whole[-(-piece * len(self._whole) // item.each) - 1]
                tail = (self._collective(item, needs=(ready,), follows=tail),)
            tails += tail
        self._last += tuple(tails)

    def update_weights(self) -> None:
        """Add the optimizer."""
        self._compute("optimizer", self._work.optimizer_s)

    def _await_weights(self) -> None:
        """Let the next computation need the pieces of the weights of one more slot."""
        self._first_slot += 1
        for ids in self._gathered:
            count = -(-self._first_slot * len(ids) // self._work.num_slots)
            self._last += (ids[count - 1],)

    def _layer(self, name: str, way: Way, slot_s: float, *, moe: bool | None) -> None:
        """Add one layer: computation, in line what it waits for, beside it what it does not."""
        in_line, beside = ((), ()) if moe is None else self._of_layer[way, moe]
        tails: dict[Axis, tuple[int, ...]] = defaultdict(lambda: self._last)
        for item in beside:
            tails[item.axis] = self._beside(item, tails[item.axis])
        piece_s = slot_s / max(1, len(in_line))
        for item in in_line:
            self._compute(name, piece_s)
            self._last = (self._collective(item, needs=self._last),)
        if not in_line:
            self._compute(name, piece_s)
        self._last += tuple(tail for ids in tails.values() for tail in ids)

    def _beside(self, item: Communication, needs: tuple[int, ...]) -> tuple[int, ...]:
        if item.collective.kind is not CollectiveKind.SEND_RECV:
            return (self._collective(item, needs=needs),)
        rank, before, after = self._groups.ring
        tag = self._groups.num_hop_tags + self._num_exchanges
        self._num_exchanges += 1
        return (
            self._message(item, NodeKind.SEND, ends=(rank, after), tag=tag, needs=needs),
            self._message(item, NodeKind.RECEIVE, ends=(before, rank), tag=tag, follows=needs),
        )

    def _hop(self, way: Way, source: int, target: int, batch: int) -> None:
        """Add this rank's end of the transfer from one virtual stage to another, if any."""
        num_places = self._work.num_stages * self._work.pipeline.virtual
        if self._work.num_stages == 1 or not (
            0 <= source < num_places and 0 <= target < num_places
        ):
            return
        item = self._hops["backward" if way == "backward" else "forward"]
        lower = min(source, target)
        tag = (lower * self._work.pipeline.num_micro_batches + batch) * 2 + (way == "backward")
        ends = (self._groups.rank_on(source), self._groups.rank_on(target))
        if self._groups.rank == ends[0]:
            self._message(item, NodeKind.SEND, ends=ends, tag=tag, needs=self._last)
        else:
            self._last += (
                self._message(item, NodeKind.RECEIVE, ends=ends, tag=tag, follows=self._last),
            )

    def _compute(self, name: str, time_s: float) -> None:
        """Add computation; durations are whole microseconds whose sum is right."""
        self._computed_s += time_s
        duration_us = round(self._computed_s * 1e6) - self._written_us
        self._written_us += duration_us
        node_id = self._add(name, NodeKind.COMPUTE, needs=self._last, duration_us=duration_us)
        self._last = (node_id,)

    def _collective(
        self, item: Communication, *, needs: tuple[int, ...] = (), follows: tuple[int, ...] = ()
    ) -> int:
        attributes = self._asked[item]
        return self._add(
            item.purpose, NodeKind.COLLECTIVE, needs=needs, follows=follows, attributes=attributes
        )

    def _message(
        self,
        item: Communication,
        kind: NodeKind,
        *,
        ends: tuple[int, int],
        tag: int,
        needs: tuple[int, ...] = (),
        follows: tuple[int, ...] = (),
    ) -> int:
        attributes: dict[str, AttributeValue] = {
            "comm_src": ends[0],
            "comm_dst": ends[1],
            "comm_size": round(item.collective.size_bytes),
            "comm_tag": tag,
        }
        return self._add(item.purpose, kind, needs=needs, follows=follows, attributes=attributes)

    def _add(
        self,
        name: str,
        kind: NodeKind,
        *,
        needs: tuple[int, ...] = (),
        follows: tuple[int, ...] = (),
        duration_us: int = 0,
        attributes: dict[str, AttributeValue] | None = None,
    ) -> int:
        node_id = self._next_id
        self._next_id += 1
        self._nodes.append(
            TraceNode(
                node_id=node_id,
                name=name,
                kind=kind,
                needs=needs,
                follows=follows,
                duration_us=duration_us,
                attributes={"is_cpu_op": False, **(attributes or {})},
            )
        )
        return node_id
