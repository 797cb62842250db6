"""The GPUs of a serving instance, and whether the model can be divided over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.workload.placement import Layout

if TYPE_CHECKING:
    from netloom.parts.parts import Model, Node
    from netloom.spec.inference import Instance
    from netloom.spec.scenario import Placement

__all__ = ["instance_layout"]


def instance_layout(
    instance: Instance, *, where: str, model: Model, node: Node, placement: Placement
) -> Layout:
    """Return the layout of one serving instance.

    Args:
        instance: How it divides the model.
        where: Its field, for messages.
        model: What it serves.
        node: The machine its GPUs are in.
        placement: How nodes of the cluster are handed out.

    Raises:
        SpecError: *model* or *node* cannot be divided so.
    """
    _check_model(instance, model, where)
    _check_nodes(instance, node, where)
    return Layout(
        tensor=instance.tensor,
        context=1,
        data=instance.data,
        pipeline=instance.pipeline,
        virtual_pipeline=1,
        expert=instance.expert,
        zero=0,
        # Tensor ranks hold the same tokens; those that go to experts are divided among them.
        sequence_parallel=instance.tensor > 1 and instance.expert > 1,
        gpus_per_node=node.num_gpus,
        displaced=1.0 if placement.kind == "scattered" else placement.displaced,
        expert_dispatch=instance.expert_dispatch,
        expert_overlap=instance.expert_overlap,
    )


def _check_model(instance: Instance, model: Model, where: str) -> None:
    for count, what in (
        (model.num_heads, "heads"),
        (model.ffn_hidden, "feed-forward columns"),
    ):
        if count % instance.tensor:
            raise SpecError(
                key=f"{where}.tensor",
                what=f"{instance.tensor} does not divide the {count:,} {what} of {model.name}",
                remedy=f"use a divisor, such as {_below(count, instance.tensor)}",
            )
    if instance.pipeline > model.num_layers:
        raise SpecError(
            key=f"{where}.pipeline",
            what=(
                f"{instance.pipeline} stages are more than the {model.num_layers} layers "
                f"of {model.name}"
            ),
            remedy="use fewer",
        )
    if instance.expert > 1:
        _check_experts(instance, model, where)


def _check_experts(instance: Instance, model: Model, where: str) -> None:
    if not model.num_experts:
        raise SpecError(
            key=f"{where}.expert", what=f"{model.name} has no experts", remedy="leave it out"
        )
    ranks = instance.tensor * instance.data
    for count, what in (
        (model.num_experts, f"experts of {model.name}"),
        (ranks, f"GPUs of one stage (tensor {instance.tensor} x data {instance.data})"),
    ):
        if count % instance.expert:
            raise SpecError(
                key=f"{where}.expert",
                what=f"{instance.expert} does not divide the {count:,} {what}",
                remedy=f"use a divisor, such as {_below(count, instance.expert)}",
            )


def _check_nodes(instance: Instance, node: Node, where: str) -> None:
    gpus = instance.num_gpus
    if gpus % node.num_gpus and node.num_gpus % gpus:
        raise SpecError(
            key=where,
            what=(
                f"tensor x pipeline x data = {gpus} GPUs neither divide nor fill nodes of "
                f"{node.num_gpus} ({node.name})"
            ),
            remedy=f"use {_below(node.num_gpus, gpus)} or a multiple of {node.num_gpus}",
        )


def _below(count: int, degree: int) -> int:
    """Return the largest divisor of *count* that is not above *degree*."""
    return max(d for d in range(1, min(count, degree) + 1) if count % d == 0)
