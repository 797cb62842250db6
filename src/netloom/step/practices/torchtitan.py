"""torchtitan of 2024: FSDP2 and torch.compile."""

from __future__ import annotations

from dataclasses import replace

from netloom.provenance import Source
from netloom.step.practices.fsdp_2023 import ENTRY as FSDP_2023

__all__ = ["ENTRY"]

ENTRY = replace(
    FSDP_2023,
    name="torchtitan",
    title="torchtitan 2024",
    released="2024-12",
    divides_context=True,
    # torchtitan/models/llama/model.py, Attention.forward: repeat_kv before the attention, which
    # torch's context parallelism then takes apart.
    repeats_keys=True,
    # torchtitan/models/llama/parallelize_llama.py, apply_fsdp: with a pipeline weights are not
    # resharded after forward; torch's schedules reduce gradients after the last micro-batch.
    whole_in_pipelines=True,
    flash=2,
    fused=True,
    kernels="torch",
    tensor_hidden=0.0,
    source=Source(citation="torchtitan (arXiv:2410.06511)", confidence="published"),
)
