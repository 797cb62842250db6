"""What must hold of every service, whatever the requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netloom.errors import InfeasibleError
from netloom.spec.inference import Serving
from netloom.spec.scenario import Placement
from netloom.step.serving import serve, share_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.step.serving_model import Service

MODELS = ("llama-3.1-8b", "llama-2-70b", "mixtral-8x7b", "deepseek-v3")
SLACK = 1 + 1e-12


@st.composite
def services(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return a model and requests that instances of 8 or 16 GPUs can be laid out for."""
    model = draw(st.sampled_from(MODELS))
    tensor, pipeline, data = draw(st.sampled_from([(8, 1, 1), (4, 1, 2), (2, 2, 2), (8, 2, 1)]))
    many = model in {"mixtral-8x7b", "deepseek-v3"}
    expert = draw(st.sampled_from([1, 2, tensor * data])) if many else 1
    instance = {"tensor": tensor, "pipeline": pipeline, "data": data, "expert": expert}
    return model, {
        "prompt": draw(st.integers(min_value=1, max_value=20_000)),
        "output": draw(st.integers(min_value=2, max_value=4_000)),
        "batch": pipeline * data * draw(st.integers(min_value=1, max_value=64)),
        "precision": draw(st.sampled_from(["bf16", "fp8"])),
        "decode": instance,
        "disaggregated": draw(st.booleans()),
    }


class Server:
    """Serves with the same parts each time."""

    def __init__(
        self,
        model_of: Callable[..., Model],
        network_of: Callable[..., Network],
        alpha_beta: Callable[..., Engine],
    ) -> None:
        self._parts = model_of, network_of, alpha_beta

    def __call__(self, model: str, asked: dict[str, Any], times: float = 1.0) -> Service:
        model_of, network_of, alpha_beta = self._parts
        engine = alpha_beta(
            alpha_s=10e-6 / times,
            inside_bytes_per_s=370e9 * times,
            between_bytes_per_s=45e9 * times,
        )
        try:
            return serve(
                Serving.model_validate(asked),
                model=model_of(model),
                network=network_of("H100", 256),
                engine=engine,
                placement=Placement(),
            )
        except InfeasibleError:
            assume(condition=False)
            raise


@settings(max_examples=40)
@given(case=services(), factor=st.floats(min_value=1.0, max_value=100.0))
def test_a_faster_network_never_serves_slower(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
    case: tuple[str, dict[str, Any]],
    factor: float,
) -> None:
    server = Server(model_of, network_of, alpha_beta)
    slow, fast = server(*case), server(*case, factor)
    assert fast.time_to_first_token_s <= slow.time_to_first_token_s * SLACK
    assert fast.time_per_token_s <= slow.time_per_token_s * SLACK
    assert fast.tokens_per_s >= slow.tokens_per_s / SLACK


@settings(max_examples=40)
@given(case=services())
def test_twice_the_batch_answers_no_less_and_each_request_no_sooner(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
    case: tuple[str, dict[str, Any]],
) -> None:
    server, (model, asked) = Server(model_of, network_of, alpha_beta), case
    one, two = server(model, asked), server(model, asked | {"batch": 2 * asked["batch"]})
    assert two.tokens_per_s >= one.tokens_per_s / SLACK
    assert two.time_per_token_s >= one.time_per_token_s / SLACK


@settings(max_examples=40)
@given(case=services(), more=st.integers(min_value=1, max_value=20_000))
def test_a_longer_prompt_never_answers_sooner(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
    case: tuple[str, dict[str, Any]],
    more: int,
) -> None:
    server, (model, asked) = Server(model_of, network_of, alpha_beta), case
    # Below that, attention's share of the peak rises faster with the sequence than its work does.
    asked |= {"prompt": max(64, asked["prompt"])}
    short, long = server(model, asked), server(model, asked | {"prompt": asked["prompt"] + more})
    assert long.time_to_first_token_s >= short.time_to_first_token_s / SLACK
    assert long.decode_step_s >= short.decode_step_s / SLACK
    assert long.tokens_per_s <= short.tokens_per_s * SLACK


rates = st.floats(min_value=1e-3, max_value=1e3)


@given(
    num_gpus=st.integers(min_value=32, max_value=400),
    gpus=st.tuples(st.integers(1, 16), st.integers(1, 16)),
    each=st.tuples(rates, rates),
)
def test_no_other_division_of_the_cluster_answers_more(
    num_gpus: int, gpus: tuple[int, int], each: tuple[float, float]
) -> None:
    found = share_out(num_gpus, gpus=gpus, requests_per_s=each)
    assert found.prefill * gpus[0] + found.decode * gpus[1] + found.idle_gpus == num_gpus
    assert found.idle_gpus < gpus[1]
    best = max(
        min(count * each[0], (num_gpus - count * gpus[0]) // gpus[1] * each[1])
        for count in range(1, (num_gpus - gpus[1]) // gpus[0] + 1)
    )
    assert found.requests_per_s == best
