"""The kernels of layers and steps, counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from netloom.compute.layers import GptLayer, GptStep, LlamaLayer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.compute.kernels import Kernel

GPT = GptLayer(hidden=4096, num_heads=32, tensor=2, micro_batch=2, sequence=2048)
LLAMA = LlamaLayer(
    hidden=4096,
    num_heads=32,
    num_kv_heads=8,
    ffn_hidden=14336,
    tensor=4,
    micro_batch=1,
    sequence=4096,
    mode="eager",
)


def product_flops(kernels: Iterable[Kernel]) -> float:
    total = 0.0
    for kernel in kernels:
        if kernel.is_product:
            rows, columns, inner = kernel.shape
            total += 2 * rows * columns * inner
    return total


def moved_bytes(kernels: Iterable[Kernel]) -> float:
    return sum(kernel.size_bytes for kernel in kernels)


def test_a_gpt_layer_multiplies_24_t_h_squared() -> None:
    # QKV 3, projection 1, in 4 and out 4 times h squared, 2 FLOPs each, over 2 GPUs.
    assert product_flops(GPT.forward()) == 24 * 4096 * 4096**2 / 2


@pytest.mark.parametrize("layer", [GPT, LLAMA])
def test_the_backward_pass_multiplies_twice_as_much(layer: GptLayer | LlamaLayer) -> None:
    assert product_flops(layer.backward()) == 2 * product_flops(layer.forward())


def test_a_llama_layer_multiplies_its_parameters() -> None:
    # Per GPU of four: queries and output 1024, keys and values 2 x 256, SwiGLU 3 x 3584 wide.
    parameters = 4096 * (2 * 1024 + 2 * 256 + 3 * 3584)
    assert product_flops(LLAMA.forward()) == 2 * 4096 * parameters


def test_a_share_has_at_least_one_key_value_head() -> None:
    assert replace(LLAMA, tensor=16).kv_width == 128


def test_compiling_moves_fewer_bytes_and_multiplies_the_same() -> None:
    compiled = replace(LLAMA, mode="compiled")
    for pass_name in ("forward", "backward"):
        eager_pass, compiled_pass = getattr(LLAMA, pass_name), getattr(compiled, pass_name)
        assert moved_bytes(compiled_pass()) < moved_bytes(eager_pass())
        assert product_flops(compiled_pass()) == product_flops(eager_pass())


def test_recomputation_leaves_out_the_last_product() -> None:
    last = 2 * 4096 * 4096 * 3584
    assert product_flops(LLAMA.forward()) - product_flops(LLAMA.again()) == last


def test_a_step_multiplies_layers_and_logits_three_times() -> None:
    layer = replace(GPT, tensor=1)
    step = GptStep(layer=layer, num_layers=3, vocabulary=1000, accumulate=2, parameters=10)
    once = 3 * product_flops(layer.forward()) + 2 * 4096 * 1000 * 4096
    assert product_flops(step.kernels()) == 2 * 3 * once


def test_gradients_are_added_from_the_second_micro_batch_on() -> None:
    layer = replace(GPT, tensor=1)
    one, two, three = (
        moved_bytes(
            GptStep(
                layer=layer, num_layers=1, vocabulary=8, accumulate=count, parameters=10**9
            ).kernels()
        )
        for count in (1, 2, 3)
    )
    # Two reads and a write of 2 bytes a parameter; the micro-batch itself is the same each time.
    assert (three - two) == (two - one)
    update = 14 * 10**9
    assert (two - one) - (one - update) == pytest.approx(6 * 10**9)
