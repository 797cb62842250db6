"""How long a request takes from its text to its pixels, and how many a cluster makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError, SpecError
from netloom.provenance import Validity, Why
from netloom.step.generation.denoise import Denoising, denoising_step, is_guided, ranks_of
from netloom.step.generation.gpu import DECODER_SHARE, DECODER_SOURCE, generation_gpu
from netloom.step.generation.memory import GenerationMemory, check_generation_memory

if TYPE_CHECKING:
    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.diffusion import Diffusion
    from netloom.parts.parts import Model
    from netloom.spec.inference import Generation
    from netloom.step.generation.gpu import GenerationGpu

__all__ = ["GenerationService", "generate"]

COMPARED: Final = (
    "Compared with eight passes of FLUX.1's blocks on one H200 (5 to 9 % too fast) and with "
    "published requests on 1 to 8 H100: compiled 11 to 14 % too fast, as written up to 51 %, where "
    "the host decided, films on 8 GPUs 34 %, of which most is their decoder."
)
NEVER_QUEUED: Final = "Requests are all of one size and never queue: real latencies have tails."


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationService:
    """One way to divide a cluster into instances.

    Attributes:
        asked: With the degrees of this way.
        encoder_s: The text through its encoder.
        step: One denoising step.
        decoder_s: Back to pixels, on one GPU; 0 where the decoder is not counted.
        num_instances: That fit in the cluster.
    """

    asked: Generation
    encoder_s: float
    step: Denoising
    decoder_s: float
    num_gpus: int
    num_instances: int
    memory: GenerationMemory
    validity: Validity
    why: Why

    @property
    def latency_s(self) -> float:
        """From a request's arrival to its pixels."""
        return self.encoder_s + self.asked.steps * self.step.total_s + self.decoder_s

    @property
    def gpus_per_instance(self) -> int:
        """That make a batch together."""
        return ranks_of(self.asked)

    @property
    def idle_gpus(self) -> int:
        """Left over."""
        return self.num_gpus - self.num_instances * self.gpus_per_instance

    @property
    def requests_per_s(self) -> float:
        """Pictures or films of the whole cluster."""
        return self.num_instances * self.asked.batch / self.latency_s

    @property
    def requests_per_s_per_gpu(self) -> float:
        """Over all GPUs of the cluster, idle ones included."""
        return self.requests_per_s / self.num_gpus


def generate(
    asked: Generation, *, model: Model, network: Network, engine: Engine
) -> GenerationService:
    """Return how fast all GPUs of *network* make what was *asked* for.

    Raises:
        SpecError: the model cannot be divided so.
        InfeasibleError: an instance does not fit in a GPU's memory, or not in the cluster.
    """
    blocks = model.diffusion
    assert blocks is not None
    _check(asked, model, blocks, network)
    gpu = generation_gpu(network.gpu, asked)
    step = denoising_step(asked, model=model, network=network, engine=engine, gpu=gpu)
    memory = check_generation_memory(asked, model=model, gpu=network.gpu, rows=step.rows)
    num_gpus = network.design.num_gpus
    encoder_s = _encoder_s(asked, blocks, gpu)
    decoder_s = gpu.decoder_s(_decoder_flops(asked, blocks), asked)
    return GenerationService(
        asked=asked,
        encoder_s=encoder_s,
        step=step,
        decoder_s=decoder_s,
        num_gpus=num_gpus,
        num_instances=num_gpus // ranks_of(asked),
        memory=memory,
        validity=_doubts(asked, model, blocks, network) & gpu.validity & step.validity,
        why=_why(asked, encoder_s, step, decoder_s),
    )


def _encoder_s(asked: Generation, blocks: Diffusion, gpu: GenerationGpu) -> float:
    if not blocks.encoder_parameters:
        return 0.0
    texts = asked.batch * (2 if is_guided(asked, blocks) else 1)
    return gpu.encoder_s(blocks.encoder_parameters, texts * blocks.text_tokens)


def _decoder_flops(asked: Generation, blocks: Diffusion) -> float:
    return (blocks.decoder_flops_per_pixel or 0.0) * asked.pixels * asked.batch


def _check(asked: Generation, model: Model, blocks: Diffusion, network: Network) -> None:
    """Refuse what cannot be divided."""
    if model.num_heads % asked.context:
        degrees = [d for d in range(1, asked.context) if model.num_heads % d == 0]
        raise SpecError(
            key="generation.context",
            what=f"{asked.context} does not divide the {model.num_heads} heads of {model.name}",
            remedy=f"use a divisor, such as {degrees[-1]}",
        )
    if asked.guidance_parallel and not is_guided(asked, blocks):
        raise SpecError(
            key="generation.guidance_parallel",
            what=f"a step of {model.name} has one pass: its guidance was distilled",
            remedy="leave it out, or set guidance: true",
        )
    ranks, node = ranks_of(asked), network.node.num_gpus
    if ranks % node and node % ranks:
        raise SpecError(
            key="generation.context",
            what=f"{ranks} GPUs neither divide nor fill nodes of {node} ({network.node.name})",
            remedy=f"use a divisor of {node} or a multiple of it",
        )
    if ranks > network.design.num_gpus:
        raise InfeasibleError(
            key="generation.context",
            what=f"an instance of {ranks} GPUs does not fit in the cluster's "
            f"{network.design.num_gpus:,}",
            remedy="use a larger cluster or smaller degrees",
        )


def _doubts(asked: Generation, model: Model, blocks: Diffusion, network: Network) -> Validity:
    """Return what of it no measurement answers for."""
    doubts = [COMPARED, NEVER_QUEUED]
    if network.gpu.architecture.lower() != "hopper":
        doubts.append(
            f"Kernels were timed on one H200; {network.gpu.name} is given their times, scaled by "
            "peak and memory rate."
        )
    if blocks.decoder_flops_per_pixel is None:
        doubts.append(f"The decoder of {model.name} back to pixels is not counted.")
    if ranks_of(asked) > network.node.num_gpus:
        doubts.append("No request shared by several nodes was compared.")
    if asked.guidance_parallel:
        doubts.append("No request whose guidance runs on GPUs of its own was compared.")
    return Validity(tuple(doubts))


def _why(asked: Generation, encoder_s: float, step: Denoising, decoder_s: float) -> Why:
    decoder = Why(
        name="decoder",
        value=decoder_s,
        unit="s",
        how="convolutions at a share of the peak, on one GPU",
        parts=(
            Why(
                name="share of the peak",
                value=DECODER_SHARE[asked.mode],
                source=DECODER_SOURCE,
            ),
        ),
    )
    return Why(
        name="latency",
        value=encoder_s + asked.steps * step.total_s + decoder_s,
        unit="s",
        how=f"text encoder + {asked.steps} denoising steps + decoder",
        parts=(
            Why(
                name="text encoder",
                value=encoder_s,
                unit="s",
                how="the slower of arithmetic and reading its weights",
            ),
            step.why,
            decoder,
        ),
    )
