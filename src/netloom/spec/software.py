"""Which training software runs a job: a named practice, and switches that depart from it.

A practice is one module of :mod:`netloom.step.practices`, or one entry point of another package
under ``netloom.practices``; this module imports none of them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Protocol, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from netloom.errors import SpecError
from netloom.registers import Register
from netloom.spec.quantity import Share, SizeBytes, TimeS
from netloom.spec.strict import Strict

__all__ = [
    "PRACTICES",
    "AttentionVersion",
    "GradientType",
    "GraphedModule",
    "ParameterType",
    "PracticeKind",
    "RecomputedModule",
    "Software",
    "SoftwareKey",
]

AttentionVersion = Literal["unfused", "flash-1", "flash-2", "flash-3"]
GradientType = Literal["fp32", "bf16"]
ParameterType = Literal["fp32", "bf16", "fp8"]
# Megatron-Core's words (transformer_config.py, recompute_modules).
RecomputedModule = Literal[
    "core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"
]

# And the parts of a layer that a graph can launch (cuda_graph_scope).
GraphedModule = Literal["attn", "moe_router", "moe_preprocess"]


class PracticeKind(Protocol):
    """What a scenario needs to know of a practice."""

    @property
    def name(self) -> str:
        """As scenarios and ``--software`` write it."""

    @property
    def title(self) -> str:
        """As its users call it."""


PRACTICES: Final = Register[PracticeKind](
    kind="software",
    traits=PracticeKind,
    home="netloom.step.practices",
    entry_point_group="netloom.practices",
)


def _registered(name: str) -> str:
    try:
        return PRACTICES.get(name).name
    except SpecError as error:
        raise ValueError(_reason(name, error)) from error


def _reason(name: str, error: SpecError) -> str:
    """Return what is wrong with *name*: it is not known, or its package does not load."""
    return str(error) if name in PRACTICES else f"{name!r} is not known; {PRACTICES.hint(name)}"


def _list_names(schema: dict[str, Any]) -> None:
    schema["enum"] = list(PRACTICES.names())


PracticeName = Annotated[
    str,
    Field(min_length=1, max_length=200, json_schema_extra=_list_names),
    AfterValidator(_registered),
]


def _once(modules: tuple[RecomputedModule, ...]) -> tuple[RecomputedModule, ...]:
    """Return *modules* in one order, each once: the order of a list says nothing."""
    return tuple(name for name in get_args(RecomputedModule) if name in modules)


class Software(Strict):
    """Training software; what is left out is as the named practice does it."""

    name: PracticeName | None = Field(
        default=None,
        description="A practice by name; when left out, the newest that was compared with "
        "measurements on such GPUs",
    )
    tensor_overlap: bool | None = Field(
        default=None,
        description="Whether products hide tensor-parallel collectives (tp_comm_overlap)",
    )
    pipeline_overlap: bool | None = Field(
        default=None,
        description="Whether other chunks hide transfers between virtual stages (overlap_p2p_comm)",
    )
    data_overlap: bool | None = Field(
        default=None,
        description="Whether passes hide the reduction of gradients and the gathers of weights "
        "(overlap_grad_reduce, overlap_param_gather)",
    )
    accumulation: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        default=None,
        description="Batches that a step accumulates one after another, with the pipeline drained "
        "after each (gradient accumulation around PyTorch's pipeline schedules)",
    )
    bucket_bytes: Annotated[SizeBytes, Field(ge=1e6, le=1e12)] | None = Field(
        default=None,
        description="Gradients that are reduced at a time; the last bucket is not hidden",
    )
    attention: AttentionVersion | None = Field(
        default=None, description="The kernel: unfused, or a generation of FlashAttention"
    )
    cuda_graphs: bool | None = Field(
        default=None, description="Whether CUDA graphs launch the kernels of a layer"
    )
    graph_scope: tuple[GraphedModule, ...] | None = Field(
        default=None,
        description="Of a layer with experts, the parts that CUDA graphs launch, where they do not "
        "launch all of it (cuda_graph_scope)",
    )
    expert_launch_s: Annotated[TimeS, Field(ge=0, le=1)] | None = Field(
        default=None,
        description="What the host needs to launch one pass of a layer with experts, kernel by "
        "kernel; graphs leave less",
    )
    gradient_type: GradientType | None = Field(
        default=None, description="What gradients are kept and reduced in"
    )
    parameter_type: ParameterType | None = Field(
        default=None,
        description="What weights are held and gathered in, beside the optimizer's master copy",
    )
    recompute_modules: Annotated[tuple[RecomputedModule, ...], AfterValidator(_once)] | None = (
        Field(
            default=None,
            description="What the backward pass computes again, in place of training.recompute",
        )
    )
    optimizer_offload: Annotated[Share, Field(ge=0, le=1)] | None = Field(
        default=None, description="Share of the optimizer's state that the host holds"
    )
    activation_offload: Annotated[int, Field(ge=0, le=100_000)] | None = Field(
        default=None,
        description="Layers of a stage whose activations the host keeps from forward to backward "
        "(cpu_offloading_num_layers)",
    )
    manual_gc: bool | None = Field(
        default=None,
        description="Whether all ranks collect Python's garbage at the same step (--manual-gc)",
    )

    def switches(self) -> dict[str, Any]:
        """Return what departs from the named practice."""
        return self.model_dump(exclude={"name"}, exclude_none=True)


def _spelled_out(value: object) -> object:
    """Return a name alone as the mapping it is short for."""
    return {"name": value} if isinstance(value, str) else value


SoftwareKey = Annotated[
    Software,
    BeforeValidator(_spelled_out, json_schema_input_type=PracticeName | Software),
]
