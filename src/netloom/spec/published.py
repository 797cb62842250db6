"""What was published of the run that a scenario describes, to show beside the prediction."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from netloom.spec.quantity import Share, TimeS
from netloom.spec.strict import Strict

__all__ = ["Published"]


class Published(Strict):
    """A measured step of the same job, by those who ran it."""

    mfu: Annotated[Share, Field(gt=0, le=1)] | None = Field(
        default=None, description="Model FLOPs over the GPUs' peak"
    )
    step_time_s: Annotated[TimeS, Field(gt=0, le=86_400)] | None = Field(
        default=None, description="One optimizer step"
    )
    source: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="Where it was published"
    )

    @model_validator(mode="after")
    def _something_measured(self) -> Self:
        if self.mfu is None and self.step_time_s is None:
            message = "give 'mfu', 'step_time' or both"
            raise ValueError(message)
        return self
