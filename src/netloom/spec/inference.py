"""How a model is served: what requests look like, and how the machines share the work."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netloom.spec.strict import Strict

__all__ = ["Generation", "Instance", "ServedDispatch", "Serving"]

Degree = Annotated[int, Field(ge=1, le=65_536)]
ServedDispatch = Literal["all-to-all", "deepep"]
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

    expert_dispatch: ServedDispatch = Field(
        default="deepep",
        description="How tokens reach their experts: by DeepEP, which services run that spread "
        "them (one copy to each node of a prompt, to each expert of a decode step, there in 8 bits "
        "where the weights are), or by NCCL's all-to-all, a copy for each expert",
    )
    expert_overlap: bool = Field(
        default=False,
        description="Whether the other half of the batch hides the way to the experts and back "
        "(two-batch overlap)",
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


class Generation(Strict):
    """Pictures or films made on request by a diffusion model, all of one size.

    A request is read by the text encoder, denoised step by step and decoded to pixels.
    """

    height: Annotated[int, Field(ge=16, le=65_536)] = Field(description="Pixels")
    width: Annotated[int, Field(ge=16, le=65_536)] = Field(description="Pixels")
    frames: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="Of a film; 1 for a picture"
    )
    steps: Annotated[int, Field(ge=1, le=10_000)] = Field(
        description="Denoising steps of a request"
    )
    guidance: bool | None = Field(
        default=None,
        description="Whether each step also runs without the text (classifier-free guidance): "
        "twice the work; as the model was published when left out",
    )
    batch: Annotated[int, Field(ge=1, le=65_536)] = Field(
        default=1, description="Requests that an instance makes together"
    )
    precision: Literal["bf16", "fp16"] = Field(
        default="bf16", description="Number format of weights and matrix products"
    )
    mode: Literal["eager", "compiled"] = Field(
        default="compiled", description="How PyTorch runs it: as written, or by torch.compile"
    )
    attention: Literal["flash-attention-2", "flash-attention-3"] = Field(
        default="flash-attention-3",
        description="Kernel of attention; the newer, as in cuDNN since 2024, is twice as fast on "
        "Hopper",
    )
    context: Degree = Field(
        default=1,
        description="GPUs that share each request's tokens and exchange heads (Ulysses)",
    )
    guidance_parallel: bool = Field(
        default=False,
        description="Whether the pass without the text runs on GPUs of its own",
    )

    @property
    def pixels(self) -> int:
        """Of one request, all frames."""
        return self.height * self.width * self.frames

    def tokens(self, stride: int, frame_stride: int) -> int:
        """Return the tokens of a request's latent; the first frame has one of its own."""
        high, wide = (-(-side // stride) for side in (self.height, self.width))
        return high * wide * (1 + -(-(self.frames - 1) // frame_stride))
