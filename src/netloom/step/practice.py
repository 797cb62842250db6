"""How the training software runs a step: which kernels, and what it overlaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from netloom.compute.generation import FlashVersion
from netloom.provenance import Source

if TYPE_CHECKING:
    from netloom.workload.flops import AttentionKernel

__all__ = [
    "FSDP_2023",
    "JAX_2024",
    "MEGATRON_2021",
    "MEGATRON_2022",
    "MEGATRON_CORE",
    "MEGATRON_LAUNCHED",
    "MEGATRON_PLAIN",
    "TORCHTITAN",
    "FlashVersion",
    "Practice",
    "practice_of",
]

Kernels = Literal["transformer-engine", "torch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """What a framework does with the same job.

    Attributes:
        attention: Whether the score matrix is written to memory.
        flash: Which generation of fused kernel; 3 stands for the current ones of a GPU.
        tensor_hidden: Share of a layer's tensor-parallel collectives that products hide.
        pipeline_hidden: Share of the transfers between stages that other micro-batches hide
            once the pipeline is full, with virtual stages; without them nothing is hidden.
        overlaps_data: Whether gradients are reduced during the last backward pass and weights
            gathered during the first forward pass.
        host_s: What the host needs to launch one pass of one layer.
        host_experts_s: The same of a layer with experts.
        age: What all its kernels take over those of a year later.
        fused: Whether memory-bound operators that follow one another are one kernel.
        kernels: Whose layers and loss: ``transformer-engine`` stands for libraries of fused
            kernels (Megatron-LM, flash-attn), which keep the inputs of 8-bit products in 8 bits,
            cast weights once a step and take the loss in place; ``torch`` for PyTorch's own.
        autocast: Whether fp32 weights are cast to 16 bits product by product.
        state_bytes: Of the optimizer for one parameter, master copy included.
        gradient_bytes: Of one gradient as it is kept and reduced; None for the precision's own.
        parameter_bytes: Of one weight as it is held and gathered, master copies apart.
        recompute_modules: Computed again in the backward pass; None for what the job asks for.
        optimizer_offload: Share of the optimizer's state on the host.
        drag: What a second of hidden communication slows the computation beside it by.
        source: Who says so.
    """

    name: str
    attention: AttentionKernel
    tensor_hidden: float
    pipeline_hidden: float
    overlaps_data: bool
    source: Source
    flash: FlashVersion = 3
    host_s: float = 0.0
    host_experts_s: float = 0.0
    age: float = 1.0
    fused: bool = True
    drag: float = 0.0
    kernels: Kernels = "transformer-engine"
    autocast: bool = False
    state_bytes: int = 12
    gradient_bytes: int | None = None
    parameter_bytes: int = 2
    recompute_modules: tuple[str, ...] | None = None
    optimizer_offload: float = 0.0


MEGATRON_2022: Final = Practice(
    name="Megatron-LM 2022",
    attention="unfused",
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=False,
    host_s=1.18e-3,  # fitted, docs/models/step.md
    source=Source(
        citation="arXiv:2205.05198 section 6; Megatron-LM 2021-22 (local DDP, no FlashAttention)",
        confidence="published",
    ),
)
# GPT 530B in the same plan took 54.159 s with Megatron-LM of 2021 on 2,520 GPUs (arXiv:2104.04473
# Table 1) and 50.36 s with that of 2022 on 2,240 (arXiv:2205.05198 section 6.3): 1.075.
MEGATRON_2021: Final = replace(MEGATRON_2022, name="Megatron-LM 2021", age=1.075)
MEGATRON_CORE: Final = Practice(
    name="Megatron-Core 2024",
    attention="fused",
    tensor_hidden=0.64,  # fitted, docs/models/step.md
    pipeline_hidden=1.0,
    overlaps_data=True,
    drag=0.15,  # NCCL occupies 16 to 24 of 132 multiprocessors; recalled
    source=Source(
        citation="Megatron-Core flags tp_comm_overlap, overlap_p2p_comm, overlap_grad_reduce, "
        "overlap_param_gather; the share of tensor traffic hidden is fitted (docs/models/step.md)",
        confidence="derived",
        note="MegaScale (arXiv:2402.15627) Table 3: overlapping tensor traffic raised MFU from "
        "53.3 to 55.5, pipeline to 58.0, data to 59.5 % on 256 GPUs",
    ),
)
# Without the flags: Megatron-LM's own defaults are no overlap.
MEGATRON_PLAIN: Final = replace(
    MEGATRON_CORE,
    name="Megatron-LM, no overlap asked for",
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=False,
    source=Source(
        citation="Megatron-LM arguments.py: tp_comm_overlap, overlap_grad_reduce and "
        "overlap_param_gather are off unless given",
        confidence="published",
    ),
)
# Launching a layer with experts kernel by kernel: Qwen3 30B with micro-batches of one sequence on 8
# B200 took 27.05 s (Megatron-Bridge 26.02, row megatron_bridge-0027), 2.75 times as long as with
# four: over 64 micro-batches, 48 layers and two passes, 4.4 ms. Recipes for GB200 and GB300 put
# what they launch into CUDA graphs (cuda_graph_impl), and so does the current practice.
MEGATRON_LAUNCHED: Final = replace(
    MEGATRON_CORE,
    name="Megatron-Core 2025, no CUDA graphs",
    host_experts_s=4.4e-3,
    gradient_bytes=2,
)
# NeMo, the performance recipes of Megatron-Bridge and the MLPerf submissions set
# grad_reduce_in_fp32=False; MLPerf's 405B holds FP8 parameters (training_results_v5.0).
NEMO: Final = replace(MEGATRON_CORE, name="NeMo 2025", gradient_bytes=2)
MLPERF: Final = replace(NEMO, name="NeMo as submitted to MLPerf", parameter_bytes=1)
FSDP_2023: Final = Practice(
    name="PyTorch FSDP 2023",
    attention="fused",
    flash=1,
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=True,
    drag=0.895,  # fitted, docs/models/step.md
    fused=False,
    source=Source(
        citation="PyTorch FSDP (arXiv:2304.11277): gathers prefetched one layer ahead; what they "
        "cost the computation beside them is fitted (docs/models/step.md)",
        confidence="derived",
    ),
)
TORCHTITAN: Final = replace(
    FSDP_2023,
    name="torchtitan 2024",
    flash=2,
    fused=True,
    kernels="torch",
    tensor_hidden=0.0,
    source=Source(citation="torchtitan (arXiv:2410.06511)", confidence="published"),
)
JAX_2024: Final = replace(
    FSDP_2023,
    name="MaxText 2024",
    flash=3,
    fused=True,
    drag=0.15,
    source=Source(citation="MaxText on GPUs: FSDP sharding by XLA", confidence="assumed"),
)
_BY_NAME: Final = (
    ("composer", FSDP_2023),
    ("fsdp", FSDP_2023),
    ("titan", TORCHTITAN),
    ("maxtext", JAX_2024),
    ("paxml", JAX_2024),
)
# Commits are named as the published tables name them.
_OF_2021: Final = ("2020", "2021", "6985e589")
_OF_2022: Final = ("deepspeed", "2022", "285068c8")


def practice_of(
    framework: str, *, overlap: str = "", params_b: float | None = None, graphs: bool = True
) -> Practice:
    """Return the practice that a framework's name and a note on overlap stand for.

    Args:
        framework: Free text in lower case, such as ``megatron-lm 2022``; empty for the current.
        overlap: Free text in lower case on what overlaps.
        params_b: The model's parameters in 1e9, where the note depends on it.
        graphs: Whether kernels are launched by CUDA graphs, where the framework can do either.
    """
    named = next((found for word, found in _BY_NAME if word in framework), None)
    if named is not None:
        return named
    if any(word in framework for word in _OF_2022):
        return MEGATRON_2022
    if any(word in framework for word in _OF_2021):
        # Megatron-LM's scripts of 2021: torch's DDP, which overlaps, up to 18B; its own above.
        small = params_b is not None and params_b <= 18.5
        overlaps = "2020" in framework or ("ddp=torch" in overlap and small)
        return replace(MEGATRON_2021, overlaps_data=overlaps)
    if "bridge" in framework and not graphs:
        return MEGATRON_LAUNCHED
    if "mlperf" in framework:
        return MLPERF
    if "bridge" in framework or "nemo" in framework:
        return NEMO
    if "megatron-lm" in framework and "overlap" not in overlap:
        return MEGATRON_PLAIN
    return MEGATRON_CORE
