"""The roofline, its bounds, and what it says when nobody measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.compute.roofline import LAUNCH_S, POINTWISE_SHARE, costs, roofline
from netloom.errors import SpecError
from netloom.workload.flops import Operator, Shard, layer_operators
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.catalog.parts import Gpu, Model


def product(flops: float, size_bytes: float) -> Operator:
    return Operator(
        name="product",
        kind="matmul",
        flops=flops,
        size_bytes=size_bytes,
        backward_flops=2 * flops,
        backward_bytes=2 * size_bytes,
    )


def test_a_large_product_runs_at_the_measured_share_of_peak(gpu_of: Callable[[str], Gpu]) -> None:
    # H100: 989 peak x (794.5 / 989) best x (681 / 794.5) typical = 681 TFLOP/s.
    machine = roofline(gpu_of("H100"), "bf16")
    assert machine.forward_s(product(6.81e14, 1e6)) == pytest.approx(1.0 + LAUNCH_S, rel=1e-9)


def test_a_thin_product_runs_at_the_memory_rate(gpu_of: Callable[[str], Gpu]) -> None:
    machine = roofline(gpu_of("H100"), "bf16")
    expected = 3.35e9 / (POINTWISE_SHARE * 3.35e12) + LAUNCH_S
    assert machine.forward_s(product(1e6, 3.35e9)) == pytest.approx(expected)


def test_a_precision_the_gpu_lacks_is_refused(gpu_of: Callable[[str], Gpu]) -> None:
    with pytest.raises(SpecError, match="A100 has no fp8; it has bf16, fp16"):
        roofline(gpu_of("A100"), "fp8")


def test_a_gpu_that_nobody_measured_is_in_doubt(gpu_of: Callable[[str], Gpu]) -> None:
    measured = gpu_of("H100")
    unmeasured = measured.model_copy(update={"matmul_flops": None})
    assert roofline(measured, "bf16").validity.inside
    assert "nobody" in roofline(unmeasured, "bf16").validity.doubts[0]


def test_fp8_is_faster_but_not_twice(
    gpu_of: Callable[[str], Gpu], model_of: Callable[..., Model]
) -> None:
    shard = Shard(micro_batch=1, sequence=8192, tensor=8)
    operators = layer_operators(transformer(model_of("llama-3.1-405b")), shard, moe=False)
    slow, fast = (
        costs(operators, roofline(gpu_of("H100"), precision), recompute="none").total_s
        for precision in ("bf16", "fp8")
    )
    assert 1.2 < slow / fast < 2.0


def test_recomputation_repeats_the_forward_pass_or_its_attention(
    gpu_of: Callable[[str], Gpu], model_of: Callable[..., Model]
) -> None:
    shard = Shard(micro_batch=4, sequence=2048, tensor=8)
    operators = layer_operators(transformer(model_of("gpt-22b")), shard, moe=False)
    machine = roofline(gpu_of("A100"), "fp16")
    none, selective, full = (
        costs(operators, machine, recompute=how) for how in ("none", "selective", "full")
    )
    assert none.recompute_s == 0
    assert selective.recompute_s == selective.attention_s
    assert full.recompute_s == full.forward_s
    assert none.forward_s == selective.forward_s == full.forward_s
