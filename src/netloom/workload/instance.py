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
    )


def _check_model(instance: Instance, model: Model, where: str) -> None:
    for count, what in (
        (model.num_heads, "heads"),
        (model.ffn_hidden, "feed-forward columns"),
    ):
        if count % instance.tensor:
            message = (
                f"{where}.tensor: {instance.tensor} does not divide the {count:,} {what} of "
                f"{model.name}; use a divisor, such as {_below(count, instance.tensor)}"
            )
            raise SpecError(message)
    if instance.pipeline > model.num_layers:
        message = (
            f"{where}.pipeline: {instance.pipeline} stages are more than the {model.num_layers} "
            f"layers of {model.name}; use fewer"
        )
        raise SpecError(message)
    if instance.expert > 1:
        _check_experts(instance, model, where)


def _check_experts(instance: Instance, model: Model, where: str) -> None:
    if not model.num_experts:
        message = f"{where}.expert: {model.name} has no experts; leave it out"
        raise SpecError(message)
    ranks = instance.tensor * instance.data
    for count, what in (
        (model.num_experts, f"experts of {model.name}"),
        (ranks, f"GPUs of one stage (tensor {instance.tensor} x data {instance.data})"),
    ):
        if count % instance.expert:
            message = (
                f"{where}.expert: {instance.expert} does not divide the {count:,} {what}; "
                f"use a divisor, such as {_below(count, instance.expert)}"
            )
            raise SpecError(message)


def _check_nodes(instance: Instance, node: Node, where: str) -> None:
    gpus = instance.num_gpus
    if gpus % node.num_gpus and node.num_gpus % gpus:
        message = (
            f"{where}: tensor x pipeline x data = {gpus} GPUs neither divide nor fill nodes of "
            f"{node.num_gpus} ({node.name}); use {_below(node.num_gpus, gpus)} or a multiple of "
            f"{node.num_gpus}"
        )
        raise SpecError(message)


def _below(count: int, degree: int) -> int:
    """Return the largest divisor of *count* that is not above *degree*."""
    return max(d for d in range(1, min(count, degree) + 1) if count % d == 0)
