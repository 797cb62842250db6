"""From a job, a model, a network and an engine to one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.compute.roofline import roofline
from netloom.errors import SpecError
from netloom.provenance import Source, Validity
from netloom.spec.tuning import ALL_WEIGHTS
from netloom.step.basis import exposed_waits, layers_of, step_point
from netloom.step.efficiency import efficiency_validity
from netloom.step.explain import Ingredients, explain
from netloom.step.kinds import kind_shares
from netloom.step.memory import check_memory, memory_validity
from netloom.step.model import Step
from netloom.step.offload import host_update_s, offloaded_bytes, waiting_for_host
from netloom.step.residual import residual_of
from netloom.step.schedule import Traffic, pipeline_of, schedule, slowest_of
from netloom.step.software import practice_for, software_validity
from netloom.step.stages import clock_of, stages_of
from netloom.step.tuning import diffusion_validity, tuning_validity
from netloom.step.zero import check_zero, zero_validity
from netloom.validated.intervals import StepBasis
from netloom.validated.near import step_doubts
from netloom.validated.steps import step_range
from netloom.workload.demand import demand
from netloom.workload.flops import step_flops
from netloom.workload.placement import (
    check_model,
    check_router,
    has_even_chunks,
    layout,
    num_micro_batches,
    stage_layers,
)
from netloom.workload.recomputation import again_flops
from netloom.workload.sharding import PLAIN_WEIGHTS, trained_parameters
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.compute.roofline import Roofline
    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model, Node
    from netloom.spec.scenario import Job, Training
    from netloom.spec.tuning import Tuning
    from netloom.step.practice import Practice
    from netloom.step.residual import Residual
    from netloom.workload.collective import Collective
    from netloom.workload.demand import Demand
    from netloom.workload.placement import Layout
    from netloom.workload.sharding import WeightFormat
    from netloom.workload.transformer import Transformer

__all__ = ["gpu_validity", "job_validity", "optimizer_bytes", "predict", "update_s"]

# Adam on fp32 states reads and writes master weight, momentum and variance: 6 x 4. It also reads
# the gradient, once more for its norm, and writes the weight: 2 x 4 + 2, or as software has them.
OPTIMIZER_BYTES: Final = 24
FP32_BYTES: Final = 4
OPTIMIZER_SOURCE: Final = Source(
    citation="bytes counted of mixed-precision Adam", confidence="derived"
)


def predict(
    job: Job,
    *,
    model: Model,
    network: Network,
    engine: Engine,
    practice: Practice | None = None,
    residual: Residual | None = None,
) -> Step:
    """Return one optimizer step of *job* on all GPUs of *network*.

    Args:
        job: Training, parallelism and placement; its ``model`` name is not looked at.
        model: The model's shape.
        network: The machines and what connects them.
        engine: Asked once for each distinct collective.
        practice: What the training software does; default: that of ``job.software``.
        residual: What steps take beyond their operators; default: that of the GPU's generation.

    Raises:
        SpecError: the parallelism does not multiply out or divide.
        InfeasibleError: the model does not fit in the GPU's memory.
    """
    software = practice_for(job, network.gpu) if practice is None else practice
    shape = transformer(model)
    num_gpus = network.design.num_gpus
    plan = layout(job.parallel, node=network.node, num_gpus=num_gpus, placement=job.placement)
    check_model(model, plan)
    check_router(model, job.trained)
    check_zero(plan, software)
    batches = num_micro_batches(job.trained, plan)
    _check_accumulation(batches, software)
    machine = roofline(network.gpu, job.trained.precision)
    left = residual_of(network.gpu) if residual is None else residual
    held = check_memory(shape, plan, job.trained, gpu=network.gpu, practice=software)
    asked = demand(
        shape,
        plan,
        job.trained,
        num_micro_batches=batches,
        weights=software.weights,
        modules=software.recompute_modules,
        repeats_keys=software.repeats_keys,
    )
    outcomes = _ask(asked, network, engine)
    traffic = Traffic(
        communications=asked.communications,
        durations_s={what: outcome.duration_s for what, outcome in outcomes.items()},
        practice=software,
    )
    slowdown = slowest_of(num_gpus)
    clock = clock_of(network.gpu, job.trained, residual=left, practice=software)
    stages = stages_of(shape, plan, job.trained, clock, traffic)
    moved = offloaded_bytes(
        shape, plan, job.trained, stages=range(plan.pipeline), practice=software
    )
    stages = [
        waiting_for_host(stage, size, network.node)
        for stage, size in zip(stages, moved, strict=True)
    ]
    times = schedule(
        stages,
        traffic,
        num_micro_batches=batches,
        virtual=plan.virtual_pipeline,
        slowdown=slowdown,
        order=plan.schedule,
    )
    optimizer_s = update_s(
        shape,
        plan,
        machine,
        practice=software,
        node=network.node,
        tuning=job.trained.tuning,
    )
    needed = step_flops(shape, job.trained)[0]
    executed = needed + again_flops(shape, job.trained, software.recompute_modules)
    ingredients = Ingredients(
        times=times,
        optimizer_s=optimizer_s,
        machine=machine,
        demand=asked,
        outcomes=outcomes,
        practice=software,
        residual=left,
        precision=job.trained.precision,
        slowdown=slowdown,
        optimizer_source=OPTIMIZER_SOURCE,
        stages=stages,
        layers=stage_layers(shape.model.num_layers, plan.pipeline),
        virtual=plan.virtual_pipeline,
        hardware_flops=executed / num_gpus,
    )
    duration_s = ingredients.duration_s
    exposed_share = sum(times.exposed_s.values()) / duration_s
    point = step_point(
        shape,
        plan,
        job.trained,
        network=network,
        practice=software,
        num_micro_batches=batches,
    )
    mfu = needed / num_gpus / (duration_s * machine.peak_flops)
    return Step(
        duration_s=duration_s,
        compute_s=times.compute_s,
        kinds=kind_shares(shape, plan, job.trained, clock),
        host_s=times.host_s,
        bubble_s=times.bubble_s,
        optimizer_s=optimizer_s,
        communication_s=times.communication_s,
        exposed_s=times.exposed_s,
        model_flops=needed / num_gpus,
        hardware_flops=executed / num_gpus,
        peak_flops=machine.peak_flops,
        tokens=job.trained.global_batch * job.trained.sequence,
        memory=held,
        pipeline=pipeline_of(
            stages,
            times,
            num_micro_batches=batches,
            virtual=plan.virtual_pipeline,
            order=plan.schedule,
            accumulation=software.accumulation,
        ),
        validity=Validity(tuple(step_doubts(point)))
        & job_validity(shape, plan, network, software)
        & _router_validity(shape, job.trained)
        & gpu_validity(machine, left)
        & efficiency_validity(network.gpu, job.trained.precision, mfu=mfu)
        & _network_validity(network, outcomes, exposed_share)
        & memory_validity(held)
        & zero_validity(plan)
        & tuning_validity(job.trained)
        & diffusion_validity(model, job.trained),
        basis=StepBasis(
            point=point,
            duration_s=duration_s,
            waits=tuple(
                exposed_waits(asked.communications, traffic.durations_s, times.exposed_s, network)
            ),
        ),
        why=explain(ingredients),
        practice=software,
    )


def _check_accumulation(num_micro_batches: int, practice: Practice) -> None:
    if num_micro_batches % practice.accumulation:
        raise SpecError(
            key="job.software.accumulation",
            what=(
                f"a rank's {num_micro_batches} micro-batches do not divide into "
                f"{practice.accumulation} batches"
            ),
            remedy="use a divisor of them",
        )


def _ask(asked: Demand, network: Network, engine: Engine) -> dict[Collective, Outcome]:
    distinct = dict.fromkeys(item.collective for item in asked.communications)
    return {what: engine.run(what, network) for what in distinct}


def optimizer_bytes(
    shape: Transformer,
    plan: Layout,
    weights: WeightFormat = PLAIN_WEIGHTS,
    tuning: Tuning = ALL_WEIGHTS,
) -> float:
    """Return what the weight update of the fullest GPU moves."""
    each = OPTIMIZER_BYTES + 2 * (weights.gradient_bytes or FP32_BYTES) + weights.parameter_bytes
    return each * _updated_parameters(shape, plan, tuning)


def _updated_parameters(shape: Transformer, plan: Layout, tuning: Tuning) -> float:
    """Return the parameters that the fullest GPU updates."""
    ends = {0, plan.pipeline - 1}
    held = [trained_parameters(shape, plan, tuning, stage=stage) for stage in ends]
    dense, experts = (plan.sharers, plan.expert_sharers) if plan.zero else (1, 1)
    return max(one.dense / dense + one.experts / experts for one in held)


def update_s(
    shape: Transformer,
    plan: Layout,
    machine: Roofline,
    *,
    practice: Practice,
    node: Node,
    tuning: Tuning = ALL_WEIGHTS,
) -> float:
    """Return how long the weight update of the fullest GPU takes, the host's share included."""
    here_s = machine.optimizer_s(optimizer_bytes(shape, plan, practice.weights, tuning))
    there_s = host_update_s(
        _updated_parameters(shape, plan, tuning),
        practice=practice,
        gradient=practice.gradient_bytes or FP32_BYTES,
        node=node,
    )
    return (1 - practice.optimizer_offload) * here_s + there_s


