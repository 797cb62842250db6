"""How long one forward pass of one serving instance takes, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from netloom.provenance import Validity, Why
from netloom.step.low_latency import low_latency_exchange
from netloom.step.two_batches import BESIDE_EXCHANGE, HalfBatch
from netloom.workload.collective import Axis
from netloom.workload.placement import stage_layers
from netloom.workload.serving import (
    end_communications,
    first_operators,
    hop,
    last_operators,
    layer_communications,
    serving_operators,
)
from netloom.workload.sharding import stage_dense_layers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from netloom.compute.roofline import Roofline
    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.workload.communication import Communication
    from netloom.workload.flops import Operator
    from netloom.workload.placement import Layout
    from netloom.workload.serving import Pass
    from netloom.workload.transformer import Transformer

__all__ = ["PassDuration", "ServingMachine", "pass_time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingMachine:
    """What passes are timed with.

    Attributes:
        layers: The GPU at the serving precision.
        logits: The GPU in 16 bits, for the output matrix.
    """

    layers: Roofline
    logits: Roofline
    network: Network
    engine: Engine

    def ask(self, items: Iterable[Communication]) -> tuple[tuple[Communication, Outcome], ...]:
        """Return each communication with how long its collective takes."""
        return tuple((item, self.engine.run(item.collective, self.network)) for item in items)

    def exchanged(
        self, items: Iterable[Communication], *, low_latency: bool
    ) -> tuple[tuple[Communication, Outcome], ...]:
        """Return the traffic of a layer; *low_latency* kernels bring tokens to their experts."""
        found = []
        for item in items:
            if low_latency and item.axis is Axis.EXPERT:
                found.append((item, low_latency_exchange(item.collective, self.network)))
            else:
                found += self.ask((item,))
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassDuration:
    """One pass of one batch through all stages of an instance.

    Attributes:
        stages_s: Each stage's computation and communication, first to last.
        hop_s: From one stage to the next.
        compute_s: Of all stages together.
        communication_s: Of all stages together, by axis, hidden or not.
        num_layers: Of each stage.
    """

    stages_s: tuple[float, ...]
    hop_s: float
    compute_s: float
    communication_s: Mapping[Axis, float]
    num_layers: tuple[int, ...]
    validity: Validity
    parts: tuple[Why, ...]

    @property
    def slowest_s(self) -> float:
        """The stage that the others wait for."""
        return max(self.stages_s)

    @property
    def through_s(self) -> float:
        """From the first stage's start to the last one's end."""
        return sum(self.stages_s) + (len(self.stages_s) - 1) * self.hop_s

    def cycle_s(self, num_batches: int) -> float:
        """Return how long until a batch that went through may start again.

        As many batches as there are stages are under way, one in each; a batch comes back to the
        first stage when it has been through all of them, and when that stage is free.
        """
        back_s = self.hop_s if len(self.stages_s) > 1 else 0.0
        return max(self.through_s + back_s, num_batches * self.slowest_s)


@dataclass(frozen=True, slots=True)
class _Block:
    """A layer, or what comes before or after the layers."""

    name: str
    times: tuple[tuple[Operator, float], ...]
    traffic: tuple[tuple[Communication, Outcome], ...]
    overlaps: Literal["no", "decoding", "reading"] = "no"

    @property
    def compute_s(self) -> float:
        return sum(time_s for _, time_s in self.times)

    @property
    def waiting_s(self) -> float:
        """What shows of the traffic: what the other half of the batch hides, is no wait."""
        if self.overlaps == "no":
            return sum(item.each * outcome.duration_s for item, outcome in self.traffic)
        alone = (pair for pair in self.traffic if pair[0].axis is not Axis.EXPERT)
        half = self._half()
        decoding = self.overlaps == "decoding"
        shown_s = half.exposed_decoding_s if decoding else half.exposed_reading_s
        return shown_s + sum(item.each * outcome.duration_s for item, outcome in alone)

    def _half(self) -> HalfBatch:
        """Return what one of two halves does, operator by operator and way by way."""
        sides = {"projections": 0.0, "attention": 0.0, "shared": 0.0, "experts": 0.0}
        side = "projections"
        for one, time_s in self.times:
            side = _side_of(one, side)
            sides[side] += time_s / 2
        there, back = (
            outcome.duration_s for item, outcome in self.traffic if item.axis is Axis.EXPERT
        )
        return HalfBatch(
            projections_s=sides["projections"],
            attention_s=sides["attention"],
            shared_s=sides["shared"],
            experts_s=sides["experts"],
            there_s=there,
            back_s=back,
        )

    def why(self, count: int) -> Why:
        operators = tuple(
            Why(
                name=one.name,
                value=time_s,
                unit="s",
                how="the slower of arithmetic and memory traffic, and the launch",
                parts=(
                    Why(name="arithmetic", value=one.flops, unit="FLOP"),
                    Why(name="memory traffic", value=one.size_bytes, unit="B"),
                ),
            )
            for one, time_s in self.times
        )
        traffic = tuple(
            Why(
                name=f"{item.axis.value}: {item.purpose}",
                value=item.each * outcome.duration_s,
                unit="s",
                how=f"{item.each} x {item.collective.kind.value}",
                parts=(outcome.why,),
            )
            for item, outcome in self.traffic
        )
        return Why(
            name=f"{self.name} (x {count})",
            value=self.compute_s + self.waiting_s,
            unit="s",
            how="operators and collectives, one after another",
            parts=(*operators, *traffic),
        )


def _side_of(operator: Operator, before: str) -> str:
    """Return the part of a layer that *operator* belongs to, *before* being that of the last."""
    if operator.core_attention:
        return "attention"
    if operator.name.startswith("shared experts"):
        return "shared"
    if operator.name == "permute":
        return "experts"
    return "projections" if before == "shared" else before


def pass_time(
    shape: Transformer, plan: Layout, work: Pass, machine: ServingMachine
) -> PassDuration:
    """Return how long *work* takes on an instance laid out as *plan*."""
    blocks = _blocks(shape, plan, work, machine)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    stages = [
        _contents(shape, counts, stage, last=stage == plan.pipeline - 1)
        for stage in range(plan.pipeline)
    ]
    totals = {name: sum(stage.get(name, 0) for stage in stages) for name in blocks}
    hops = machine.ask(hop(shape, plan, work))
    hop_s = sum(outcome.duration_s for _, outcome in hops)
    return PassDuration(
        stages_s=tuple(_stage_s(stage, blocks) for stage in stages),
        hop_s=hop_s,
        compute_s=sum(count * blocks[name].compute_s for name, count in totals.items()),
        communication_s=_by_axis(blocks, totals, hops, num_hops=plan.pipeline - 1),
        num_layers=counts,
        validity=_validity(blocks.values(), hops),
        parts=(
            *(blocks[name].why(count) for name, count in totals.items()),
            *(Why(name="hop", value=hop_s, unit="s", parts=(o.why,)) for _, o in hops),
        ),
    )


def _blocks(
    shape: Transformer, plan: Layout, work: Pass, machine: ServingMachine
) -> dict[str, _Block]:
    found = {}
    for name, moe, num in (
        ("dense layer", False, shape.num_dense_layers),
        ("expert layer", True, shape.num_moe_layers),
    ):
        if num:
            found[name] = _layer(name, shape, plan, work, machine, moe=moe)
    found["embedding"] = _Block(
        "embedding",
        _timed(first_operators(shape, plan, work), machine.logits),
        machine.ask(end_communications(shape, plan, work, last=False)),
    )
    found["logits"] = _Block(
        "logits",
        _timed(last_operators(shape, plan, work), machine.logits),
        machine.ask(end_communications(shape, plan, work, last=True)),
    )
    return found


def _layer(
    name: str, shape: Transformer, plan: Layout, work: Pass, machine: ServingMachine, *, moe: bool
) -> _Block:
    """Return a layer; where halves of the batch hide each other's exchange, of both halves."""
    if moe and plan.expert_overlap and plan.expert > 1 and work.requests * work.tokens > 1:
        return _overlapped(name, shape, plan, work, machine)
    times = _timed(serving_operators(shape, plan, work, moe=moe), machine.layers)
    asked = layer_communications(shape, plan, work, moe=moe)
    return _Block(name, times, machine.exchanged(asked, low_latency=_is_quick(plan, work)))


