"""How a model is served: what requests look like, and how the machines share the work."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netloom.spec.strict import Strict

__all__ = ["Instance", "Serving"]

Degree = Annotated[int, Field(ge=1, le=65_536)]
Tokens = Annotated[int, Field(ge=1, le=16_777_216)]


class Instance(Strict):
    """One copy of the model that answers requests: tensor x pipeline x data GPUs."""

    tensor: Degree = Field(default=1, description="GPUs that share each matrix")
    pipeline: Degree = Field(default=1, description="Stages that the layers are divided into")
    expert: Degree = Field(
        default=1, description="GPUs that the experts of a mixture-of-experts layer are spread over"
    )
    data: Degree = Field(
        default=1,
        description="Copies of the attention in the instance, each with requests of its own",
    )

    @property
    def num_gpus(self) -> int:
        """GPUs of the instance."""
        return self.tensor * self.pipeline * self.data


class Serving(Strict):
    """Requests of one length, answered by as many instances as the cluster has room for."""

    prompt: Tokens = Field(description="Tokens of a request's prompt")
    output: Annotated[int, Field(ge=2, le=16_777_216)] = Field(
        description="Tokens of its answer, the first included"
    )
    batch: Annotated[int, Field(ge=1, le=1_048_576)] = Field(
        description="Requests that one instance decodes at the same time"
    )
    precision: Literal["bf16", "fp16", "fp8"] = Field(
        default="bf16", description="Number format of weights and matrix products"
    )
    decode: Instance = Field(
        default=Instance(), description="An instance that produces tokens after the first"
    )
    prefill: Instance | None = Field(
        default=None,
        description="An instance that reads prompts; as 'decode' when left out",
    )
    disaggregated: bool = Field(
        default=False,
        description="Whether prompts are read on instances of their own, which then send the "
        "keys and values over the network",
    )

    @model_validator(mode="after")
    def _one_instance_has_one_shape(self) -> Self:
        if not self.disaggregated and self.prefill not in (None, self.decode):
            message = (
                "'prefill' differs from 'decode', but the same instances do both; leave it out "
                "or set disaggregated: true"
            )
            raise ValueError(message)
        return self

    @property
    def prefill_instance(self) -> Instance:
        """The instance that reads prompts."""
        return self.prefill or self.decode

    @property
    def mean_context(self) -> float:
        """Tokens that a new token looks at, in the mean over the decode steps of a request.

        Step i of output - 1 looks at prompt + i tokens.
        """
        return self.prompt + self.output / 2
