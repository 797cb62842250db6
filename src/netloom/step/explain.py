"""How a step's duration came about, down to constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.provenance import Why
from netloom.step.residual import RESIDUAL_SOURCE
from netloom.step.schedule import JITTER, JITTER_SOURCE
from netloom.step.software import switches_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.compute.roofline import Roofline
    from netloom.engines.base import Outcome
    from netloom.provenance import Source
    from netloom.spec.scenario import Precision
    from netloom.step.practice import Practice
    from netloom.step.residual import Residual
    from netloom.step.schedule import Schedule, StageTimes
    from netloom.workload.collective import Axis, Collective
    from netloom.workload.communication import Communication
    from netloom.workload.demand import Demand

__all__ = ["Ingredients", "explain", "explain_software"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """Everything a step was put together from."""

    times: Schedule
    optimizer_s: float
    machine: Roofline
    demand: Demand
    outcomes: Mapping[Collective, Outcome]
    practice: Practice
    residual: Residual
    precision: Precision
    slowdown: float
    optimizer_source: Source
    stages: Sequence[StageTimes]
    layers: Sequence[int]
    virtual: int
    hardware_flops: float

    @property
    def duration_s(self) -> float:
        """Computation, bubble, exposed communication and weight update."""
        exposed_s = sum(self.times.exposed_s.values())
        return self.times.compute_s + self.times.bubble_s + exposed_s + self.optimizer_s


def explain(ingredients: Ingredients) -> Why:
    """Return the tree of numbers that the step's duration rests on."""
    axes = [axis for axis in ingredients.times.exposed_s if ingredients.demand.on(axis)]
    return Why(
        name="step time",
        value=ingredients.duration_s,
        unit="s",
        how="compute + bubble + exposed communication + optimizer",
        parts=(
            _compute(ingredients),
            _bubble(ingredients),
            *(_axis(ingredients, axis) for axis in axes),
            _optimizer(ingredients),
            explain_software(ingredients.practice),
        ),
    )


def _optimizer(ingredients: Ingredients) -> Why:
    share = ingredients.practice.optimizer_offload
    here = "bytes of the update over the memory rate"
    there = (
        f"{1 - share:.0%} of the {here}; gradients and weights of the rest over the link to the "
        "host's memory"
    )
    return Why(
        name="optimizer",
        value=ingredients.optimizer_s,
        unit="s",
        how=there if share else here,
        source=ingredients.optimizer_source,
    )


def explain_software(practice: Practice) -> Why:
    """Return what the software does, switch by switch, and who says so."""
    parts = tuple(
        Why(name=switch, value=_said(value))
        for switch, value in switches_of(practice).items()
        if value is not None
    )
    return Why(name="software", value=practice.title, source=practice.source, parts=parts)


def _said(value: Any) -> float | str:
    if isinstance(value, bool):
        return "on" if value else "off"
    said: float | str = ", ".join(value) or "nothing" if isinstance(value, list) else value
    return said


def _compute(ingredients: Ingredients) -> Why:
    jitter = Why(name="spread of ranks", value=JITTER, source=JITTER_SOURCE)
    slowdown = Why(
        name="slowest rank over mean",
        value=ingredients.slowdown,
        how="expected largest of all GPUs, normal spread",
        parts=(jitter,),
    )
    return Why(
        name="compute",
        value=ingredients.times.compute_s,
        unit="s",
        how=f"operators of the slowest stage x {ingredients.demand.num_micro_batches} "
        "micro-batches x slowest rank over mean x the factors below, and waits for the host",
        parts=(
            _slowest_stage(ingredients),
            Why(
                name="FLOPs of one GPU in the step",
                value=ingredients.hardware_flops,
                unit="FLOP",
                how="products and attention of its share of the batch, recomputation included",
            ),
            ingredients.machine.why,
            slowdown,
            *_host(ingredients),
            *_software(ingredients),
        ),
    )


def _slowest_stage(ingredients: Ingredients) -> Why:
    index = max(range(len(ingredients.stages)), key=lambda stage: ingredients.stages[stage].total_s)
    costs = ingredients.stages[index].costs
    passes = (
        ("forward", costs.forward_s),
        ("backward", costs.backward_s),
        ("recomputation", costs.recompute_s),
    )
    return Why(
        name=f"operators of stage {index + 1} of {len(ingredients.stages)}, one micro-batch",
        value=costs.total_s,
        unit="s",
        how=f"the slowest: {ingredients.layers[index]} layers, and embedding or logits at the ends",
        parts=tuple(Why(name=name, value=time_s, unit="s") for name, time_s in passes),
    )


def _bubble(ingredients: Ingredients) -> Why:
    others_s = sum(stage.total_s for stage in ingredients.stages)
    others_s -= max(stage.total_s for stage in ingredients.stages)
    return Why(
        name="bubble",
        value=ingredients.times.bubble_s,
        unit="s",
        how="one micro-batch through every other stage, over the virtual stages, every time the "
        "pipeline drains",
        parts=(
            Why(name="the other stages, one micro-batch", value=others_s, unit="s"),
            Why(name="virtual stages", value=ingredients.virtual),
            Why(name="batches accumulated", value=ingredients.practice.accumulation),
        ),
    )


def _software(ingredients: Ingredients) -> tuple[Why, ...]:
    """Return what steps and their software add to operators timed alone."""
    practice, residual = ingredients.practice, ingredients.residual
    attention = residual.attention(practice.flash) if practice.attention == "fused" else 1.0
    unfused = 1.0 if practice.fused else residual.unfused
    factors = (
        ("operators in a step over operators alone", residual.of(ingredients.precision)),
        ("fused attention over that measured on Hopper", attention),
        ("memory-bound operators over fused ones", unfused),
    )
    own = tuple(Why(name=name, value=value, source=RESIDUAL_SOURCE) for name, value in factors)
    launch = Why(
        name="host's launch of one pass of a layer",
        value=practice.launch_s(),
        unit="s",
        source=practice.source,
    )
    age = Why(name=f"kernels of {practice.title}", value=practice.age, source=practice.source)
    return (*own, age, launch)


def _host(ingredients: Ingredients) -> tuple[Why, ...]:
    """Return what the GPU waits for the host, where activations go there."""
    layers = ingredients.practice.activation_offload
    if not layers:
        return ()
    waits = Why(
        name="waits for the host",
        value=ingredients.times.host_s,
        unit="s",
        how=f"launches, and the activations of up to {layers} layers of a stage over the link to "
        "the host's memory, each way, less the pass beside it",
    )
    return (waits,)


def _axis(ingredients: Ingredients, axis: Axis) -> Why:
    practice = ingredients.practice
    return Why(
        name=f"exposed {axis.value} communication",
        value=ingredients.times.exposed_s[axis],
        unit="s",
        how=f"of {ingredients.times.communication_s[axis]:.4g} s in all, "
        f"what {practice.title} does not hide",
        source=practice.source,
        parts=tuple(
            _communication(item, ingredients.outcomes[item.collective])
            for item in ingredients.demand.on(axis)
        ),
    )


def _communication(item: Communication, outcome: Outcome) -> Why:
    return Why(
        name=item.purpose,
        value=item.count * outcome.duration_s,
        unit="s",
        how=f"{item.count} x {item.collective.kind.value} of {item.collective.size_bytes:.4g} B "
        f"among {item.collective.group.size}; may hide behind {item.window.value}",
        parts=(outcome.why,),
    )
