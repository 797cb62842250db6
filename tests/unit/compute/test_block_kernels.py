"""Kernels of mixture and diffusion blocks: what runs, and what each mode leaves out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netloom.compute.calls import call
from netloom.compute.device import h200
from netloom.compute.diffusion import DiffusionBlock
from netloom.compute.grouped import balanced
from netloom.compute.mixtures import Mixture

BLOCK = Mixture(
    hidden=4096,
    expert_hidden=2048,
    num_experts=64,
    top_k=4,
    tokens=8192,
    counts=balanced(32_768, 16),
)
LATENT = DiffusionBlock(
    kind="dit",
    hidden=2048,
    num_heads=16,
    ffn_hidden=8192,
    micro_batch=4,
    tokens=1024,
    text_tokens=256,
    mode="eager",
)


def test_a_block_multiplies_three_matrices_an_expert_forward_and_six_backward() -> None:
    flops = [
        2 * sum(kernel.groups) * kernel.shape[0] * kernel.shape[1]
        for kernel in BLOCK.forward()
        if kernel.is_grouped
    ]
    assert sum(flops) == 3 * 2 * 32_768 * 4096 * 2048
    assert sum(kernel.is_grouped for kernel in BLOCK.backward()) == 4


def test_compiled_and_graph_are_faster_than_eager() -> None:
    def time_s(mode: str) -> float:
        kernels = replace(BLOCK, mode=mode).forward()  # type: ignore[arg-type]
        return call(kernels, h200(), launched=mode == "eager").duration_s

    assert time_s("compiled") < time_s("graph") <= time_s("eager")


def test_a_compiled_sum_over_eight_experts_is_no_longer_unrolled() -> None:
    def way_back(top_k: int) -> str:
        block = replace(BLOCK, top_k=top_k, mode="compiled")
        return next(iter(block.unpermute_forward())).operator

    assert (way_back(7), way_back(8)) == ("compiled_add", "slow_sum")


def test_a_loop_over_experts_writes_their_gradients_once_an_expert() -> None:
    def moved(num: int) -> float:
        block = replace(BLOCK, experts="loop", counts=balanced(32_768, num))
        return sum(kernel.size_bytes for kernel in block.experts_backward())

    assert moved(32) - moved(16) > 2.5 * (moved(16) - moved(8))


def test_shared_experts_add_their_products() -> None:
    shared = replace(BLOCK, shared_hidden=2048)
    added = [k.shape for k in shared.forward() if k.is_product]
    assert (8192, 4096, 4096) in added
    assert (8192, 4096, 2048) in added


@pytest.mark.parametrize(
    ("kind", "products", "attentions"),
    [("dit", 5, 1), ("mmdit", 10, 1), ("single", 3, 1), ("video", 8, 2)],
)
def test_each_kind_of_diffusion_block_has_its_products(
    kind: str, products: int, attentions: int
) -> None:
    kernels = list(replace(LATENT, kind=kind).forward())  # type: ignore[arg-type]
    assert sum(kernel.is_product for kernel in kernels) == products
    assert sum(kernel.is_attention for kernel in kernels) == attentions


def test_attention_without_a_mask_is_twice_that_with_one() -> None:
    (core,) = (kernel for kernel in LATENT.forward() if kernel.is_attention)
    long = replace(core, shape=(1, 16_384, 16, 128, 16_384))
    causal = replace(core, operator="attention_forward", shape=(1, 16_384, 16, 128))
    device = h200()
    assert device.time_s(long) == pytest.approx(2 * device.time_s(causal), rel=0.12)


def test_a_width_of_no_whole_words_costs_three_times_unless_it_is_compiled() -> None:
    def time_s(width: int, mode: str) -> float:
        block = replace(LATENT, ffn_hidden=width, mode=mode)  # type: ignore[arg-type]
        kernels = [kernel for kernel in block.forward() if kernel.is_product]
        return sum(h200().time_s(kernel) for kernel in kernels[-2:])

    assert time_s(8190, "eager") > 2.5 * time_s(8192, "eager")
    assert time_s(8190, "compiled") == pytest.approx(time_s(8192, "compiled"))


def test_recomputation_leaves_out_the_last_sum() -> None:
    assert list(LATENT.again()) == list(LATENT.forward())[:-1]
