"""From what a scenario says of its software to what a step does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.spec.software import PRACTICES
from netloom.step.practice import Practice
from netloom.step.residual import generation_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.compute.generation import FlashVersion
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Job
    from netloom.spec.software import AttentionVersion

__all__ = ["default_practice", "practice_for", "practice_named", "switches_of"]

# Whose shares of hidden traffic stand in where software that overlaps nothing is told to overlap.
_OVERLAPPING: Final = "megatron-core-2024"
_TYPE_BYTES: Final = {"fp32": 4, "bf16": 2, "fp8": 1}
_FLASH: Final[Mapping[AttentionVersion, FlashVersion]] = {"flash-1": 1, "flash-2": 2, "flash-3": 3}


def practice_for(job: Job, gpu: Gpu) -> Practice:
    """Return what the software of *job* does on *gpu*: its practice with the job's switches.

    Raises:
        SpecError: the software is not known.
    """
    name = job.software.name
    found = default_practice(job, gpu) if name is None else practice_named(name)
    if generation_of(gpu) in found.graphs_on:
        found = replace(found, cuda_graphs=True)
    if job.parallel.expert > 1 and job.parallel.expert_dispatch == "all-to-all":
        found = replace(found, reads_counts=True)
    if found.parameter_bytes == 1 and job.trained.precision != "fp8":
        found = replace(found, parameter_bytes=2)
    changes = [_changed(found, *switch) for switch in job.software.switches().items()]
    return replace(found, **{name: value for change in changes for name, value in change.items()})


def practice_named(name: str) -> Practice:
    """Return the practice called *name*.

    Raises:
        SpecError: there is none.
    """
    found = PRACTICES.get(name)
    if not isinstance(found, Practice):
        raise SpecError(
            key="job.software.name",
            what=f"{name!r} is registered as {type(found).__name__}",
            remedy="its package must register a netloom.step.practice.Practice",
        )
    return found


def default_practice(job: Job, gpu: Gpu) -> Practice:
    """Return the practice of a *job* that names none."""
    del job, gpu
    return practice_named("megatron-core-2024")


def _changed(practice: Practice, switch: str, value: Any) -> dict[str, Any]:
    """Return the fields of *practice* that a *switch* of the scenario sets."""
    overlapping = practice_named(_OVERLAPPING)
    match switch:
        case "tensor_overlap":
            hidden = practice.tensor_hidden or overlapping.tensor_hidden
            return {"tensor_hidden": hidden if value else 0.0}
        case "pipeline_overlap":
            hidden = practice.pipeline_hidden or overlapping.pipeline_hidden
            return {"pipeline_hidden": hidden if value else 0.0}
        case "data_overlap":
            return {"overlaps_data": value}
        case "attention":
            fused = {"attention": "fused", "flash": _FLASH.get(value)}
            return {"attention": "unfused"} if value == "unfused" else fused
        case "gradient_type" | "parameter_type":
            return {switch.replace("type", "bytes"): _TYPE_BYTES[value]}
        case _:
            return {switch: value}


def switches_of(practice: Practice) -> dict[str, Any]:
    """Return what *practice* does, in the words of ``job.software``."""
    fused = f"flash-{practice.flash}"
    types = {size: name for name, size in _TYPE_BYTES.items()}
    gradient = practice.gradient_bytes
    return {
        "tensor_overlap": practice.tensor_hidden > 0,
        "pipeline_overlap": practice.pipeline_hidden > 0,
        "data_overlap": practice.overlaps_data,
        "bucket_bytes": practice.bucket_bytes,
        "attention": "unfused" if practice.attention == "unfused" else fused,
        "cuda_graphs": practice.cuda_graphs,
        "gradient_type": None if gradient is None else types[gradient],
        "parameter_type": types[practice.parameter_bytes],
        "recompute_modules": practice.recompute_modules,
        "optimizer_offload": practice.optimizer_offload,
        "manual_gc": practice.manual_gc,
    }
