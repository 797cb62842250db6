"""One denoising step on one GPU of an instance: kernels, and exchanges of heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.compute.diffusion import DiffusionBlock
from netloom.provenance import Validity, Why
from netloom.workload.collective import Axis, Collective, CollectiveKind
from netloom.workload.operator import ACTIVATION_BYTES
from netloom.workload.placement import Layout, axis_groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.compute.diffusion import DiffusionKind
    from netloom.compute.kernels import Kernel
    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.parts.diffusion import Diffusion, DiffusionBlocks
    from netloom.parts.parts import Model
    from netloom.spec.inference import Generation
    from netloom.step.generation.gpu import GenerationGpu

__all__ = ["Denoising", "denoising_step", "is_guided", "ranks_of"]

_KINDS: Final[Mapping[DiffusionBlocks, DiffusionKind]] = {
    "dit": "dit",
    "mmdit": "mmdit",
    "cross": "video",
}
# Queries, keys and values to the ranks of their heads, and the output back (DeepSpeed-Ulysses,
# arXiv:2309.14509, section 3).
_EXCHANGES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Denoising:
    """One step.

    Attributes:
        compute_s: Kernels of all blocks.
        attention_s: Of it.
        exchange_s: Heads between the GPUs that share a request; nothing hides it.
        guidance_s: The prediction without the text, sent to the GPUs that made the other.
        rows: Tokens in a GPU's products, all requests and passes together.
    """

    compute_s: float
    attention_s: float
    exchange_s: float
    guidance_s: float
    rows: int
    validity: Validity
    why: Why

    @property
    def total_s(self) -> float:
        """One after another."""
        return self.compute_s + self.exchange_s + self.guidance_s


def is_guided(asked: Generation, blocks: Diffusion) -> bool:
    """Return whether each step also runs without the text."""
    return blocks.guided if asked.guidance is None else asked.guidance


def ranks_of(asked: Generation) -> int:
    """Return the GPUs of an instance."""
    return asked.context * (2 if asked.guidance_parallel else 1)


def denoising_step(
    asked: Generation, *, model: Model, network: Network, engine: Engine, gpu: GenerationGpu
) -> Denoising:
    """Return one step of all requests of an instance."""
    blocks = model.diffusion
    assert blocks is not None
    kinds = _blocks(asked, model, blocks)
    kernels = [kernel for block, count in kinds for kernel in count * list(block.forward())]
    rows = sum(kinds[0][0].streams)
    plan = _layout(asked, network)
    exchanged = _exchange(asked, rows, model, plan, (engine, network))
    guided = _guidance(asked, model, blocks, plan, (engine, network))
    num_blocks = sum(count for _, count in kinds)
    compute_s = gpu.kernels_s(kernels, asked)
    exchange_s = num_blocks * _EXCHANGES * exchanged.duration_s if exchanged else 0.0
    guidance_s = guided.duration_s if guided else 0.0
    outcomes = tuple(one for one in (exchanged, guided) if one)
    validity = Validity()
    for one in outcomes:
        validity &= one.validity
    return Denoising(
        compute_s=compute_s,
        attention_s=gpu.attention_s(kernels, asked),
        exchange_s=exchange_s,
        guidance_s=guidance_s,
        rows=rows,
        validity=validity,
        why=_why(compute_s, exchange_s, guidance_s, kernels, outcomes),
    )


def _blocks(
    asked: Generation, model: Model, blocks: Diffusion
) -> tuple[tuple[DiffusionBlock, int], ...]:
    """Return the kinds of blocks, and how many of each the model has."""
    passes = 2 if is_guided(asked, blocks) and not asked.guidance_parallel else 1

    def block(kind: DiffusionKind) -> DiffusionBlock:
        return DiffusionBlock(
            kind=kind,
            hidden=model.hidden,
            num_heads=model.num_heads,
            ffn_hidden=model.ffn_hidden,
            micro_batch=asked.batch * passes,
            tokens=asked.tokens(blocks.stride, blocks.frame_stride),
            text_tokens=blocks.text_tokens,
            mode=asked.mode,
            context=asked.context,
            normed_heads=blocks.normed_heads,
        )

    found = [(block(_KINDS[blocks.kind]), model.num_layers)]
    if blocks.num_singles:
        found.append((block("single"), model.num_layers * blocks.num_singles))
    return tuple(found)


def _layout(asked: Generation, network: Network) -> Layout:
    return Layout(
        tensor=1,
        context=asked.context,
        data=2 if asked.guidance_parallel else 1,
        pipeline=1,
        virtual_pipeline=1,
        expert=1,
        zero=0,
        sequence_parallel=False,
        gpus_per_node=network.node.num_gpus,
        displaced=0.0,
    )


def _exchange(
    asked: Generation, rows: int, model: Model, plan: Layout, ways: tuple[Engine, Network]
) -> Outcome | None:
    """Return the exchange of one tensor's heads, or None where one GPU has them all."""
    if asked.context == 1:
        return None
    engine, network = ways
    what = Collective(
        kind=CollectiveKind.ALL_TO_ALL,
        size_bytes=ACTIVATION_BYTES * rows * model.hidden,
        group=axis_groups(plan)[Axis.CONTEXT],
    )
    return engine.run(what, network)


def _guidance(
    asked: Generation, model: Model, blocks: Diffusion, plan: Layout, ways: tuple[Engine, Network]
) -> Outcome | None:
    """Return both predictions gathered, of what a GPU has of the latent."""
    if not asked.guidance_parallel:
        return None
    engine, network = ways
    tokens = asked.batch * asked.tokens(blocks.stride, blocks.frame_stride) / asked.context
    what = Collective(
        kind=CollectiveKind.ALL_GATHER,
        size_bytes=2 * ACTIVATION_BYTES * tokens * model.vocabulary,
        group=axis_groups(plan)[Axis.DATA],
    )
    return engine.run(what, network)


def _why(
    compute_s: float,
    exchange_s: float,
    guidance_s: float,
    kernels: list[Kernel],
    outcomes: tuple[Outcome, ...],
) -> Why:
    parts = [
        Why(
            name="kernels",
            value=compute_s,
            unit="s",
            how=f"{len(kernels):,} kernels by those timed on one H200, scaled by peak and memory "
            "rate",
        )
    ]
    if exchange_s:
        how = "four all-to-alls a block"
        parts.append(
            Why(name="heads", value=exchange_s, unit="s", how=how, parts=(outcomes[0].why,))
        )
    if guidance_s:
        parts.append(Why(name="guidance", value=guidance_s, unit="s", parts=(outcomes[-1].why,)))
    total_s = compute_s + exchange_s + guidance_s
    return Why(name="denoising step", value=total_s, unit="s", how="sum", parts=tuple(parts))
