"""What a job trains, and on what: all weights or low-rank ones; text, pictures or films."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from netloom.spec.strict import Strict

__all__ = [
    "ALL_WEIGHTS",
    "AdaptedModule",
    "FrozenType",
    "TrainingSample",
    "Tuning",
    "TuningKey",
    "TuningMethod",
]

TuningMethod = Literal["pretrain", "sft", "lora"]
FrozenType = Literal["bf16", "nf4"]
# Megatron-Core's words (Megatron-Bridge peft.target_modules).
AdaptedModule = Literal["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]


def _once(modules: tuple[AdaptedModule, ...]) -> tuple[AdaptedModule, ...]:
    """Return *modules* in one order, each once: the order of a list says nothing."""
    return tuple(name for name in get_args(AdaptedModule) if name in modules)


class Tuning(Strict):
    """What is trained; rank, modules and the type of frozen weights are LoRA's alone."""

    method: TuningMethod = Field(
        default="pretrain",
        description="pretrain and sft train every weight (a loss on answers alone changes no "
        "time), lora two thin matrices beside each adapted one, the rest frozen",
    )
    rank: Annotated[int, Field(ge=1, le=65_536)] = Field(
        default=16, description="Width of the low-rank matrices"
    )
    modules: Annotated[tuple[AdaptedModule, ...], Field(min_length=1), AfterValidator(_once)] = (
        Field(
            default=get_args(AdaptedModule),
            description="Matrices that get low-rank ones: of queries, keys and values, of the "
            "attention's output, into and out of the feed-forward block",
        )
    )
    frozen_type: FrozenType = Field(
        default="bf16",
        description="What frozen weights of the layers are held in; nf4 (QLoRA) changes memory, "
        "the time to unpack them is not modelled",
    )

    @property
    def is_low_rank(self) -> bool:
        """Whether the model's own weights are frozen."""
        return self.method == "lora"

    def adapts(self, module: AdaptedModule) -> bool:
        """Return whether *module* has low-rank matrices beside it."""
        return self.is_low_rank and module in self.modules

    @property
    def adapted(self) -> tuple[AdaptedModule, ...]:
        """The modules that do; none when every weight is trained."""
        return self.modules if self.is_low_rank else ()

    def trains_input_of(self, module: AdaptedModule) -> bool:
        """Return whether a gradient needs what enters *module*."""
        return not self.is_low_rank or module in self.modules


ALL_WEIGHTS: Final = Tuning()


class TrainingSample(Strict):
    """A picture or a film that a diffusion model is trained on; its tokens are the sequence."""

    height: Annotated[int, Field(ge=1, le=65_536)] = Field(description="Pixels")
    width: Annotated[int, Field(ge=1, le=65_536)] = Field(description="Pixels")
    frames: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="Of a film; 1 for a picture"
    )
    stride: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=16, description="Pixels of a token's side: the autoencoder's and the patch's"
    )
    frame_stride: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=4, description="Frames of a token after the first frame, which has its own"
    )
    encode: bool = Field(
        default=True,
        description="Whether text and image encoders run in the step; not where their outputs "
        "were stored before",
    )

    @property
    def tokens(self) -> int:
        """Of the latent."""
        high, wide = (-(-side // self.stride) for side in (self.height, self.width))
        return high * wide * (1 + -(-(self.frames - 1) // self.frame_stride))


def _spelled_out(value: object) -> object:
    """Return a method alone as the mapping it is short for."""
    return {"method": value} if isinstance(value, str) else value


TuningKey = Annotated[
    Tuning,
    BeforeValidator(_spelled_out, json_schema_input_type=TuningMethod | Tuning),
]
