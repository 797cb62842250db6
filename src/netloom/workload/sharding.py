"""What each GPU holds of the weights, and the data-parallel traffic that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.workload.adapters import adapter_parameters
from netloom.workload.collective import Axis, Collective, CollectiveKind
from netloom.workload.communication import Communication, Per, Phase, Window
from netloom.workload.parameters import (
    embedding_parameters,
    head_parameters,
    layer_parameters,
    norm_parameters,
)
from netloom.workload.placement import axis_group, expert_data_group, stage_layers
from netloom.workload.zero.ranks import backward_group, copies_group, shard_group

if TYPE_CHECKING:
    from netloom.spec.scenario import Precision, Training
    from netloom.spec.tuning import Tuning
    from netloom.workload.collective import Group
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer
    from netloom.workload.zero.modules import ModuleGathers

__all__ = [
    "NF4_BYTES",
    "PLAIN_WEIGHTS",
    "SUMMED_OVER_COPIES",
    "WEIGHT_BYTES",
    "StageParameters",
    "WeightFormat",
    "data_communications",
    "end_parameters",
    "gradient_bytes",
    "stage_dense_layers",
    "stage_parameters",
    "trained_parameters",
]

# Megatron-LM DistributedDataParallelConfig: a bucket holds max(40e6, 1e6 x replicas) parameters.
BUCKET_PARAMETERS = 40e6
BUCKET_PARAMETERS_PER_REPLICA = 1e6
WEIGHT_BYTES = 2
# 4-bit NormalFloat with double quantization, 0.127 bits of constants a weight (QLoRA,
# arXiv:2305.14314, section 3).
NF4_BYTES: Final = (4 + 0.127) / 8
# What ZeRO++ sends: weights in 8 bits, gradients in 4, each block with one scale (arXiv:2306.10209,
# sections 3.1 and 3.3).
BYTE: Final = 1.0
SUMMED_OVER_COPIES: Final = "summed over copies"
HALF_BYTE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormat:
    """How training software keeps, reduces and gathers weights and their gradients.

    Attributes:
        gradient_bytes: Of one gradient; None for the precision's own.
        parameter_bytes: Of one weight, the optimizer's master copy apart.
        bucket_bytes: Gradients that are reduced at a time; None for Megatron-Core's rule.
        whole_in_pipelines: Whether stages of a pipeline keep weights that ZeRO 3 divides from the
            first micro-batch on that gathers them, and sum whole gradients over micro-batches.
        sums_groups: Whether ZeRO 2 sums the gradients of as many micro-batches as there are stages
            before it divides them.
        modules: How ZeRO 3 gathers weights module by module; None where it gathers whole layers.
    """

    gradient_bytes: int | None = None
    parameter_bytes: float = WEIGHT_BYTES
    bucket_bytes: float | None = None
    whole_in_pipelines: bool = False
    sums_groups: bool = False
    modules: ModuleGathers | None = None

    def zero_of(self, plan: Layout) -> int:
        """Return the ZeRO stage that *plan* sends and holds as while a step runs."""
        whole = self.whole_in_pipelines and plan.pipeline > 1
        return min(plan.zero, 1) if whole else plan.zero

    def gradient_bytes_of(self, precision: Precision) -> int:
        """Return the bytes of one gradient in training at *precision*."""
        return self.gradient_bytes or gradient_bytes(precision)


PLAIN_WEIGHTS: Final = WeightFormat()


@dataclass(frozen=True, slots=True, kw_only=True)
class StageParameters:
    """Parameters one GPU of a pipeline stage holds before ZeRO divides them.

    Attributes:
        dense: Copied on data x context ranks.
        experts: Copied on the expert-data ranks.
    """

    dense: float
    experts: float


def gradient_bytes(precision: Precision) -> int:
    """Return the bytes of one gradient as it is kept and reduced.

    fp32 for bf16 and fp8 training (Llama 3, arXiv:2407.21783 section 3.3.2; Megatron-LM sets
    accumulate_allreduce_grads_in_fp32 with --bf16); fp16 training reduces fp16.
    """
    return 2 if precision == "fp16" else 4


def stage_parameters(shape: Transformer, plan: Layout, *, stage: int) -> StageParameters:
    """Return what one GPU of *stage* holds before ZeRO divides it."""
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    num_dense = stage_dense_layers(shape, counts, stage)
    dense = end_parameters(shape, plan, stage=stage) / plan.tensor
    experts = 0.0
    for num, moe in ((num_dense, False), (counts[stage] - num_dense, True)):
        if num:
            one = layer_parameters(shape, moe=moe)
            dense += num * (one.shared / plan.tensor + one.replicated)
            experts += num * one.experts / plan.expert_ranks
    return StageParameters(dense=dense, experts=experts)


def trained_parameters(
    shape: Transformer, plan: Layout, tuning: Tuning, *, stage: int
) -> StageParameters:
    """Return those of *stage* that get gradients: all, or the low-rank ones beside them."""
    if not tuning.is_low_rank:
        return stage_parameters(shape, plan, stage=stage)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    num_dense = stage_dense_layers(shape, counts, stage)
    dense = experts = 0.0
    for num, moe in ((num_dense, False), (counts[stage] - num_dense, True)):
        if num:
            one = adapter_parameters(shape, tuning, moe=moe)
            dense += num * one.shared / plan.tensor
            experts += num * one.experts / plan.expert_ranks
    return StageParameters(dense=dense, experts=experts)


def stage_dense_layers(shape: Transformer, counts: tuple[int, ...], stage: int) -> int:
    """Return the layers of *stage* that are dense."""
    first = sum(counts[:stage])
    return sum(not shape.has_experts(first + layer) for layer in range(counts[stage]))


def data_communications(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    stage: int | None = None,
    weights: WeightFormat = PLAIN_WEIGHTS,
) -> list[Communication]:
    """Return the reduction of gradients and, where ZeRO divides them, the weights' gathers.

    They are those of the fullest stage, or of *stage*. Frozen weights have no gradients, and are
    gathered where ZeRO 3 divides them.
    """
    stages = sorted({0, plan.pipeline // 2, plan.pipeline - 1}) if stage is None else [stage]
    fullest = max(stages, key=lambda one: _count(stage_parameters(shape, plan, stage=one)))
    held = trained_parameters(shape, plan, training.tuning, stage=fullest)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    layers = max(counts) if stage is None else max(1, counts[stage])
    formats = replace(weights, gradient_bytes=weights.gradient_bytes_of(training.precision))
    parts = (
        _dense("dense", held.dense, layers, formats, plan),
        _experts("expert", held.experts, layers, formats, plan),
    )
    zero = weights.zero_of(plan)
    again = training.recompute == "full"
    found = [
        item for part in parts if part.count for item in part.communications(zero, again=again)
    ]
    if not training.tuning.is_low_rank or zero < 3:
        return found
    if training.tuning.frozen_type == "nf4":
        formats = replace(formats, parameter_bytes=NF4_BYTES)
    base = stage_parameters(shape, plan, stage=fullest)
    frozen = (
        _dense("frozen dense", base.dense, layers, formats, plan),
        _experts("frozen expert", base.experts, layers, formats, plan),
    )
    return found + [item for part in frozen if part.count for item in part.gathers()]


def _dense(
    what: str, count: float, num_layers: int, formats: WeightFormat, plan: Layout
) -> _Weights:
    """Return the dense weights, shared by all copies or by sets of them."""
    return _Weights(
        what,
        count,
        num_layers,
        formats,
        axis_group(plan, Axis.DATA) if plan.zero == 0 else shard_group(plan),
        copies=copies_group(plan),
        backward=backward_group(plan),
        compress=plan.zero_compress,
    )


def _experts(
    what: str, count: float, num_layers: int, formats: WeightFormat, plan: Layout
) -> _Weights:
    """Return the experts; those that are not spread are shared as the dense weights are."""
    if not plan.has_spread_experts:
        return _dense(what, count, num_layers, formats, plan)
    return _Weights(what, count, num_layers, formats, expert_data_group(plan))


def _count(parameters: StageParameters) -> float:
    return parameters.dense + parameters.experts


def end_parameters(shape: Transformer, plan: Layout, *, stage: int) -> int:
    """Return embedding and output matrix; a tied matrix is copied on both end stages."""
    first = embedding_parameters(shape) if stage == 0 else 0
    if stage != plan.pipeline - 1:
        return first
    copied = shape.model.tied_embeddings and plan.pipeline > 1
    matrix = shape.model.vocabulary * shape.model.hidden if copied else head_parameters(shape)
    return first + matrix + plan.tensor * norm_parameters(shape)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights that the same ranks hold copies of.

    Attributes:
        group: Ranks that share them, where ZeRO divides them.
        copies: Ranks of other such sets that hold the same share.
        backward: Ranks that share a second set, gathered in the backward pass.
        compress: What is sent in fewer bits.
    """

    what: str
    count: float
    num_layers: int
    formats: WeightFormat
    group: Group
    copies: Group | None = None
    backward: Group | None = None
    compress: tuple[str, ...] = ()

    def communications(self, zero: int, *, again: bool = False) -> list[Communication]:
        """Return the traffic of one ZeRO stage (Rajbhandari et al. 2020, arXiv:1910.02054).

        Args:
            zero: The stage.
            again: Whether layers are computed again before their backward pass.
        """
        if zero == 0:
            return [self._reduce(CollectiveKind.ALL_REDUCE)]
        scatter = CollectiveKind.REDUCE_SCATTER
        once = [self._reduce(scatter), *self._among_copies("step"), self._gather()]
        if zero == 1:
            return once
        if zero == 2 and self.formats.sums_groups:
            before = replace(self._reduce(scatter), per="group", window=Window.NEXT_GROUP)
            return [before, *once]
        sent = HALF_BYTE if "gradients" in self.compress else self.grad_bytes
        grads = [self._by_layer(scatter, "backward", sent), *self._among_copies("layer")]
        if zero == 2:
            return [*grads, self._gather()]
        found = [*self.gathers(), *grads]
        modules = self.formats.modules
        if modules is None:
            return found
        if again and modules.is_released(self._of_layer):
            gather, sent = CollectiveKind.ALL_GATHER, self.formats.parameter_bytes
            found.append(self._by_layer(gather, "recompute", sent))
        return [self._by_module(item, modules) for item in found]

    @property
    def _of_layer(self) -> float:
        return self.count / self.num_layers

    def _by_module(self, item: Communication, modules: ModuleGathers) -> Communication:
        """Return what *item* gathers or sums of a layer, weight by weight."""
        gathers = item.collective.kind is CollectiveKind.ALL_GATHER
        ahead = gathers and modules.is_ahead(self._of_layer)
        size_bytes = item.collective.size_bytes / modules.num_weights
        return replace(
            item,
            collective=replace(item.collective, size_bytes=size_bytes),
            each=modules.num_weights * item.each,
            window=Window.LAYER if ahead else Window.NONE,
            host_s=modules.rank_s * item.collective.group.size,
        )

    def gathers(self) -> list[Communication]:
        """Return the gathers of ZeRO 3: before each pass of a layer."""
        gather = CollectiveKind.ALL_GATHER
        kept = self.formats.parameter_bytes
        sent = min(kept, BYTE) if "weights" in self.compress else kept
        forward = self._by_layer(gather, "forward", sent)
        if self.backward is None:
            return [forward, self._by_layer(gather, "backward", sent)]
        second = replace(self, group=self.backward)
        return [forward, second._by_layer(gather, "backward", kept)]  # noqa: SLF001

    def _among_copies(self, per: Per) -> list[Communication]:
        """Return the sum of each share over the sets that hold it."""
        if self.copies is None:
            return []
        kind = CollectiveKind.ALL_REDUCE
        share = self.grad_bytes * self.count / self.group.size
        pieces = self.num_buckets if per == "step" else self.num_layers
        each, window = (pieces, Window.LAST_BACKWARD) if per == "step" else (1, Window.LAYER)
        found = self._item(kind, share / pieces, "backward", per, each, window)
        collective = replace(found.collective, group=self.copies)
        purpose = f"{self.what} gradients {SUMMED_OVER_COPIES}, backward"
        return [replace(found, collective=collective, purpose=purpose)]

    @property
    def grad_bytes(self) -> int:
        """Of one gradient."""
        assert self.formats.gradient_bytes is not None
        return self.formats.gradient_bytes

    @property
    def num_buckets(self) -> int:
        """Pieces that the gradients are reduced in."""
        bucket = max(BUCKET_PARAMETERS, BUCKET_PARAMETERS_PER_REPLICA * self.group.size)
        if self.formats.bucket_bytes is not None:
            bucket = self.formats.bucket_bytes / self.grad_bytes
        return max(1, math.ceil(self.count / bucket))

    def _reduce(self, kind: CollectiveKind) -> Communication:
        size = self.grad_bytes * self.count / self.num_buckets
        window = Window.LAST_BACKWARD
        return self._item(kind, size, "backward", "step", self.num_buckets, window)

    def _gather(self) -> Communication:
        size = self.formats.parameter_bytes * self.count / self.num_buckets
        kind, window = CollectiveKind.ALL_GATHER, Window.FIRST_FORWARD
        return self._item(kind, size, "forward", "step", self.num_buckets, window)

    def _by_layer(self, kind: CollectiveKind, phase: Phase, each_bytes: float) -> Communication:
        size = each_bytes * self.count / self.num_layers
        return self._item(kind, size, phase, "layer", 1, Window.LAYER)

    def _item(
        self,
        kind: CollectiveKind,
        size_bytes: float,
        phase: Phase,
        per: Per,
        each: int,
        window: Window,
    ) -> Communication:
        verb = "weights gathered" if kind is CollectiveKind.ALL_GATHER else "gradients summed"
        return Communication(
            axis=Axis.DATA,
            purpose=f"{self.what} {verb}, {phase}",
            phase=phase,
            collective=Collective(kind=kind, size_bytes=size_bytes, group=self.group),
            each=each,
            per=per,
            window=window,
        )
