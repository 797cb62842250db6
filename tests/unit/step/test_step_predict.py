"""A whole step, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from netloom.errors import InfeasibleError, SpecError
from netloom.spec.scenario import Job
from netloom.step.predict import predict
from netloom.step.software import practice_named
from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.provenance import Why
    from netloom.step.model import Step
    from netloom.workload.collective import Collective

TRAINING = {"sequence": 8192, "global_batch": 2048}


def job(training: dict[str, Any] | None = None, **parallel: Any) -> Job:
    return Job.model_validate(
        {"model": "any", "training": training or TRAINING, "parallel": parallel}
    )


def leaves(why: Why) -> list[Why]:
    return [leaf for part in why.parts for leaf in leaves(part)] if why.parts else [why]


def test_the_parts_of_a_step_add_up_to_it_exactly(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    step = predict(
        job(tensor=8, pipeline=16),
        model=model_of("llama-3.1-405b"),
        network=network_of("H100", 16384),
        engine=alpha_beta(),
    )
    parts = step.compute_s + step.bubble_s + sum(step.exposed_s.values()) + step.optimizer_s
    assert parts == step.duration_s
    assert step.why.value == step.duration_s
    for axis in Axis:
        assert 0 <= step.exposed_s[axis] <= step.communication_s[axis] * (1 + 1e-9)


def test_llama_405b_on_16384_gpus_lands_near_its_published_utilisation(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    # Llama 3 (arXiv:2407.21783) Table 4: 41 % MFU at tensor 8, context 1, pipeline 16,
    # data 128, batch 16 a data rank. The number of virtual stages is not published; with one
    # layer in each the bubble is about 15/(16 x 7), without them 15/16.
    step = predict(
        job(tensor=8, pipeline=16, virtual_pipeline=7),
        model=model_of("llama-3.1-405b"),
        network=network_of("H100", 16384),
        engine=alpha_beta(),
    )
    assert 0.30 < step.mfu < 0.50
    assert step.hfu > step.mfu
    assert "16,384" in " ".join(step.validity.doubts)


def test_each_distinct_collective_is_asked_once(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    asked: list[Collective] = []
    inner = alpha_beta()

    class Counting:
        name = "counting"

        def run(self, collective: Collective, network: Network) -> Outcome:
            asked.append(collective)
            return inner.run(collective, network)

    predict(
        job({"sequence": 4096, "global_batch": 512}, tensor=2, expert=8, pipeline=4),
        model=model_of("mixtral-8x7b"),
        network=network_of("H100", 64),
        engine=Counting(),
    )
    assert len(asked) == len(set(asked))
    assert asked


def test_a_mixture_of_experts_exposes_its_all_to_all_and_says_it_was_not_checked(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    step = predict(
        job({"sequence": 4096, "global_batch": 2048, "recompute": "full"}, pipeline=8, expert=64),
        model=model_of("deepseek-v3"),
        network=network_of("H100", 2048),
        engine=alpha_beta(),
    )
    assert step.exposed_s[Axis.EXPERT] == pytest.approx(step.communication_s[Axis.EXPERT], rel=0.1)
    assert any("mixture steps on hopper" in doubt for doubt in step.validity.doubts)


def test_the_explanation_goes_down_to_constants_with_sources(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    step = predict(
        job(tensor=8, pipeline=16),
        model=model_of("llama-3.1-405b"),
        network=network_of("H100", 16384),
        engine=alpha_beta(),
    )
    names = {leaf.name for leaf in leaves(step.why)}
    assert {"typical product over best", "spread of ranks", "launch", "alpha-beta"} <= names
    total = sum(part.value for part in step.why.parts if isinstance(part.value, float))
    assert total == pytest.approx(step.duration_s)


def test_older_software_hides_less(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    work = job({"sequence": 2048, "global_batch": 1536}, tensor=8, pipeline=8)
    model, network = model_of("gpt-3-175b"), network_of("A100", 1024)

    def step(name: str) -> Step:
        practice = practice_named(name)
        engine = alpha_beta()
        return predict(work, model=model, network=network, engine=engine, practice=practice)

    now, then = step("megatron-core-2024"), step("megatron-2022")
    assert then.duration_s > now.duration_s
    assert then.exposed_s[Axis.TENSOR] > now.exposed_s[Axis.TENSOR]


@pytest.mark.parametrize(
    ("practice", "share"), [("fsdp-2023", 0.895), ("maxtext", 0.15), ("megatron-2022", 1.0)]
)
def test_a_step_waits_for_what_gradients_slow_it_or_for_all_of_them(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
    practice: str,
    share: float,
) -> None:
    # Without latency and with much to compute, all of it fits beside the last backward pass: what
    # is left is the drag. Megatron-LM of 2022 reduced gradients after it.
    step = predict(
        job({"sequence": 8192, "global_batch": 64, "recompute": "full"}, zero=1),
        model=model_of("llama-3.1-8b"),
        network=network_of("H100", 64),
        engine=alpha_beta(alpha_s=0.0, between_bytes_per_s=450e9),
        practice=practice_named(practice),
    )
    assert step.exposed_s[Axis.DATA] / step.communication_s[Axis.DATA] == pytest.approx(share)


def test_a_job_that_cannot_run_never_gets_to_the_engine(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
) -> None:
    class Refusing:
        name = "refusing"

        def run(self, collective: Collective, network: Network) -> Outcome:
            raise AssertionError(collective, network)

    model, network = model_of("llama-3.1-405b"), network_of("H100", 64)
    with pytest.raises(SpecError):
        predict(job(tensor=3), model=model, network=network, engine=Refusing())
    with pytest.raises(InfeasibleError):
        predict(job(tensor=8), model=model, network=network, engine=Refusing())


@pytest.mark.parametrize(("expert", "doubts"), [(8, 0), (16, 1), (24, 0)])
def test_expert_groups_that_do_not_fill_a_rack_say_what_would(
    expert: int,
    doubts: int,
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    # 72 GPUs hold nine groups of 8 and three of 24, but four and a half of 16.
    step = predict(
        job({"sequence": 4096, "global_batch": 144, "recompute": "full"}, expert=expert),
        model=model_of("qwen3-30b-a3b", num_experts=144),
        network=network_of("H100", 144, gpus_per_node=72),
        engine=alpha_beta(),
    )
    told = [doubt for doubt in step.validity.doubts if "do not fill nodes of 72" in doubt]
    assert len(told) == doubts
    assert all("'gpus_per_node: 64'" in doubt for doubt in told)