def job_validity(
    shape: Transformer, plan: Layout, network: Network, practice: Practice
) -> Validity:
    """Return the doubts that the job itself raises, beside the axes that rows were measured on."""
    doubts: list[str] = []
    if plan.zero > 1 and not practice.shards_weights:
        doubts.append(
            f"No step of {practice.title} with ZeRO {plan.zero} was checked; name software that "
            "divides weights, such as fsdp-2023, in job.software."
        )
    if practice.optimizer_offload:
        doubts.append(
            "Of a weight update on the host only the transfers are counted, not the arithmetic of "
            "its CPUs: the step takes longer than this."
        )
    if plan.schedule != "1f1b" and plan.pipeline > 1:
        doubts.append(f"No step with schedule: {plan.schedule} was checked.")
    if not has_even_chunks(shape.model.num_layers, plan.pipeline, plan.virtual_pipeline):
        doubts.append(
            f"{shape.model.num_layers} layers do not make {plan.pipeline} x "
            f"{plan.virtual_pipeline} equal chunks, with or without embedding and logits; steps "
            "were checked with equal ones, and most software takes no others."
        )
    if shape.model.linear is not None:
        doubts.append(
            "Layers without attention were compared in one step (Qwen3-Next on B200, "
            "Megatron-Bridge), with what its software takes over the kernels from another; their "
            "kernels were timed on one H200."
        )
    if plan.expert > 1 and plan.expert_split > 1:
        doubts.append("No step with experts both spread and divided (expert_tensor) was compared.")
    if plan.context > 1 and plan.context_exchange != "ring":
        doubts.append("No step whose context ranks gather keys and values was checked.")
    if plan.tensor > network.node.num_gpus:
        doubts.append("Tensor parallelism across nodes was checked and found 20 to 25 % too fast.")
    doubts += _straddling(plan)
    return Validity(tuple(doubts)) & software_validity(
        practice, network.gpu, plan, layers=layers_of(shape)
    )


