"""From what a scenario says of its software to what a step does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.provenance import Validity
from netloom.spec.precision import is_cast
from netloom.spec.quantity import write_quantity
from netloom.spec.software import PRACTICES
from netloom.step.practice import Practice
from netloom.step.residual import generation_of
from netloom.units import SHARE, SIZE, TIME
from netloom.validated.steps import (
    SoftwareOn,
    checked_software,
    checked_switches,
    met_at,
    met_software,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.compute.generation import FlashVersion
    from netloom.parts.parts import Gpu
    from netloom.spec.precision import Precision
    from netloom.spec.scenario import Job
    from netloom.spec.software import AttentionVersion
    from netloom.workload.placement import Layout

__all__ = [
    "default_practice",
    "departures",
    "practice_for",
    "practice_named",
    "software_validity",
    "switches_of",
    "written_switch",
]

# Whose shares of hidden traffic stand in where software that overlaps nothing is told to overlap.
_OVERLAPPING: Final = "megatron-core-2024"
_TYPE_BYTES: Final = {"fp32": 4, "bf16": 2, "fp8": 1}
_FIELDS: Final = {"expert_launch_s": "host_experts_s"}
_FLASH: Final[Mapping[AttentionVersion, FlashVersion]] = {"flash-1": 1, "flash-2": 2, "flash-3": 3}


def practice_for(job: Job, gpu: Gpu) -> Practice:
    """Return what the software of *job* does on *gpu*: its practice with the job's switches.

    Raises:
        SpecError: the software is not known.
    """
    name = job.software.name
    named = default_practice(gpu, job.trained.precision) if name is None else practice_named(name)
    found = _on(named, gpu)
    dropless = job.training is None or job.training.expert_capacity is None
    if dropless and job.parallel.expert > 1 and job.parallel.expert_dispatch == "all-to-all":
        found = replace(found, reads_counts=True)
    if found.parameter_bytes == 1 and not is_cast(job.trained.precision):
        found = replace(found, parameter_bytes=2)
    changes = [_changed(found, *switch) for switch in job.software.switches().items()]
    return replace(found, **{name: value for change in changes for name, value in change.items()})


def _on(practice: Practice, gpu: Gpu) -> Practice:
    """Return *practice* as its own recipes for *gpu* have it."""
    graphs = practice.cuda_graphs or generation_of(gpu) in practice.graphs_on
    new = practice.on_blackwell if gpu.architecture.startswith("Blackwell") else 1.0
    return replace(practice, cuda_graphs=graphs, age=practice.age * new)


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


def default_practice(gpu: Gpu, precision: Precision) -> Practice:
    """Return the practice of a job that names none.

    It is the newest whose steps in *precision* were met on the generation of *gpu*; where there is
    none, the newest that was met there in another, that was compared there, or of all. Software
    that only divides weights (FSDP) is not among them: it cannot run the tensor and pipeline
    degrees of other jobs. Neither is that of a benchmark's submissions.
    """
    return _newest(generation_of(gpu), precision)


@cache
def _newest(generation: str, precision: Precision) -> Practice:
    groups: tuple[Iterable[str], ...] = (
        met_at(generation, precision),
        (pair.name for pair in met_software() if pair.generation == generation),
        (pair.name for pair in checked_software() if pair.generation == generation),
        PRACTICES.shipped(),
    )
    able = ([one for one in map(practice_named, g) if _is_general(one)] for g in groups)
    return max(next(filter(None, able)), key=lambda one: (one.released, one.name))


def _is_general(practice: Practice) -> bool:
    return not (practice.shards_weights or practice.is_submission)


def departures(practice: Practice, gpu: Gpu) -> dict[str, str]:
    """Return the switches of *practice* that are not as its name stands for on *gpu*."""
    named = switches_of(_on(practice_named(practice.name), gpu))
    told = switches_of(practice)
    return {name: str(value) for name, value in told.items() if value != named[name]}


def software_validity(
    practice: Practice, gpu: Gpu, plan: Layout, *, layers: str = "dense"
) -> Validity:
    """Return whether steps of the software on such GPUs were met, switched as it is.

    Of mixtures, dense steps or those of other mixtures: their kinds are judged by their own rows.
    """
    here = SoftwareOn(practice.name, generation_of(gpu))
    kind = gpu.name if here.generation == gpu.name.lower() else gpu.architecture
    if here in met_software() | met_software(layers):
        return _switched_validity(practice, gpu, plan, kind)
    found = checked_software(layers).get(here) or checked_software().get(here)
    if found is not None:
        doubt = (
            f"Steps of {practice.title} on {kind} GPUs were compared and not met: "
            f"{found.rows} came out {found.median_pct:.0f} % off in the median."
        )
    else:
        met = met_software() | met_software(layers)
        others = sorted(pair.name for pair in met if pair.generation == here.generation)
        known = f"; software that was met there: {', '.join(others)}" if others else ""
        doubt = f"No step of {practice.title} on {kind} GPUs was compared{known}."
    return Validity((doubt,))


def _switched_validity(practice: Practice, gpu: Gpu, plan: Layout, kind: str) -> Validity:
    """Return a doubt for each switch that matters to *plan* and stood otherwise in every run."""
    runs = [dict(run) for run in checked_switches()[SoftwareOn(practice.name, generation_of(gpu))]]
    mine, told = departures(practice, gpu), switches_of(practice)
    unseen = [
        name
        for name in told
        if _matters(name, plan) and all(run.get(name) != mine.get(name) for run in runs)
    ]
    return Validity(
        tuple(
            f"No step of {practice.title} on {kind} GPUs with {written_switch(name, told[name])} "
            "was compared."
            for name in unseen
        )
    )


def _matters(switch: str, plan: Layout) -> bool:
    match switch:
        case "tensor_overlap":
            return plan.tensor > 1
        case "pipeline_overlap" | "accumulation":
            return plan.pipeline > 1
        case "data_overlap" | "bucket_bytes" | "gradient_type":
            return plan.replicas > 1
        case "expert_launch_s":
            return plan.expert > 1
        case "manual_gc":
            return False  # no step differs by it here
        case _:
            return True


def written_switch(name: str, value: Any) -> str:
    """Return a switch as a scenario writes it."""
    if value is None:
        return f"{name.removesuffix('_bytes').removesuffix('_s')} left out"
    match name:
        case "bucket_bytes":
            return f"bucket: {write_quantity(value, SIZE)}"
        case "expert_launch_s":
            return f"expert_launch: {write_quantity(value, TIME)}"
        case "optimizer_offload":
            return f"{name}: {write_quantity(value, SHARE)}"
        case "recompute_modules":
            return f"{name}: [{', '.join(value)}]"
        case _:
            return f"{name}: {str(value).lower() if isinstance(value, bool) else value}"


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
            return {_FIELDS.get(switch, switch): value}


def switches_of(practice: Practice) -> dict[str, Any]:
    """Return what *practice* does, in the words of ``job.software``.

    None stands for what the job decides: gradients and recomputation by its precision and its
    ``recompute``, buckets by the number of its copies.
    """
    fused = f"flash-{practice.flash}"
    types = {size: name for name, size in _TYPE_BYTES.items()}
    gradient, modules = practice.gradient_bytes, practice.recompute_modules
    scope = practice.graph_scope
    return {
        "tensor_overlap": practice.tensor_hidden > 0,
        "pipeline_overlap": practice.pipeline_hidden > 0,
        "accumulation": practice.accumulation,
        "data_overlap": practice.overlaps_data,
        "bucket_bytes": practice.bucket_bytes,
        "attention": "unfused" if practice.attention == "unfused" else fused,
        "cuda_graphs": practice.cuda_graphs,
        "graph_scope": None if scope is None else list(scope),
        "expert_launch_s": practice.host_experts_s,
        "gradient_type": None if gradient is None else types[gradient],
        "parameter_type": types[practice.parameter_bytes],
        "recompute_modules": None if modules is None else list(modules),
        "optimizer_offload": practice.optimizer_offload,
        "activation_offload": practice.activation_offload,
        "manual_gc": practice.manual_gc,
    }
