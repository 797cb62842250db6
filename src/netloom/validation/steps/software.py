"""The training software of a measured step: from its free text to ``job.software``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, get_args

from netloom.spec.software import PRACTICES, AttentionVersion, GraphedModule, RecomputedModule
from netloom.validation.steps.tuning import fine_tuning_software

if TYPE_CHECKING:
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["software_of"]

# The first word that is found decides. Commits are named as the published tables name them.
_NAMES: Final = (
    ("mlperf", "mlperf"),
    ("automodel", "automodel"),
    ("fsdp2", "torchtitan"),
    ("composer", "fsdp-2023"),
    ("fsdp", "fsdp-2023"),
    ("titan", "torchtitan"),
    ("maxtext", "maxtext"),
    ("paxml", "maxtext"),
    ("deepspeed zero-3", "deepspeed-2021"),
    ("deepspeed", "deepspeed"),
    ("2022", "megatron-2022"),
    ("285068c8", "megatron-2022"),
    ("2020", "megatron-2021"),
    ("2021", "megatron-2021"),
    ("6985e589", "megatron-2021"),
    ("bridge", "megatron-bridge"),
    ("nemo", "nemo"),
    ("megatron-lm 0.14", "megatron-core-2025"),
    ("dev branch", "megatron-core-2025"),
)
_YEARS: Final = ("2020", "2021", "2022")
_RELEASE: Final = re.compile(r"\b\d\d\.\d\d\b")
_CURRENT: Final = "megatron-core-2024"
# Megatron-LM arguments.py: tp_comm_overlap, overlap_grad_reduce and overlap_param_gather are off
# unless given.
_NOTHING_OVERLAPS: Final = {
    "tensor_overlap": False,
    "pipeline_overlap": False,
    "data_overlap": False,
}


def software_of(row: MeasuredStep) -> dict[str, Any]:
    """Return the key ``job.software`` of *row*: from its column ``software``, or free text."""
    given = row.text("software")
    if given in PRACTICES:
        return {"name": given}
    name = next((found for word, found in _NAMES if word in _dated(row)), _CURRENT)
    return {
        "name": name,
        **_overlaps(row, name),
        **_accumulation(row, name),
        **_graphs(row),
        **_types(row, name),
        **_attention(row, name),
        **_launches(row, name),
        **_modules(row),
        **_offload(row),
        **fine_tuning_software(row),
    }


def _dated(row: MeasuredStep) -> str:
    """Return the framework, with the year of its source where it names no release itself."""
    framework = row.text("framework")
    if any(letter.isdigit() for letter in framework):
        return framework
    years = [year for year in _YEARS if f"et al. {year}" in row.text("source")]
    return " ".join((framework, *years))


def _overlaps(row: MeasuredStep, name: str) -> dict[str, bool]:
    framework, overlap = row.text("framework"), row.text("overlap")
    if name == "megatron-2021":
        # Megatron-LM's scripts of 2021: torch's DDP, which overlaps, up to 18B; its own above.
        small = row.params_b is not None and row.params_b <= 18.5
        overlaps = "2020" in framework or ("ddp=torch" in overlap and small)
        return {"data_overlap": overlaps}
    if "tp overlap not set" in overlap:
        return {"tensor_overlap": False}
    if name.startswith("megatron-core") and "megatron-lm" in framework and "overlap" not in overlap:
        return dict(_NOTHING_OVERLAPS)
    return {}


# As automodel's rows note it.
_ACCUMULATION: Final = re.compile(r"gradient accumulation (\d+)")


def _accumulation(row: MeasuredStep, name: str) -> dict[str, int]:
    """Return how often a step fills AutoModel's pipeline: once for each batch it accumulates.

    NVIDIA-NeMo/Automodel, recipes/llm/train_ft.py: schedule.step() runs for every local batch.
    """
    found = _ACCUMULATION.search(row.text("notes"))
    piped = name == "automodel" and row.degrees.get("pp", 1) > 1
    return {"accumulation": int(found[1])} if piped and found else {}


# mlcommons/training_results_v3.0 and v3.1, NVIDIA/benchmarks/gpt3: neither configuration sets
# fp8_params, so weights are held and gathered in 16 bits; grad_sync_dtype is bf16. The container of
# v3.1 installs flash-attn 2.0.8.
_FIRST_ROUNDS: Final = re.compile(r"mlperf v3\.[01]\b")
_SECOND_ATTENTION: Final = re.compile(r"mlperf v3\.1\b")


def _types(row: MeasuredStep, name: str) -> dict[str, str]:
    """Return the types of gradients and weights, where the script that ran sets them.

    Megatron-LM's examples/llama/train_llama3_8b_h100_fp8.sh: --grad-reduce-in-bf16 and
    --fp8-param-gather.
    """
    if name == "mlperf" and _FIRST_ROUNDS.search(row.text("framework")):
        return {"parameter_type": "bf16"}
    if "examples/llama" in row.text("source") and "fp8" in row.text("precision"):
        return {"gradient_type": "bf16", "parameter_type": "fp8"}
    # Megatron-FSDP's guide, recommended configurations: --grad-reduce-in-bf16.
    if name.startswith("megatron-core") and row.divides_weights:
        return {"gradient_type": "bf16"}
    return {}


# Of Megatron-Bridge until 26.02, with the exchange overlapped: layers are cut into parts that
# Python runs one by one. From Qwen3 235B on 64 B200 (row bridge25-0014, not judged).
_OVERLAPPED_LAUNCH: Final = "6ms"


def _launches(row: MeasuredStep, name: str) -> dict[str, str]:
    """Return what launching takes where parts of layers run in turns and no graph holds them."""
    release = _RELEASE.search(row.text("framework"))
    old = name == "megatron-bridge" and release is not None and release[0] <= "26.02"
    plain = row.text("ep_overlap") == "yes" and row.text("cuda_graphs") == "no"
    return {"expert_launch": _OVERLAPPED_LAUNCH} if old and plain else {}


def _attention(row: MeasuredStep, name: str) -> dict[str, str]:
    """Return the attention kernel where it is known, or none was fused for the model's heads.

    NeMo of 25.05 and before with latent attention (heads of 192 and 128) on Blackwell: its DGX
    Cloud recipe computes core_attn again, which a fused kernel has no need of.
    """
    if row.text("attention") in get_args(AttentionVersion):
        return {"attention": row.text("attention")}
    if _SECOND_ATTENTION.search(row.text("framework")):
        return {"attention": "flash-2"}
    latent = "deepseek" in row.model.lower()
    blackwell = row.gpu.upper().startswith(("GB", "B"))
    release = _RELEASE.search(row.text("framework"))
    old = release is None or release[0] <= "25.05"
    return {"attention": "unfused"} if name == "nemo" and latent and blackwell and old else {}


# Megatron-Bridge, scripts/performance/configs, cpu_offloading_num_layers of its FSDP recipes (read
# in release 25.09; the layers of 405B are of GB300): model, GPU, bits of products.
_OFFLOADED: Final = {
    ("70b", "gb300", 16): 30,
    ("70b", "gb300", 8): 20,
    ("70b", "gb200", 16): 20,
    ("70b", "gb200", 8): 40,
    ("70b", "b200", 8): 5,
    ("405b", "gb300", 16): 40,
    ("405b", "gb300", 8): 10,
}


def _offload(row: MeasuredStep) -> dict[str, int]:
    """Return the layers whose activations the host keeps, where the recipe says."""
    stated = row.degrees.get("cpu_offloading_num_layers")
    if stated is not None:
        return {"activation_offload": stated}
    if "bridge" not in row.text("framework") or not row.divides_weights:
        return {}
    bits = 16 if "bf16" in row.text("precision") else 8
    size = row.model.lower().rpartition("_")[2]
    found = _OFFLOADED.get((size, row.gpu.lower(), bits))
    return {} if found is None else {"activation_offload": found}


# As Megatron-MoE-ModelZoo's tables write them.
_ALSO: Final = {"norm": "layernorm", "act": "moe_act"}


def _modules(row: MeasuredStep) -> dict[str, tuple[str, ...]]:
    """Return what is computed again, where the row names Megatron-Core's modules."""
    stated = row.text("recompute_modules")
    named = [_ALSO.get(name, name) for name in stated.replace(",", " ").split()]
    known = tuple(name for name in named if name in get_args(RecomputedModule))
    return {"recompute_modules": known} if known or stated == "none" else {}


def _graphs(row: MeasuredStep) -> dict[str, Any]:
    """Return whether graphs launch the layers and which parts of them, where the row says."""
    stated = row.text("cuda_graphs")
    if stated in {"", "not stated"}:
        return {}
    named = stated.replace(",", " ").split()
    scope = tuple(name for name in get_args(GraphedModule) if name in named)
    return {"cuda_graphs": stated != "no", **({"graph_scope": scope} if scope else {})}
