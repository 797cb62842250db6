"""What a job sends between sites."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from netloom.spec.strict import Strict

__all__ = ["AcrossAxis", "SyncSpec"]


def _can_cross(value: object) -> object:
    if value in ("tensor", "context", "expert"):
        message = (
            f"{value} parallelism cannot cross a cut: it exchanges activations in every layer and "
            "waits for each exchange, so a step would wait layers x micro-batches x round trips; "
            "use data, pipeline or auto"
        )
        raise ValueError(message)
    return value


AcrossAxis = Annotated[Literal["data", "pipeline", "both", "auto"], BeforeValidator(_can_cross)]


class SyncSpec(Strict):
    """How copies of the model at different sites are kept alike."""

    kind: Literal["every-step", "local"] = Field(
        default="every-step",
        description="Gradients every step, or local steps and then an exchange of what changed "
        "(DiLoCo): another algorithm",
    )
    chunks: Annotated[int, Field(ge=1, le=65_536)] = Field(
        default=16, description="Pieces of the exchange across sites, one behind another"
    )
    every: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=100, description="Of 'local': steps between exchanges"
    )
    bits: Annotated[int, Field(ge=1, le=32)] = Field(
        default=8, description="Of 'local': bits that each parameter's change is sent in"
    )
    fragments: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="Of 'local': parts of the model that are sent at different steps"
    )
    slack_steps: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=0, description="Of 'local': steps that the exchange of a fragment may take"
    )
