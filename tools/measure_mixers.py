"""Time layers without attention on the GPU of this machine, part by part, as CSV.

Needs PyTorch with CUDA and Triton, flash-linear-attention (``fla-core``) and the Triton kernels of
state-spaces/mamba (``mamba_ssm.ops.triton``). ``python tools/measure_mixers.py 4x4096 1x8192``
takes four sequences of 4,096 tokens, then one of 8,192.
"""

from __future__ import annotations

import csv
import statistics
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import torch
from fla.modules.causal_conv1d import causal_conv1d
from fla.ops.gated_delta_rule import chunk_gated_delta_rule
from mamba_ssm.ops.triton.layernorm_gated import rmsnorm_fn
from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

REPEATS: Final = 15
WIDTH: Final = 4  # tokens that the convolution looks at
SOURCE: Final = (
    f"one {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA events around a graph"
)


@dataclass(frozen=True)
class Shape:
    """A mixer and what it is given."""

    model: str
    kind: str
    num_heads: int
    head_dim: int
    num_groups: int
    state: int
    chunk: int
    batch: int = 1
    sequence: int = 4096

    @property
    def inner(self) -> int:
        return self.num_heads * self.head_dim

    @property
    def channels(self) -> int:
        return self.inner + 2 * self.num_groups * self.state


MODELS: Final = (
    Shape("qwen3-next-80b-a3b", "gated-delta", 32, 128, 16, 128, 64),
    Shape("nemotron-3-nano-30b-a3b", "mamba-2", 64, 64, 8, 128, 128),
    Shape("nemotron-3-super", "mamba-2", 128, 64, 8, 128, 128),
    Shape("qwen3-next tp2", "gated-delta", 16, 128, 8, 128, 64),
    Shape("nemotron-3-nano tp4", "mamba-2", 16, 64, 2, 128, 128),
    Shape("gated-delta of 64 heads", "gated-delta", 64, 128, 16, 128, 64),
    Shape("mamba2-2.7b", "mamba-2", 80, 64, 1, 128, 256),
    Shape("qwen3-next tp8", "gated-delta", 4, 128, 2, 128, 64),
    Shape("nemotron-h-47b", "mamba-2", 256, 64, 8, 256, 128),
)


def shapes(batches: Sequence[str]) -> Iterator[Shape]:
    """Give those of models, whole and divided over tensor ranks, for each batch."""
    for batch, sequence in (map(int, one.split("x")) for one in batches):
        for one in MODELS:
            yield replace(one, batch=batch, sequence=sequence)


def random(*size: int) -> torch.Tensor:
    made = torch.randn(*size, device="cuda", dtype=torch.bfloat16)
    return made.requires_grad_()


Timed = tuple["Callable[[], torch.Tensor]", tuple[torch.Tensor, ...]]


def scan_of(one: Shape) -> Timed:
    """Return the scan, as Megatron-Core calls it, and what it has gradients of."""
    b, t, h, g = one.batch, one.sequence, one.num_heads, one.num_groups
    values = random(b, t, h, one.head_dim)
    keys, queries = random(b, t, g, one.state), random(b, t, g, one.state)
    if one.kind == "mamba-2":
        step, bias = random(b, t, h), torch.zeros(h, device="cuda", requires_grad=True)
        decay = (-torch.rand(h, device="cuda") - 0.5).requires_grad_()
        skip = torch.ones(h, device="cuda", requires_grad=True)
        leaves = (values, keys, queries, step, bias, decay, skip)
        return lambda: mamba_chunk_scan_combined(
            values, step, decay, keys, queries, one.chunk, D=skip, dt_bias=bias, dt_softplus=True
        ), leaves
    forget = (-torch.rand(b, t, h, device="cuda")).requires_grad_()
    rate = torch.rand(b, t, h, device="cuda", dtype=torch.bfloat16).requires_grad_()
    return lambda: chunk_gated_delta_rule(
        queries, keys, values, forget, rate, use_qk_l2norm_in_kernel=True
    )[0], (values, keys, queries, forget, rate)


def convolution_of(one: Shape) -> Timed:
    data, weight = random(one.batch, one.sequence, one.channels), random(one.channels, WIDTH)

    def run() -> torch.Tensor:
        found: Any = causal_conv1d(data, weight, activation="silu")
        return found[0] if isinstance(found, tuple) else found

    return run, (data, weight)


def norm_of(one: Shape) -> Timed:
    """Return the gated norm: over groups of heads (Mamba-2), or over each head."""
    rows = one.batch * one.sequence
    size = one.inner // one.num_groups if one.kind == "mamba-2" else one.head_dim
    data, gate = random(rows, one.inner), random(rows, one.inner)
    weight = torch.ones(one.inner, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    return lambda: rmsnorm_fn(
        data, weight, None, z=gate, eps=1e-5, group_size=size, norm_before_gate=False
    ), (data, gate, weight)


PARTS: Final = {"scan": scan_of, "convolution": convolution_of, "mixer norm": norm_of}


def graph_of(run: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """Return what the GPU does in a run, without what the host needs to launch it."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def median_ms(run: Callable[[], object]) -> float:
    """Return the median of some runs, each with a cold second-level cache."""
    graph = graph_of(run)
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    times: list[float] = []
    for _ in range(REPEATS):
        flush.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def timed(run: Callable[[], torch.Tensor], leaves: tuple[torch.Tensor, ...]) -> tuple[float, float]:
    """Return what forward takes, and forward and backward together."""
    with torch.no_grad():
        forward_ms = median_ms(run)
    gradient = torch.randn_like(run())
    return forward_ms, median_ms(lambda: torch.autograd.grad(run(), leaves, gradient))


def main() -> None:
    """Write one row a part and shape, as soon as it is known."""
    names = list(Shape.__dataclass_fields__)
    writer = csv.writer(sys.stdout)
    writer.writerow(["part", *names, "fwd_ms", "fwd_bwd_ms", "status", "source"])
    for one in shapes(sys.argv[1:] or ["4x4096"]):
        for part, make in PARTS.items():
            status, times = "ok", ["", ""]
            try:
                times = [f"{value:.5f}" for value in timed(*make(one))]
            except Exception as error:  # noqa: BLE001  (a kernel that does not take a shape)
                status = f"{type(error).__name__}: {error}"[:120].replace("\n", " ")
            values = [getattr(one, name) for name in names]
            writer.writerow([part, *values, *times, status, SOURCE])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
