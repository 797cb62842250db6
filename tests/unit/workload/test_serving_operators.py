"""What serving computes, keeps and sends, counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from netloom.errors import SpecError
from netloom.spec.inference import Instance
from netloom.spec.scenario import Placement
from netloom.workload.collective import Axis, CollectiveKind
from netloom.workload.instance import instance_layout
from netloom.workload.serving import (
    Pass,
    cache_bytes_of_rank,
    cache_bytes_per_token,
    cache_transfer,
    end_communications,
    experts_read,
    hop,
    last_operators,
    layer_communications,
    serving_operators,
)
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.workload.flops import Operator
    from netloom.workload.placement import Layout


@pytest.fixture
def plan_of(
    network_of: Callable[..., Network], model_of: Callable[..., Model]
) -> Callable[..., Layout]:
    def plan(model: str = "llama-2-70b", **degrees: Any) -> Layout:
        return instance_layout(
            Instance(**degrees),
            where="serving.decode",
            model=model_of(model),
            node=network_of("H100", 8).node,
            placement=Placement(),
        )

    return plan


def step(requests: int = 1, context: float = 1000.0, weight_bytes: int = 2) -> Pass:
    return Pass(requests=requests, tokens=1, context=context, weight_bytes=weight_bytes)


def named(operators: tuple[Operator, ...], name: str) -> Operator:
    return next(one for one in operators if one.name == name)


def test_llama_70b_keeps_327680_bytes_a_token(model_of: Callable[..., Model]) -> None:
    # Keys and values of 80 layers, 8 heads of 128, 2 bytes: 2 x 80 x 8 x 128 x 2. The 70B of
    # Llama 2 and of Llama 3.1 have the same attention.
    assert cache_bytes_per_token(transformer(model_of("llama-2-70b"))) == 327_680


def test_deepseek_v3_keeps_70272_bytes_a_token(model_of: Callable[..., Model]) -> None:
    # 61 layers of 512 compressed and 64 rotary values, 2 bytes: the "70 KB" of DeepSeek-V3.
    assert cache_bytes_per_token(transformer(model_of("deepseek-v3"))) == 70_272


@pytest.mark.parametrize(("tensor", "heads"), [(1, 8), (4, 2), (8, 1), (16, 1)])
def test_a_rank_keeps_its_heads_and_at_least_one(
    model_of: Callable[..., Model], tensor: int, heads: int
) -> None:
    shape = transformer(model_of("llama-2-70b"))
    assert cache_bytes_of_rank(shape, tensor) == 2 * heads * 128 * 2


def test_every_rank_keeps_all_that_mla_compresses_to(model_of: Callable[..., Model]) -> None:
    shape = transformer(model_of("deepseek-v3"))
    assert cache_bytes_of_rank(shape, 8) == cache_bytes_of_rank(shape, 1) == 576 * 2


def test_decode_attention_reads_the_whole_cache_of_a_rank(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape, work = transformer(model_of("llama-2-70b")), step(requests=4)
    found = named(serving_operators(shape, plan_of(tensor=8), work, moe=False), "attention")
    # 4 requests x 1,000 tokens x (1 head of keys + 1 of values) x 128 x 2 B, and the new token's
    # own queries, keys, values and outputs: 4 x (1,024 + 1,024 + 256) x 2 B.
    assert found.size_bytes == 4 * 1000 * 512 + 4 * 2304 * 2
    # 8 query heads on this rank, scores and values, a multiplication and an addition each.
    assert found.flops == 2 * 4 * 1000 * 8 * (128 + 128)


def test_mla_decodes_in_the_compressed_space(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape = transformer(model_of("deepseek-v3"))
    plan = plan_of("deepseek-v3", tensor=8)
    found = named(serving_operators(shape, plan, step(), moe=False), "attention")
    # Scores over 512 + 64 values, outputs over 512, for 128 / 8 heads.
    assert found.flops == 2 * 1000 * 16 * (512 + 64 + 512)
    assert found.size_bytes >= 1000 * 576 * 2  # once for all heads


@pytest.mark.parametrize("weight_bytes", [1, 2])
def test_a_product_reads_weights_of_the_serving_precision(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout], weight_bytes: int
) -> None:
    shape, work = transformer(model_of("llama-2-70b")), step(weight_bytes=weight_bytes)
    found = named(serving_operators(shape, plan_of(tensor=8), work, moe=False), "ffn out")
    # 28,672 / 8 inputs and 8,192 outputs of one token in 16 bits, and the matrix.
    assert found.size_bytes == 2 * (3584 + 8192) + weight_bytes * 3584 * 8192


def test_logits_are_taken_of_the_last_token_alone_and_in_16_bits(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape = transformer(model_of("llama-2-70b"))
    prompt = Pass(requests=1, tokens=4096, context=4096, weight_bytes=1)
    _, logits = last_operators(shape, plan_of(tensor=8), prompt)
    assert logits.flops == 2 * 8192 * 32000 / 8
    assert logits.size_bytes == 2 * (8192 + 4000 + 8192 * 4000)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (1, 2.0),  # one token of Mixtral chooses two of eight
        (2, 8 * (1 - 0.75**2)),  # the second meets the first one's by chance
        (1000, 8.0),
    ],
)
def test_only_the_experts_that_some_token_chose_are_read(
    model_of: Callable[..., Model], tokens: int, expected: float
) -> None:
    shape = transformer(model_of("mixtral-8x7b"))
    assert experts_read(shape, tokens=tokens, num_ranks=1) == pytest.approx(expected)


def test_one_token_of_mixtral_reads_two_experts(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape, plan = transformer(model_of("mixtral-8x7b")), plan_of("mixtral-8x7b")
    found = named(serving_operators(shape, plan, step(), moe=True), "experts out")
    matrix = 4096 * 14336
    assert found.size_bytes == pytest.approx(2 * 2 * matrix + 2 * 2 * (4096 + 14336))


def test_tensor_ranks_sum_twice_a_layer_and_gather_the_logits(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape, plan, work = transformer(model_of("llama-2-70b")), plan_of(tensor=8), step(requests=16)
    (item,) = layer_communications(shape, plan, work, moe=False)
    assert (item.each, item.collective.kind) == (2, CollectiveKind.ALL_REDUCE)
    assert item.collective.size_bytes == 2 * 16 * 8192
    (logits,) = end_communications(shape, plan, work, last=True)
    assert logits.collective.size_bytes == 2 * 16 * 32000


def test_experts_exchange_the_tokens_of_a_layer_there_and_back(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape = transformer(model_of("deepseek-v3"))
    plan, work = plan_of("deepseek-v3", data=32, expert=32), step(requests=16)
    there, back = layer_communications(shape, plan, work, moe=True)
    assert (there.axis, there.each) == (Axis.EXPERT, 1)
    # 16 tokens of this rank to 8 experts each, 7,168 values of 2 bytes.
    assert there.collective.size_bytes == 16 * 8 * 7168 * 2
    assert there.collective.skew > 1
    assert back.collective == there.collective
    assert not layer_communications(shape, plan, work, moe=False)


def test_a_stage_sends_each_tensor_ranks_share_on(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape = transformer(model_of("llama-2-70b"))
    (item,) = hop(shape, plan_of(tensor=8, pipeline=2), step(requests=16))
    assert item.collective.size_bytes == 2 * 16 * 8192 / 8
    assert hop(shape, plan_of(tensor=8), step()) == ()


def test_keys_and_values_move_in_the_larger_of_the_two_instances_shares(
    model_of: Callable[..., Model], plan_of: Callable[..., Layout]
) -> None:
    shape = transformer(model_of("llama-2-70b"))
    two, eight = plan_of(tensor=2), plan_of(tensor=8)
    for sender, receiver in ((two, eight), (eight, two)):
        found = cache_transfer(shape, 4096, sender, receiver, num_nodes=4)
        # 4 of 8 heads on each of two GPUs: 4,096 x 4 x 2 x 128 x 2 B.
        assert found.size_bytes == 4096 * 4 * 512
        assert found.group.num_nodes == 2
    assert cache_transfer(shape, 1, two, eight, num_nodes=1).group.num_nodes == 1


@pytest.mark.parametrize(
    ("model", "degrees", "says"),
    [
        ("llama-2-70b", {"tensor": 3}, "serving.decode.tensor: 3 does not divide the 64 heads"),
        ("llama-2-70b", {"pipeline": 81}, "more than the 80 layers"),
        ("llama-2-70b", {"expert": 2}, "has no experts; leave it out"),
        ("mixtral-8x7b", {"expert": 3, "data": 3}, "does not divide the 8 experts"),
        ("mixtral-8x7b", {"expert": 8, "tensor": 4}, r"GPUs of one stage \(tensor 4 x data 1\)"),
        ("llama-2-70b", {"tensor": 4, "data": 3}, "12 GPUs neither divide nor fill nodes of 8"),
    ],
)
def test_an_instance_that_cannot_be_laid_out_says_why(
    plan_of: Callable[..., Layout], model: str, degrees: dict[str, int], says: str
) -> None:
    with pytest.raises(SpecError, match=says):
        plan_of(model, **degrees)