def _straddling(plan: Layout) -> Iterator[str]:
    """Yield a doubt for ranks that would fit in a node, but lie on two where nodes are filled."""
    nodes = plan.gpus_per_node
    for name, ranks in (("tensor", plan.tensor), ("expert", plan.expert_ranks)):
        if 1 < ranks <= nodes < plan.num_gpus and nodes % ranks:
            yield (
                f"Groups of {ranks} {name} ranks do not fill nodes of {nodes} GPUs: some lie on "
                f"two and cross the network, and others wait for them; 'gpus_per_node: "
                f"{nodes // ranks * ranks}' keeps all of them inside."
            )


def _router_validity(shape: Transformer, training: Training) -> Validity:
    """Return the doubts about tokens that are not spread evenly: benchmarks force them to be."""
    if not shape.num_moe_layers:
        return Validity()
    told = {
        "router_imbalance": training.router_imbalance > 0,
        "expert_capacity": training.expert_capacity is not None,
    }
    return Validity(
        tuple(
            f"No step with a stated {name} was compared."
            for name, is_told in told.items()
            if is_told
        )
    )


def gpu_validity(machine: Roofline, left: Residual) -> Validity:
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
    checked = step_range()
    in_range = exposed_share <= checked.max_exposed_share
    if in_range and network.technology.name in checked.technologies:
        return Validity()
    validity = Validity()
    for outcome in outcomes.values():
        validity &= outcome.validity
    return validity
