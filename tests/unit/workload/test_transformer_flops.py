"""FLOPs of the model, and of the operators that execute it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.spec.scenario import Training
from netloom.workload.flops import (
    Shard,
    forward_flops_per_token,
    head_operators,
    layer_operators,
    recomputed_flops_per_token,
    step_flops,
)
from netloom.workload.operator import expert_load
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.parts.parts import Model


def test_a_gpt_step_matches_the_formula_of_narayanan_et_al(model_of: Callable[..., Model]) -> None:
    # arXiv:2104.04473 eq. 3 without recomputation: 72 B s l h^2 (1 + s/(6h) + V/(12 l h)),
    # which counts the attention's whole square; a causal one needs half of it: s/(12h).
    model = model_of("gpt-3-175b")
    training = Training(sequence=2048, global_batch=1536, recompute="none")
    batch, s, layers, h, v = 1536, 2048, 96, 12288, 50257
    expected = 72 * batch * s * layers * h**2 * (1 + s / (12 * h) + v / (12 * layers * h))
    needed, executed = step_flops(transformer(model), training)
    assert needed == pytest.approx(expected, rel=1e-9)
    assert executed == needed


def test_selective_recomputation_repeats_the_attention_alone(
    model_of: Callable[..., Model],
) -> None:
    # Two products of s/2 x h each, two FLOPs an entry, in each layer: 2 s h l a token.
    shape = transformer(model_of("gpt-3-175b"))
    again = recomputed_flops_per_token(shape, 2048, "selective")
    assert again == pytest.approx(2 * 2048 * 12288 * 96)


def test_full_recomputation_repeats_everything_but_the_logits(
    model_of: Callable[..., Model],
) -> None:
    shape = transformer(model_of("llama-3.1-8b"))
    logits = 2 * 4096 * 128256
    again = recomputed_flops_per_token(shape, 8192, "full")
    assert again == pytest.approx(forward_flops_per_token(shape, 8192) - logits)


@pytest.mark.parametrize(
    "name", ["gpt-3-175b", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b"]
)
def test_the_operators_of_one_gpu_do_what_the_model_needs(
    model_of: Callable[..., Model], name: str
) -> None:
    shape = transformer(model_of(name))
    shard = Shard(micro_batch=2, sequence=4096)
    done = sum(operator.flops for operator in head_operators(shape, shard))
    for moe, num in ((False, shape.num_dense_layers), (True, shape.num_moe_layers)):
        if num:
            done += num * sum(one.flops for one in layer_operators(shape, shard, moe=moe))
    assert done == pytest.approx(2 * 4096 * forward_flops_per_token(shape, 4096), rel=1e-9)


@pytest.mark.parametrize(("tensor", "context"), [(8, 1), (1, 4), (4, 2)])
def test_splitting_a_layer_divides_its_products(
    model_of: Callable[..., Model], tensor: int, context: int
) -> None:
    shape = transformer(model_of("llama-3.1-405b"))
    whole = layer_operators(shape, Shard(micro_batch=1, sequence=8192), moe=False)
    shard = Shard(micro_batch=1, sequence=8192, tensor=tensor, context=context)
    part = layer_operators(shape, shard, moe=False)
    expected = sum(one.flops for one in whole) / (tensor * context)
    assert sum(one.flops for one in part) == pytest.approx(expected)


def test_every_tensor_rank_has_at_least_one_key_value_head(
    model_of: Callable[..., Model],
) -> None:
    # Llama 3.1 405B has 8: on 16 ranks each holds 8 query heads and a whole key-value head.
    shape = transformer(model_of("llama-3.1-405b"))
    operators = layer_operators(shape, Shard(micro_batch=1, sequence=8192, tensor=16), moe=False)
    qkv = next(one for one in operators if one.name == "qkv")
    assert qkv.flops == 2 * 8192 * 16384 * (8 + 1 + 1) * 128


def test_unfused_attention_computes_the_masked_half_too(model_of: Callable[..., Model]) -> None:
    shape = transformer(model_of("gpt-22b"))
    done = {
        kernel: sum(
            operator.flops
            for operator in layer_operators(
                shape, Shard(micro_batch=1, sequence=2048, attention=kernel), moe=False
            )
            if operator.core_attention
        )
        for kernel in ("fused", "unfused")
    }
    assert done["unfused"] == 2 * done["fused"]


def test_the_busiest_expert_rank_gets_nearer_the_mean_with_more_tokens() -> None:
    # 64 ranks, 4,096 tokens each: 1 + sqrt(2 ln 64 / 4096) = 1.045.
    assert expert_load(64 * 4096, 64) == pytest.approx(1.045, abs=0.001)
    assert expert_load(64 * 4096 * 100, 64) < 1.005
    assert expert_load(10, 1) == 1.0
