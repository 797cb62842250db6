"""Groups of ranks on nodes, and parallelism that does not work out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from netloom.errors import SpecError
from netloom.spec.scenario import Parallel, Placement, Training
from netloom.workload.collective import Axis
from netloom.workload.placement import (
    check_model,
    expert_data_group,
    groups,
    layout,
    num_micro_batches,
    pair,
    stage_layers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.workload.placement import Layout


def plan_of(network: Network, **degrees: Any) -> Layout:
    return layout(
        Parallel(**degrees),
        node=network.node,
        num_gpus=network.design.num_gpus,
        placement=Placement(),
    )


def test_megatron_ranks_put_tensor_inside_a_node_and_pipeline_farthest(
    network_of: Callable[..., Network],
) -> None:
    # Llama 3 405B: tensor 8 fills a node of 8, so data ranks are one node apart and 128 of
    # them; stages are 8 x 128 = 1,024 ranks, 128 nodes, apart.
    network = network_of("H100", 16384)
    found = groups(
        Parallel(tensor=8, pipeline=16),
        node=network.node,
        num_gpus=16384,
        placement=Placement(),
    )
    tensor, data, pipeline = (found[a] for a in (Axis.TENSOR, Axis.DATA, Axis.PIPELINE))
    assert (tensor.size, tensor.per_node, tensor.displaced) == (8, 8, 0.0)
    assert (data.size, data.per_node, data.node_stride) == (128, 1, 1)
    assert (pipeline.size, pipeline.per_node, pipeline.node_stride) == (16, 1, 128)
    assert data.active_per_node == 8
    assert data.displaced == 0.0625


def test_context_ranks_hold_the_same_weights_and_join_the_data_group(
    network_of: Callable[..., Network],
) -> None:
    # tensor 2 x context 2 x data 16 on nodes of 8: the 32 copies of a weight are 2 ranks
    # apart, four in a node; experts over 16 consecutive ranks leave 4 copies, 16 ranks apart.
    plan = plan_of(network_of("H100", 64), tensor=2, context=2, expert=16)
    found = groups(
        Parallel(tensor=2, context=2),
        node=network_of("H100", 64).node,
        num_gpus=64,
        placement=Placement(),
    )
    assert (found[Axis.CONTEXT].size, found[Axis.CONTEXT].per_node) == (2, 2)
    assert (found[Axis.DATA].size, found[Axis.DATA].per_node) == (32, 4)
    copies = expert_data_group(plan)
    assert (copies.size, copies.per_node, copies.node_stride) == (4, 1, 2)


def test_neighbours_share_a_node_only_when_the_whole_group_does(
    network_of: Callable[..., Network],
) -> None:
    # Two stages of 4 GPUs fit a node of 8; four stages do not, and the slowest hop leaves it.
    for stages, expected in ((2, 2), (4, 1)):
        network = network_of("H100", 4 * stages)
        found = groups(
            Parallel(tensor=4, pipeline=stages),
            node=network.node,
            num_gpus=4 * stages,
            placement=Placement(),
        )
        assert pair(found[Axis.PIPELINE]).per_node == expected


def test_a_scattered_job_stands_nowhere_near_where_packing_would_put_it(
    network_of: Callable[..., Network],
) -> None:
    network = network_of("H100", 64)
    found = groups(
        Parallel(), node=network.node, num_gpus=64, placement=Placement(kind="scattered")
    )
    assert found[Axis.DATA].displaced == 1.0


def test_data_is_what_the_other_degrees_leave(network_of: Callable[..., Network]) -> None:
    assert plan_of(network_of("H100", 16384), tensor=8, pipeline=16).data == 128


@pytest.mark.parametrize(
    ("degrees", "said"),
    [
        (
            {"tensor": 8, "pipeline": 16, "data": 100},
            r"leaves 128 for data; data: 100 makes 12,800 of 16,384 GPUs; write data: 128",
        ),
        (
            {"tensor": 8, "pipeline": 15},
            r"= 120 does not divide the cluster's 16,384 GPUs; use 16,",
        ),
        ({"virtual_pipeline": 2}, "virtual_pipeline: 2 needs pipeline of 2 or more"),
        ({"expert": 3}, "expert: 3 does not divide"),
        ({"expert": 8, "tensor": 8, "sequence_parallel": False}, "sequence_parallel"),
    ],
)
def test_parallelism_that_does_not_multiply_out_names_the_nearest_fix(
    network_of: Callable[..., Network], degrees: dict[str, Any], said: str
) -> None:
    with pytest.raises(SpecError, match=said):
        plan_of(network_of("H100", 16384), **degrees)


@pytest.mark.parametrize(
    ("model", "degrees", "said"),
    [
        ("llama-2-70b", {"tensor": 128}, "64 heads of llama-2-70b"),
        ("llama-2-70b", {"expert": 2}, "llama-2-70b has none"),
        ("mixtral-8x7b", {"expert": 16}, "8 experts of mixtral-8x7b; use one of 1, 2, 4, 8"),
        ("llama-2-70b", {"pipeline": 64, "virtual_pipeline": 2}, "makes 128 chunks"),
    ],
)
def test_a_model_that_cannot_be_divided_so_is_refused(
    network_of: Callable[..., Network],
    model_of: Callable[..., Model],
    model: str,
    degrees: dict[str, Any],
    said: str,
) -> None:
    with pytest.raises(SpecError, match=said):
        check_model(model_of(model), plan_of(network_of("H100", 16384), **degrees))


def test_a_batch_that_does_not_divide_names_its_neighbours(
    network_of: Callable[..., Network],
) -> None:
    plan = plan_of(network_of("H100", 64), tensor=8)
    assert num_micro_batches(Training(global_batch=64, micro_batch=2), plan) == 4
    with pytest.raises(SpecError, match="use 96 or 112"):
        num_micro_batches(Training(global_batch=100, micro_batch=2), plan)


def test_layers_that_do_not_divide_are_left_out_of_the_ends() -> None:
    # Llama 3 405B: 126 layers on 16 stages, one fewer on the first and on the last.
    counts = stage_layers(126, 16)
    assert counts == (7, *[8] * 14, 7)
    assert sum(stage_layers(61, 4)) == 61
    assert stage_layers(8, 1) == (8,)
    assert stage_layers(3, 2) == (2, 1)
