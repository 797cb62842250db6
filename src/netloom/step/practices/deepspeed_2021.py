"""DeepSpeed of 2021 with ZeRO 3, under Megatron-LM's layers.

partition_parameters.py and stage3.py as public copies of that year have them: before every module
the host waits for the GPU, makes a view of each rank's share of the module's weight and has
all_gather copy each out of one buffer; gradients go the same way, weight by weight
(_allgather_param, _reduce_scatter_gradient). One weight is gathered ahead, unless
stage3_max_live_parameters (1e9) are there already; what stage3_max_reuse_distance (1e9) lies
before its next use is released; biases and norms (stage3_param_persistence_threshold) stay whole.
overlap_comm is off.
"""

from __future__ import annotations

from dataclasses import replace

from netloom.provenance import Source
from netloom.step.practices.megatron_2021 import ENTRY as MEGATRON_2021
from netloom.workload.zero.modules import ModuleGathers

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_2021,
    name="deepspeed-2021",
    title="DeepSpeed ZeRO 3 2021",
    shards_weights=True,
    zero_stages=(3,),
    drag=0.15,  # as Megatron-Core
    # A view and a copy of eager PyTorch.
    modules=ModuleGathers(rank_s=10e-6),
    source=Source(
        citation="microsoft/DeepSpeed of early 2021, runtime/zero/partition_parameters.py and "
        "stage3.py, in public copies",
        confidence="secondary",
    ),
)
