"""From a job, a model, a network and an engine to one step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.compute.roofline import NO_COSTS, costs, roofline
from netloom.provenance import Source, Validity
from netloom.step.explain import Ingredients, explain
from netloom.step.memory import check_memory, memory_validity
from netloom.step.model import Step
from netloom.step.practice import FSDP_2023, MEGATRON_CORE
from netloom.step.residual import residual_of
from netloom.step.schedule import (
    StageTimes,
    Traffic,
    layer_exposed_s,
    pipeline_of,
    schedule,
    slowest_of,
)
from netloom.workload.demand import demand, shard_of
from netloom.workload.flops import (
    embedding_operators,
    head_operators,
    layer_operators,
    step_flops,
)
from netloom.workload.parameters import parameters
from netloom.workload.placement import check_model, layout, num_micro_batches, stage_layers
from netloom.workload.sharding import stage_dense_layers, stage_parameters
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.catalog.parts import Gpu, Model
    from netloom.compute.roofline import Costs, Roofline
    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.spec.scenario import Job, Recompute, Training
    from netloom.step.practice import Practice
    from netloom.step.residual import Residual
    from netloom.workload.collective import Axis, Collective
    from netloom.workload.demand import Demand
    from netloom.workload.flops import Operator, Shard
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["predict"]

# Adam on fp32 states reads gradient, master weight, momentum and variance, writes the last
# three and a 16-bit weight, and reads the gradient once more for its norm: 4 x 4 + 3 x 4 + 2 + 4.
OPTIMIZER_BYTES: Final = 34
OPTIMIZER_SOURCE: Final = Source(
    citation="bytes counted of mixed-precision Adam", confidence="derived"
)
# The range of the rows that the step was checked against (docs/models/step.md).
CHECKED_PARAMETERS: Final = (0.1e9, 1.1e12)
CHECKED_GPUS: Final = 3072
CHECKED_TECHNOLOGIES: Final = frozenset({"infiniband-hdr", "infiniband-ndr", "rocev2-200g"})
CHECKED_EXPOSED: Final = 0.35  # share of a step


def predict(
    job: Job,
    *,
    model: Model,
    network: Network,
    engine: Engine,
    practice: Practice = MEGATRON_CORE,
    residual: Residual | None = None,
) -> Step:
    """Return one optimizer step of *job* on all GPUs of *network*.

    Args:
        job: Training, parallelism and placement; its ``model`` name is not looked at.
        model: The model's shape.
        network: The machines and what connects them.
        engine: Asked once for each distinct collective.
        practice: What the training software overlaps.
        residual: What steps take beyond their operators; that of the GPU's generation without.

    Raises:
        SpecError: the parallelism does not multiply out or divide.
        InfeasibleError: the model does not fit in the GPU's memory.
    """
    shape = transformer(model)
    num_gpus = network.design.num_gpus
    plan = layout(job.parallel, node=network.node, num_gpus=num_gpus, placement=job.placement)
    check_model(model, plan)
    batches = num_micro_batches(job.training, plan)
    machine = roofline(network.gpu, job.training.precision)
    left = residual_of(network.gpu) if residual is None else residual
    held = check_memory(shape, plan, job.training, gpu=network.gpu, attention=practice.attention)
    asked = demand(shape, plan, job.training, num_micro_batches=batches)
    outcomes = _ask(asked, network, engine)
    traffic = Traffic(
        communications=asked.communications,
        durations_s={what: outcome.duration_s for what, outcome in outcomes.items()},
        practice=practice,
    )
    slowdown = slowest_of(num_gpus)
    clock = _Clock(machine, _roofline_16(network.gpu, job.training), left, practice, job.training)
    stages = _stages(shape, plan, job.training, clock, traffic)
    times = schedule(
        stages,
        traffic,
        num_micro_batches=batches,
        virtual=plan.virtual_pipeline,
        slowdown=slowdown,
        order=plan.schedule,
    )
    optimizer_s = machine.optimizer_s(_optimizer_bytes(shape, plan))
    needed, executed = step_flops(shape, job.training)
    ingredients = Ingredients(
        times=times,
        optimizer_s=optimizer_s,
        machine=machine,
        demand=asked,
        outcomes=outcomes,
        practice=practice,
        residual=left,
        precision=job.training.precision,
        slowdown=slowdown,
        optimizer_source=OPTIMIZER_SOURCE,
        stages=stages,
        layers=stage_layers(shape.model.num_layers, plan.pipeline),
        virtual=plan.virtual_pipeline,
        hardware_flops=executed / num_gpus,
    )
    exposed_share = sum(times.exposed_s.values()) / ingredients.duration_s
    return Step(
        duration_s=ingredients.duration_s,
        compute_s=times.compute_s,
        bubble_s=times.bubble_s,
        optimizer_s=optimizer_s,
        communication_s=times.communication_s,
        exposed_s=times.exposed_s,
        model_flops=needed / num_gpus,
        hardware_flops=executed / num_gpus,
        peak_flops=machine.peak_flops,
        tokens=job.training.global_batch * job.training.sequence,
        memory=held,
        pipeline=pipeline_of(
            stages,
            times,
            num_micro_batches=batches,
            virtual=plan.virtual_pipeline,
            order=plan.schedule,
        ),
        validity=_validity(shape, plan, network, practice)
        & _gpu_validity(machine, left)
        & _network_validity(network, outcomes, exposed_share)
        & memory_validity(held),
        why=explain(ingredients),
    )


def _ask(asked: Demand, network: Network, engine: Engine) -> dict[Collective, Outcome]:
    distinct = dict.fromkeys(item.collective for item in asked.communications)
    return {what: engine.run(what, network) for what in distinct}


def _stages(
    shape: Transformer, plan: Layout, training: Training, clock: _Clock, traffic: Traffic
) -> list[StageTimes]:
    """Return the times of every pipeline stage, first to last."""
    shard = replace(shard_of(plan, training), attention=traffic.practice.attention)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    layer: dict[bool, StageTimes] = {}
    for moe in (False, True):
        if shape.num_moe_layers if moe else shape.num_dense_layers:
            operators = layer_operators(shape, shard, moe=moe)
            one = clock.costs(operators, recompute=training.recompute)
            exposed_s = layer_exposed_s(traffic, one, moe=moe)
            forward = layer_exposed_s(traffic, one, moe=moe, only="forward")
            layer[moe] = StageTimes(
                costs=one,
                exposed_s=exposed_s,
                exposed_forward_s=sum(forward.values()),
                host_s=clock.host_s(one, sum(exposed_s.values())),
            )
    first, last = _ends(shape, shard, clock)
    stages = []
    for stage, num_layers in enumerate(counts):
        end = (first if stage == 0 else NO_COSTS) + (
            last if stage == plan.pipeline - 1 else NO_COSTS
        )
        num_dense = stage_dense_layers(shape, counts, stage)
        stages.append(_stage(layer, num_dense, num_layers - num_dense, end))
    return stages


def _stage(
    layer: Mapping[bool, StageTimes], num_dense: int, num_moe: int, end: Costs
) -> StageTimes:
    total = end
    forward_s = host_s = 0.0
    exposed_s: dict[Axis, float] = {}
    for count, moe in ((num_dense, False), (num_moe, True)):
        if count:
            total += layer[moe].costs * count
            forward_s += layer[moe].exposed_forward_s * count
            host_s += layer[moe].host_s * count
            for axis, time_s in layer[moe].exposed_s.items():
                exposed_s[axis] = exposed_s.get(axis, 0.0) + count * time_s
    return StageTimes(costs=total, exposed_s=exposed_s, exposed_forward_s=forward_s, host_s=host_s)


def _ends(shape: Transformer, shard: Shard, clock: _Clock) -> tuple[Costs, Costs]:
    """Return the costs of the embedding and of logits and loss; neither is recomputed."""
    first = clock.costs(embedding_operators(shape, shard), recompute="none")
    # Logits stay in 16 bits: Megatron-Core's and torchtitan's output layer is never fp8.
    return first, clock.in_16_bits().costs(head_operators(shape, shard), recompute="none")


@dataclass(frozen=True, slots=True)
class _Clock:
    """How long operators take in a step."""

    machine: Roofline
    machine_16: Roofline
    residual: Residual
    practice: Practice
    training: Training

    def costs(self, operators: Iterable[Operator], *, recompute: Recompute) -> Costs:
        """Return the time of *operators* on the GPU."""
        found = costs(map(self._slowed, operators), self.machine, recompute=recompute)
        return found * (self.residual.of(self.training.precision) * self.practice.age)

    def in_16_bits(self) -> _Clock:
        """Return the clock of operators that stay in 16 bits in fp8 training."""
        return replace(self, machine=self.machine_16, training=_in_bf16(self.training))

    def host_s(self, layer: Costs, exposed_s: float) -> float:
        """Return how long the GPU waits for the host in one layer, all its passes.

        The GPU waits where a pass is shorter than its launch. Passes of a layer differ, so
        around the crossing the two add in part: the fourth-power mean.
        """
        num_passes = 3 if layer.recompute_s > layer.forward_s / 2 else 2
        launch_s = num_passes * self.practice.host_s
        gpu_s = layer.total_s + exposed_s
        return float((gpu_s**4 + launch_s**4) ** 0.25 - gpu_s)

    def _slowed(self, operator: Operator) -> Operator:
        """Return *operator* with the work that older kernels make of it."""
        match operator.kind:
            case "attention":
                slower = self.residual.attention(self.practice.flash)
                return replace(
                    operator,
                    flops=slower * operator.flops,
                    backward_flops=slower * operator.backward_flops,
                )
            case "pointwise" | "norm":
                slower = 1.0 if self.practice.fused else self.residual.unfused
                return replace(
                    operator,
                    size_bytes=slower * operator.size_bytes,
                    backward_bytes=slower * operator.backward_bytes,
                )
            case _:
                return operator


def _in_bf16(training: Training) -> Training:
    if training.precision != "fp8":
        return training
    return training.model_copy(update={"precision": "bf16"})


def _roofline_16(gpu: Gpu, training: Training) -> Roofline:
    return roofline(gpu, _in_bf16(training).precision)


def _optimizer_bytes(shape: Transformer, plan: Layout) -> float:
    """Return what the weight update of the fullest GPU moves."""
    held = [stage_parameters(shape, plan, stage=stage) for stage in {0, plan.pipeline - 1}]
    copies = plan.expert_data if plan.expert > 1 else plan.replicas
    dense, experts = (plan.replicas, copies) if plan.zero else (1, 1)
    return max(OPTIMIZER_BYTES * (one.dense / dense + one.experts / experts) for one in held)


def _validity(shape: Transformer, plan: Layout, network: Network, practice: Practice) -> Validity:
    """Return the doubts that the job itself raises."""
    doubts = []
    count = parameters(shape.model)
    if not CHECKED_PARAMETERS[0] <= count <= CHECKED_PARAMETERS[1]:
        doubts.append(f"Steps were checked from 0.1B to 1T parameters, not {count / 1e9:.3g}B.")
    if plan.num_gpus > CHECKED_GPUS:
        doubts.append(
            f"Steps were checked on up to {CHECKED_GPUS:,} GPUs, not {plan.num_gpus:,}; seven "
            "published runs of 4,480 to 12,288 come out 15 % too fast to 9 % too slow."
        )
    if shape.num_moe_layers:
        doubts.append("No mixture-of-experts step was checked.")
    if plan.zero > 1 and practice.name != FSDP_2023.name:
        doubts.append(f"ZeRO {plan.zero} was checked with {FSDP_2023.name} only.")
    if plan.schedule != "1f1b" and plan.pipeline > 1:
        doubts.append(f"No step with schedule: {plan.schedule} was checked.")
    if plan.tensor > network.node.num_gpus:
        doubts.append("Tensor parallelism across nodes was checked and found 20 to 25 % too fast.")
    return Validity(tuple(doubts))


def _gpu_validity(machine: Roofline, left: Residual) -> Validity:
    """Return the doubts about the GPU.

    Steps on GPUs with a residual were checked as wholes, whatever their operators rest on.
    """
    return Validity() if left.validity.inside else left.validity & machine.validity


def _network_validity(
    network: Network, outcomes: Mapping[Collective, Outcome], exposed_share: float
) -> Validity:
    """Return the collectives' own doubts, where the checked steps do not answer for them.

    Steps that exposed little communication on these technologies were checked as wholes.
    """
    if network.technology.name in CHECKED_TECHNOLOGIES and exposed_share <= CHECKED_EXPOSED:
        return Validity()
    validity = Validity()
    for outcome in outcomes.values():
        validity &= outcome.validity
    return validity
