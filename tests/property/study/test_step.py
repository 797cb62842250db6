"""What must hold of every step, whatever the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.compute.roofline import Costs
from netloom.spec.scenario import Job, Parallel, Placement, Training
from netloom.step.memory import memory
from netloom.step.predict import predict
from netloom.step.schedule import StageTimes, Traffic, schedule, slowest_of
from netloom.step.software import practice_named
from netloom.workload.collective import Axis
from netloom.workload.placement import axis_groups, layout, stage_layers
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.step.practice import Practice

powers = st.sampled_from([1, 2, 4, 8])
seconds = st.floats(min_value=1e-3, max_value=10.0)
MEGATRON_CORE = practice_named("megatron-core-2024")
practices = st.sampled_from(
    [MEGATRON_CORE, practice_named("megatron-2022"), practice_named("fsdp-2023")]
)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Return a job of 256 GPUs that divides."""
    pipeline = draw(powers)
    parallel = {
        "tensor": draw(powers),
        "pipeline": pipeline,
        "context": draw(st.sampled_from([1, 2])),
        "virtual_pipeline": draw(st.sampled_from([1, 2])) if pipeline > 1 else 1,
        "zero": draw(st.sampled_from([0, 1, 2, 3])),
        "sequence_parallel": draw(st.booleans()),
    }
    training = {
        "sequence": 2048,
        "global_batch": 1024,
        "recompute": draw(st.sampled_from(["none", "selective", "full"])),
        "precision": draw(st.sampled_from(["bf16", "fp8"])),
    }
    return Job.model_validate({"model": "any", "training": training, "parallel": parallel})


@settings(max_examples=60)
@given(work=jobs(), factor=st.floats(min_value=1.0, max_value=100.0), practice=practices)
def test_a_faster_network_never_slows_a_step(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
    work: Job,
    factor: float,
    practice: Practice,
) -> None:
    model, network = model_of("llama-3.1-8b", num_layers=14), network_of("H100", 256)
    slow, fast = (
        predict(
            work,
            model=model,
            network=network,
            engine=alpha_beta(
                alpha_s=10e-6 / times,
                inside_bytes_per_s=370e9 * times,
                between_bytes_per_s=45e9 * times,
            ),
            practice=practice,
        )
        for times in (1.0, factor)
    )
    assert fast.duration_s <= slow.duration_s * (1 + 1e-12)


@settings(max_examples=60)
@given(work=jobs())
def test_on_a_network_without_cost_a_step_is_compute_bubble_and_update(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
    work: Job,
) -> None:
    free = alpha_beta(
        alpha_s=0.0, inside_bytes_per_s=float("inf"), between_bytes_per_s=float("inf")
    )
    step = predict(
        work,
        model=model_of("llama-3.1-8b", num_layers=16),
        network=network_of("H100", 256),
        engine=free,
    )
    assert sum(step.exposed_s.values()) == 0
    assert step.duration_s == step.compute_s + step.bubble_s + step.optimizer_s
    if work.parallel.pipeline == 1:
        assert step.bubble_s == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=60)
@given(work=jobs())
def test_exposed_communication_is_part_of_all_communication(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
    work: Job,
) -> None:
    step = predict(
        work,
        model=model_of("llama-3.1-8b", num_layers=16),
        network=network_of("H100", 256),
        engine=alpha_beta(),
    )
    for axis in Axis:
        assert 0 <= step.exposed_s[axis] <= step.communication_s[axis] * (1 + 1e-9)


@given(
    times=st.lists(seconds, min_size=1, max_size=8),
    num_micro_batches=st.integers(1, 64),
    virtual=st.integers(1, 4),
    data=st.data(),
)
def test_a_pipeline_does_not_care_in_which_order_its_stages_stand(
    times: list[float], num_micro_batches: int, virtual: int, data: st.DataObject
) -> None:
    nothing = Traffic(communications=(), durations_s={}, practice=MEGATRON_CORE)

    def run(order: list[float]) -> float:
        stages = [StageTimes(costs=Costs(forward_s=t), exposed_s={}) for t in order]
        found = schedule(stages, nothing, num_micro_batches=num_micro_batches, virtual=virtual)
        return found.compute_s + found.bubble_s

    expected = num_micro_batches * max(times) + (sum(times) - max(times)) / virtual
    assert run(times) == pytest.approx(expected)
    assert run(data.draw(st.permutations(times))) == pytest.approx(expected)


@given(micro_batch=st.integers(1, 16), recompute=st.sampled_from(["none", "selective", "full"]))
def test_larger_micro_batches_never_need_less_memory(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    micro_batch: int,
    recompute: str,
) -> None:
    network = network_of("H100", 64)
    plan = layout(
        Parallel(tensor=4, pipeline=4), node=network.node, num_gpus=64, placement=Placement()
    )

    def held(size: int) -> float:
        training = Training.model_validate(
            {"global_batch": 4096, "micro_batch": size, "recompute": recompute}
        )
        shape = transformer(model_of("llama-2-70b"))
        return memory(
            shape, plan, training, gpu=network.gpu, practice=practice_named("megatron-core-2024")
        ).total_bytes

    assert held(micro_batch) < held(micro_batch + 1)


@given(num_layers=st.integers(1, 200), num_stages=st.integers(1, 64))
def test_every_layer_stands_on_one_stage_and_stages_differ_by_one_at_most(
    num_layers: int, num_stages: int
) -> None:
    counts = stage_layers(num_layers, num_stages)
    assert len(counts) == num_stages
    assert sum(counts) == num_layers
    assert max(counts) - min(counts) <= 1


@given(tensor=powers, context=powers, pipeline=powers, data=powers, gpus_per_node=powers)
def test_groups_never_claim_more_of_a_node_than_it_has(
    network_of: Callable[..., Network],
    tensor: int,
    context: int,
    pipeline: int,
    data: int,
    gpus_per_node: int,
) -> None:
    num_gpus = tensor * context * pipeline * data
    plan = layout(
        Parallel(tensor=tensor, context=context, pipeline=pipeline),
        node=network_of("H100", num_gpus, gpus_per_node).node,
        num_gpus=num_gpus,
        placement=Placement(),
    )
    found = axis_groups(plan)
    sizes = {axis: group.size for axis, group in found.items()}
    assert sizes[Axis.TENSOR] * sizes[Axis.DATA] * sizes[Axis.PIPELINE] == num_gpus
    for group in found.values():
        assert group.per_node <= gpus_per_node
        assert group.active_per_node <= gpus_per_node
        assert group.num_nodes * gpus_per_node <= max(num_gpus, gpus_per_node)


@given(num_ranks=st.integers(1, 10**6))
def test_more_ranks_never_have_a_faster_slowest(num_ranks: int) -> None:
    assert 1.0 <= slowest_of(num_ranks) <= slowest_of(num_ranks + 1) < 1.1
