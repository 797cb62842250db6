"""The measured steps that parameters were taken from."""

from __future__ import annotations

from typing import Final

__all__ = ["FITTED"]

# The first row of each model, precision and plan of the dgxc-benchmarking table (H100, dense, whole
# models, pre-training) and of each model and tensor degree of the multi-node vTrain table; one in
# ten of llm-foundry and one in seventy of the one-node vTrain table, in table order; the first of
# each model and sequence of SimuMax's Llama rows (B200), of each precision of Llama 3.1 405B on
# GB200; one each of Korthikanti et al. 2022 and the Megatron-LM README of 2020; the two pairs
# that the spread of ranks (step.schedule) and the age of Megatron-LM 2021 (step.practice) are from,
# the first row in 4 bits of each Llama on GB200 and GB300, the first of 70B in MXFP8 and of 405B in
# FP8 on each, of Megatron-Bridge's table;
# and the rows that the launch of a layer with experts, and what graphs save of it (step.practice),
# are from.
FITTED: Final = frozenset(
    {
        "bridge25-0014",
        "bridge_ab-0004",
        "korthikanti2022-0005",
        "korthikanti2022-0010",
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
        "megatron-0009",
        "megatron_bridge-0001",
        "megatron_bridge-0002",
        "megatron_bridge-0003",
        "megatron_bridge-0008",
        "megatron_bridge-0009",
        "megatron_bridge-0012",
        "megatron_bridge-0027",
        "megatron_bridge-0164",
        "megatron_bridge-0046",
        "megatron_bridge-0076",
        "megatron-0044",
        "nvidia_dgxc-0073",
        "nvidia_dgxc-0075",
        "nvidia_dgxc-0080",
        "nvidia_dgxc-0087",
        "nvidia_dgxc-0090",
        "nvidia_dgxc-0096",
        "nvidia_dgxc-0105",
        "nvidia_dgxc-0112",
        "nvidia_dgxc-0117",
        "nvidia_dgxc-0123",
        "nvidia_dgxc-0144",
        "nvidia_dgxc-0150",
        "nvidia_dgxc-0155",
        "nvidia_dgxc-0162",
        "nvidia_dgxc-0167",
        "nvidia_dgxc-0213",
        "nvidia_dgxc-0217",
        "nvidia_dgxc-0227",
        "simumax_b200-0009",
        "simumax_b200-0026",
        "simumax_b200-0037",
        "simumax_b200-0039",
        "simumax_b200-0041",
        "simumax_b200-0043",
        "vtrain_multi-0003",
        "vtrain_multi-0004",
        "vtrain_multi-0008",
        "vtrain_multi-0017",
        "vtrain_multi-0027",
        "vtrain_multi-0033",
        "vtrain_multi-0035",
        "vtrain_multi-0039",
        "vtrain_multi-0043",
        "vtrain_multi-0054",
        "vtrain_multi-0074",
        "vtrain_multi-0089",
        "vtrain_multi-0094",
        "vtrain_multi-0096",
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
