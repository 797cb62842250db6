"""The measured steps that parameters were taken from, and those that contradict themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.study.measured_steps import MeasuredStep

__all__ = ["FITTED", "contradicted"]

# One row in eight of the dgxc-benchmarking (H100, dense, pre-training) and the multi-node vTrain
# tables, one in ten of llm-foundry, one in seventy of the one-node vTrain table, in table order;
# and one each of Korthikanti et al. 2022 and the Megatron-LM README of 2020.
FITTED: Final = frozenset(
    {
        "korthikanti2022-0005",
        "llmfoundry_mpt-0012",
        "llmfoundry_mpt-0027",
        "llmfoundry_mpt-0040",
        "llmfoundry_mpt-0058",
        "llmfoundry_mpt-0069",
        "llmfoundry_mpt-0083",
        "llmfoundry_mpt-0098",
        "llmfoundry_mpt-0115",
        "llmfoundry_mpt-0131",
        "llmfoundry_mpt-0148",
        "llmfoundry_mpt-0168",
        "llmfoundry_mpt-0188",
        "llmfoundry_mpt-0208",
        "megatron-0044",
        "nvidia_dgxc-0084",
        "nvidia_dgxc-0096",
        "nvidia_dgxc-0114",
        "nvidia_dgxc-0130",
        "nvidia_dgxc-0144",
        "nvidia_dgxc-0158",
        "nvidia_dgxc-0170",
        "nvidia_dgxc-0179",
        "nvidia_dgxc-0221",
        "vtrain_multi-0007",
        "vtrain_multi-0021",
        "vtrain_multi-0039",
        "vtrain_multi-0057",
        "vtrain_multi-0072",
        "vtrain_multi-0088",
        "vtrain_multi-0100",
        "vtrain_single-0067",
        "vtrain_single-0211",
        "vtrain_single-0349",
        "vtrain_single-0489",
        "vtrain_single-0645",
        "vtrain_single-0770",
        "vtrain_single-0923",
        "vtrain_single-1046",
        "vtrain_single-1201",
        "vtrain_single-1344",
    }
)


def contradicted(row: MeasuredStep) -> tuple[str, ...]:
    """Return how the neighbours of *row* in its own table contradict it; empty when they do not."""
    found = (
        "vtrain" in row.source.lower()
        and row.shape.get("hidden") == 8192
        and row.num_gpus == 512
        and row.degrees.get("tp") == 2
    )
    if not found:
        return ()
    doubt = (
        "vTrain's 39B runs on 512 GPUs with tensor 2 are 17 to 36 % slower than its own with "
        "tensor 1, 4 and 8; interference is suspected"
    )
    return (doubt,)