def _is_quick(plan: Layout, work: Pass) -> bool:
    """Return whether DeepEP's kernels for little delay bring tokens to their experts."""
    return work.is_decode and plan.expert_dispatch == "deepep"


def _overlapped(
    name: str, shape: Transformer, plan: Layout, work: Pass, machine: ServingMachine
) -> _Block:
    """Return a layer with experts of both halves: of a batch that decodes, or of a prompt.

    Halves of a batch each read the weights; those of a prompt are long enough to take half as long
    as the whole.
    """
    half = replace(work, requests=-(-work.requests // 2))
    if not work.is_decode:
        half = replace(work, tokens=-(-work.tokens // 2))
    timed = half if work.is_decode else work
    times = _timed(serving_operators(shape, plan, timed, moe=True), machine.layers)
    asked = layer_communications(shape, plan, half, moe=True)
    traffic = machine.exchanged(asked, low_latency=_is_quick(plan, work))
    both = tuple((replace(item, each=2 * item.each), outcome) for item, outcome in traffic)
    if work.is_decode:
        return _Block(name, tuple((one, 2 * time_s) for one, time_s in times), both, "decoding")
    slower = BESIDE_EXCHANGE if plan.expert_dispatch == "deepep" else 1.0
    beside = tuple(
        (one, time_s * (slower if one.name in {"experts in", "experts out"} else 1.0))
        for one, time_s in times
    )
    return _Block(name, beside, both, "reading")


def _timed(operators: Sequence[Operator], gpu: Roofline) -> tuple[tuple[Operator, float], ...]:
    return tuple((one, one.share * gpu.forward_s(one)) for one in operators)


def _contents(
    shape: Transformer, counts: tuple[int, ...], stage: int, *, last: bool
) -> dict[str, int]:
    num_dense = stage_dense_layers(shape, counts, stage)
    found = {"dense layer": num_dense, "expert layer": counts[stage] - num_dense}
    found |= {"embedding": int(stage == 0), "logits": int(last)}
    return {name: count for name, count in found.items() if count}


def _stage_s(stage: Mapping[str, int], blocks: Mapping[str, _Block]) -> float:
    return sum(
        count * (blocks[name].compute_s + blocks[name].waiting_s) for name, count in stage.items()
    )


def _by_axis(
    blocks: Mapping[str, _Block],
    totals: Mapping[str, int],
    hops: Iterable[tuple[Communication, Outcome]],
    *,
    num_hops: int,
) -> dict[Axis, float]:
    found: dict[Axis, float] = {}
    runs = [
        (totals[name] * item.each, item, o) for name in totals for item, o in blocks[name].traffic
    ]
    for count, item, outcome in (*runs, *((num_hops, item, o) for item, o in hops)):
        found[item.axis] = found.get(item.axis, 0.0) + count * outcome.duration_s
    return found


def _validity(blocks: Iterable[_Block], hops: Iterable[tuple[Communication, Outcome]]) -> Validity:
    validity = Validity()
    for _, outcome in (*(pair for block in blocks for pair in block.traffic), *hops):
        validity &= outcome.validity
    return validity
