"""A whole service, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from netloom.errors import InfeasibleError, SpecError
from netloom.spec.inference import Serving
from netloom.spec.scenario import Placement
from netloom.step.low_latency import low_latency_exchange
from netloom.step.serving import serve, share_out
from netloom.step.two_batches import HalfBatch
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.provenance import Why
    from netloom.step.serving_model import Service

ASKED: dict[str, Any] = {"prompt": 4096, "output": 513, "batch": 64, "decode": {"tensor": 8}}


@pytest.fixture
def served(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> Callable[..., Service]:
    def run(model: str = "llama-2-70b", gpus: int = 64, **changes: Any) -> Service:
        return serve(
            Serving.model_validate(ASKED | changes),
            model=model_of(model),
            network=network_of("H100", gpus),
            engine=alpha_beta(),
            placement=Placement(),
        )

    return run


def leaves(why: Why) -> list[Why]:
    return [leaf for part in why.parts for leaf in leaves(part)] if why.parts else [why]


def test_a_decode_step_of_one_request_streams_the_weights(served: Callable[..., Service]) -> None:
    found = served(batch=1, prompt=1, output=2, decode={"tensor": 1}, precision="fp8", gpus=8)
    # 68.4 GB of layers in 8 bits and an output matrix of 0.52 GB at 83 % of 3.35 TB/s.
    streamed_s = (68.4e9 + 0.52e9) / (0.83 * 3.35e12)
    # Besides, each of a layer's 11 operators and 4 casts costs a launch of 5 us: 80 x 15 x 5 us.
    launches_s = 80 * 15 * 5e-6
    assert found.decode_step_s == pytest.approx(streamed_s + launches_s, rel=0.02)


def test_apart_the_first_token_waits_for_the_last_layers_keys(
    served: Callable[..., Service],
) -> None:
    found = served(disaggregated=True)
    assert found.transfer is not None
    # One layer of one rank: 4,096 x 512 B at 45 GB/s after 10 us. It takes less than a layer's
    # computation, so only the last layer's is left when the prompt has been read.
    layer_s = 10e-6 + 4096 * 512 / 45e9
    assert found.transfer.layer_s == pytest.approx(layer_s)
    assert found.transfer.exposed_s == found.transfer.layer_s
    assert found.time_to_first_token_s == pytest.approx(found.prefill.through_s + layer_s)
    assert found.time_per_token_s == found.decode_step_s


def test_a_network_slower_than_the_prompt_is_waited_for(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> None:
    found = serve(
        Serving.model_validate(ASKED | {"disaggregated": True}),
        model=model_of("llama-2-70b"),
        network=network_of("H100", 64),
        engine=alpha_beta(between_bytes_per_s=1e8),
        placement=Placement(),
    )
    transfer = found.transfer
    assert transfer is not None
    # c + L t in all: the first layer's computation, then 80 layers one after another.
    one_s = found.prefill.through_s / 80
    assert found.time_to_first_token_s == pytest.approx(one_s + 80 * transfer.layer_s)
    # The NICs of one instance that reads send one prompt after another.
    assert found.pools.requests_per_s == pytest.approx(found.pools.prefill / transfer.total_s)


def test_together_prompts_stand_between_tokens(served: Callable[..., Service]) -> None:
    found = served()
    step_s, prompt_s = found.decode_step_s, found.prefill.through_s
    assert found.time_to_first_token_s == pytest.approx(prompt_s + step_s / 2)
    # In the 512 steps of a request, 64 others end and as many prompts are read.
    assert found.time_per_token_s == pytest.approx(step_s + 64 * prompt_s / 512)
    # 64 requests of 513 tokens in 512 steps and 64 prompts, on 8 instances of 8 GPUs.
    busy_s = 512 * step_s + 64 * prompt_s
    assert found.tokens_per_s_per_gpu == pytest.approx(64 * 513 / busy_s / 8)
    assert (found.pools.prefill, found.pools.decode, found.transfer) == (0, 8, None)


def test_a_pipeline_works_on_as_many_batches_as_it_has_stages(
    served: Callable[..., Service],
) -> None:
    found = served(decode={"tensor": 2, "pipeline": 4}, disaggregated=True)
    assert len(found.decode.stages_s) == 4
    cycle_s = max(4 * found.decode.slowest_s, sum(found.decode.stages_s) + 4 * found.decode.hop_s)
    assert found.decode_step_s == pytest.approx(cycle_s)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((1.0, 1.0), (4, 4, 4.0, "decode")),
        ((3.0, 1.0), (2, 6, 6.0, "decode")),
        ((1.0, 100.0), (7, 1, 7.0, "prefill")),
        ((100.0, 1.0), (1, 7, 7.0, "decode")),
    ],
)
def test_the_cluster_is_shared_out_so_that_most_is_answered(
    rates: tuple[float, float], expected: tuple[int, int, float, str]
) -> None:
    found = share_out(64, gpus=(8, 8), requests_per_s=rates)
    assert (found.prefill, found.decode, found.requests_per_s, found.bound) == expected


def test_what_does_not_fit_says_how_many_requests_would(served: Callable[..., Service]) -> None:
    with pytest.raises(InfeasibleError, match=r"serving\.batch: 4,096 requests .* requests fit"):
        served(batch=4096)
    most = served(batch=64).decode_memory.max_requests
    assert served(batch=most).decode_memory.total_bytes <= 80 * 2**30
    with pytest.raises(InfeasibleError, match="requests fit"):
        served(batch=most + 8)


def test_a_model_whose_weights_do_not_fit_is_refused(served: Callable[..., Service]) -> None:
    with pytest.raises(InfeasibleError, match="not even the fewest"):
        served(decode={"tensor": 1}, batch=1)
    with pytest.raises(InfeasibleError, match=r"serving\.prompt: .* shorten the prompt"):
        served(prefill={"tensor": 1}, disaggregated=True)


def test_the_cache_of_a_gpu_is_counted_at_full_length(served: Callable[..., Service]) -> None:
    found = served()
    # 64 requests x 4,609 tokens x 80 layers x 512 B of one rank.
    assert found.decode_memory.cache_bytes == 64 * 4609 * 80 * 512


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"decode": {"tensor": 2, "data": 4}, "batch": 6}, SpecError, "use 8"),
        ({"gpus": 8, "disaggregated": True}, InfeasibleError, "does not fit in the cluster's 8"),
        ({"gpus": 8, "decode": {"tensor": 8, "data": 2}}, InfeasibleError, "cluster's 8"),
    ],
)
def test_a_service_that_cannot_be_says_what_to_change(
    served: Callable[..., Service], changes: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        served(**changes)


def test_one_instance_cannot_have_two_shapes() -> None:
    with pytest.raises(ValidationError, match="disaggregated: true"):
        Serving.model_validate(ASKED | {"prefill": {"tensor": 4}})


def test_every_number_is_explained_and_doubted(served: Callable[..., Service]) -> None:
    found = served("mixtral-8x7b", disaggregated=True, decode={"data": 8, "expert": 8}, gpus=64)
    first, token, rate, _ = found.why.parts
    assert first.value == found.time_to_first_token_s
    assert token.value == found.time_per_token_s
    assert rate.value == pytest.approx(found.tokens_per_s_per_gpu)
    assert any(leaf.source for leaf in leaves(found.why))
    doubts = " ".join(found.validity.doubts)
    for what in (
        "compared on one node only",
        "instances of their own",
        "Experts spread over nodes",
    ):
        assert what in doubts


@pytest.mark.parametrize(
    ("gpus", "there_us", "back_us"),
    [(16, 118, 195), (32, 155, 273), (64, 173, 314), (128, 192, 369), (256, 194, 360)],
)
def test_deepep_takes_as_long_as_its_table_says(
    network_of: Callable[..., Network], gpus: int, there_us: float, back_us: float
) -> None:
    # deepseek-ai/DeepEP docs/legacy.md: 128 tokens of 7,168 values to 8 experts each, there in 8
    # bits and back in 16, 400 Gb/s NICs. Start and share of the rate are from 16 to 64 GPUs.
    group = Group(size=gpus, per_node=8, active_per_node=8)
    for each_bytes, measured_us in ((1, there_us), (2, back_us)):
        asked = Collective(
            kind=CollectiveKind.ALL_TO_ALL, size_bytes=each_bytes * 128 * 8 * 7168, group=group
        )
        found = low_latency_exchange(asked, network_of("H100", max(gpus, 8)))
        assert 1e6 * found.duration_s == pytest.approx(measured_us, rel=0.1)


def test_experts_reached_by_deepep_answer_sooner(served: Callable[..., Service]) -> None:
    def passes(**changes: Any) -> Service:
        decode = {"data": 64, "expert": 64, **changes}
        return served("deepseek-v3", batch=8192, decode=decode, precision="fp8", prompt=2000)

    plain, direct = passes(expert_dispatch="all-to-all"), passes()
    hidden = passes(expert_overlap=True)
    assert hidden.decode_step_s < direct.decode_step_s < plain.decode_step_s
    assert hidden.prefill.through_s < direct.prefill.through_s < plain.prefill.through_s


@pytest.mark.parametrize(
    ("there_s", "back_s", "decoding_s", "reading_s"),
    [
        # Decoding: behind shared experts and projections, 1 + 2, and behind the attention, 4.
        # Reading: behind projections and attention, 2 + 4, and the experts, 5; of those on their
        # way back the first half's behind experts and shared ones, 5 + 1, the other's behind 2.
        (3.0, 2.0, 0.0, 0.0),
        (3.5, 4.0, 2 * 0.5, 2.0),
        (5.5, 6.0, 2 * (2.5 + 2.0), 0.5 + 4.0),
        (9.0, 8.0, 2 * (6.0 + 4.0), 3.0 + 4.0 + 2.0 + 6.0),
    ],
)
def test_a_half_of_a_batch_hides_each_way_behind_what_runs_beside_it(
    there_s: float, back_s: float, decoding_s: float, reading_s: float
) -> None:
    half = HalfBatch(
        projections_s=2.0,
        attention_s=4.0,
        shared_s=1.0,
        experts_s=5.0,
        there_s=there_s,
        back_s=back_s,
    )
    assert half.exposed_decoding_s == decoding_s
    assert half.exposed_reading_s == reading_s
