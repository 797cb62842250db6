"""How the training software runs a step: which kernels, and what it overlaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from netloom.compute.generation import FlashVersion
from netloom.workload.sharding import WEIGHT_BYTES, WeightFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.provenance import Source
    from netloom.spec.software import GraphedModule, RecomputedModule
    from netloom.workload.flops import AttentionKernel
    from netloom.workload.operator import Shard
    from netloom.workload.zero.modules import ModuleGathers

__all__ = ["FlashVersion", "Kernels", "Practice", "ZeroWay"]

Kernels = Literal["transformer-engine", "torch"]
ZeroWay = Literal["sets", "second set", "compressed"]
# What the parts of a layer with experts take of the host's launches. Router and sort: Qwen3 30B on
# 16 H100 with HybridEP and both in graphs took 24.71 s (row bridge_ab-0004, not judged), 4.0 ms a
# pass of a layer of which the GPU works 3.6: the host still launched for 3.1 of its 4.4. The rest
# is attention and experts as their medians on one H200 in eager PyTorch: 1.92 ms of both passes,
# and 1.57 (h200/moe_blocks_bf16.csv).
ROUTED_SHARE: Final = 1 - 3.1 / 4.4
LAUNCHED_SHARES: Final[Mapping[GraphedModule, float]] = {
    "attn": (1 - ROUTED_SHARE) * 1.918 / (1.918 + 1.574),
    "moe_router": ROUTED_SHARE * 0.599 / (0.599 + 0.126),
    "moe_preprocess": ROUTED_SHARE * 0.126 / (0.599 + 0.126),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """What training software does with the same job.

    Attributes:
        name: As ``job.software`` has it.
        title: As its users call it.
        released: The year and month of the release that it stands for, such as ``2024-07``.
        attention: Whether the score matrix is written to memory.
        flash: Which generation of fused kernel; 3 stands for the current ones of a GPU.
        delta_excess: What scans of Gated DeltaNet take over flash-linear-attention's kernels.
        tensor_hidden: Share of a layer's tensor-parallel collectives that products hide.
        pipeline_hidden: Share of the transfers between stages that other micro-batches hide
            once the pipeline is full, with virtual stages; without them nothing is hidden.
        accumulation: Batches that a step accumulates, with the pipeline drained after each.
        overlaps_data: Whether gradients are reduced during the last backward pass and weights
            gathered during the first forward pass.
        bucket_bytes: Gradients reduced at a time; None for Megatron-Core's rule.
        host_s: What the host needs to launch one pass of one layer, kernel by kernel.
        host_experts_s: The same of a layer with experts.
        cuda_graphs: Whether graphs launch a layer, so that the host is never waited for.
        graph_scope: The parts of a layer with experts that graphs launch; None for all of it.
        reads_counts: Whether the host waits for how many tokens each expert gets, so that no graph
            can launch a layer with experts (Megatron-Core's all-to-all dispatcher, dropless).
        graphs_on: The GPU generations on which its recipes use graphs.
        age: What all its kernels take over those of a year later.
        on_blackwell: The same on Blackwell alone, where that was new to it.
        fused: Whether memory-bound operators that follow one another are one kernel.
        kernels: Whose layers and loss: ``transformer-engine`` stands for libraries of fused
            kernels (Megatron-LM, flash-attn), which keep the inputs of 8-bit products in 8 bits,
            cast weights once a step and take the loss in place; ``torch`` for PyTorch's own.
        autocast: Whether fp32 weights are cast to 16 bits product by product.
        state_bytes: Of the optimizer for one parameter, master copy included.
        drag: What a second of hidden communication slows the computation beside it by.
        is_submission: Whether it is that of a benchmark's submissions, which no other job runs.
        shards_weights: Whether ranks of its runs divide the weights (FSDP, ZeRO 2 and 3).
        zero_stages: The ZeRO stages that it has; ``plan`` searches no others.
        zero_ways: Whether sets of ranks can share what ZeRO divides (HSDP), with a second set of
            weights for the backward pass, or sent in fewer bits (ZeRO++).
        whole_in_pipelines: Whether stages of a pipeline keep weights that ZeRO 3 divides, once they
            are gathered, until the step ends.
        sums_groups: Whether ZeRO 2 sums the gradients of as many micro-batches as there are stages
            before it divides them.
        modules: How ZeRO 3 gathers weights module by module; None where it gathers whole layers.
        divides_context: Whether it can divide a sequence over ranks.
        repeats_keys: Whether these exchange keys and values copied to every query head.
        gradient_bytes: Of one gradient as it is kept and reduced; None for the precision's own.
        parameter_bytes: Of one weight as it is held and gathered, master copies apart.
        mxfp8_weights: Whether MXFP8 copies of weights are held alone, though 16 bits are gathered.
        recompute_modules: Computed again in the backward pass; None for what the job asks for.
        optimizer_offload: Share of the optimizer's state on the host.
        activation_offload: Layers of a stage whose activations the host keeps.
        manual_gc: Whether all ranks collect Python's garbage at the same step.
        source: Who says so.
    """

    name: str
    title: str
    released: str
    attention: AttentionKernel
    tensor_hidden: float
    pipeline_hidden: float
    overlaps_data: bool
    source: Source
    flash: FlashVersion = 3
    accumulation: int = 1
    delta_excess: float = 1.0
    bucket_bytes: float | None = None
    host_s: float = 0.0
    host_experts_s: float = 0.0
    cuda_graphs: bool = False
    graph_scope: tuple[GraphedModule, ...] | None = None
    reads_counts: bool = False
    graphs_on: frozenset[str] = frozenset()
    age: float = 1.0
    on_blackwell: float = 1.0
    fused: bool = True
    drag: float = 0.0
    is_submission: bool = False
    shards_weights: bool = False
    zero_stages: tuple[int, ...] = (0, 1, 2, 3)
    zero_ways: frozenset[ZeroWay] = frozenset()
    whole_in_pipelines: bool = False
    sums_groups: bool = False
    modules: ModuleGathers | None = None
    divides_context: bool = True
    repeats_keys: bool = False
    gradient_bytes: int | None = None
    parameter_bytes: int = WEIGHT_BYTES
    mxfp8_weights: bool = False
    recompute_modules: tuple[RecomputedModule, ...] | None = None
    optimizer_offload: float = 0.0
    activation_offload: int = 0
    manual_gc: bool = False
    kernels: Kernels = "transformer-engine"
    autocast: bool = False
    state_bytes: int = 12

    def on(self, shard: Shard) -> Shard:
        """Return a GPU's share of the work as its kernels do it."""
        return replace(shard, attention=self.attention, delta_excess=self.delta_excess)

    @property
    def weights(self) -> WeightFormat:
        """How it keeps, reduces and gathers weights and gradients."""
        return WeightFormat(
            gradient_bytes=self.gradient_bytes,
            parameter_bytes=self.parameter_bytes,
            bucket_bytes=self.bucket_bytes,
            whole_in_pipelines=self.whole_in_pipelines,
            sums_groups=self.sums_groups,
            modules=self.modules,
        )

    @property
    def graphs_everything(self) -> bool:
        """Whether graphs launch whole layers with experts."""
        return self.cuda_graphs and self.graph_scope is None and not self.reads_counts

    def launch_s(self, *, moe: bool = False) -> float:
        """Return what the host needs to launch one pass of one layer."""
        if not moe:
            return 0.0 if self.cuda_graphs else self.host_s
        if not self.cuda_graphs or self.reads_counts:
            return self.host_experts_s
        if self.graph_scope is None:
            return 0.0
        return self.host_experts_s * (1 - sum(LAUNCHED_SHARES[one] for one in self.graph_scope))
