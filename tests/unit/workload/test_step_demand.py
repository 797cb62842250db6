"""What one step asks of the network, against published volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from netloom.spec.scenario import Parallel, Placement, Training
from netloom.workload.collective import Axis, CollectiveKind
from netloom.workload.communication import Window
from netloom.workload.demand import axis_communications, demand
from netloom.workload.placement import layout, num_micro_batches
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.workload.demand import Demand


def asked(model: Model, network: Network, training: dict[str, Any], **degrees: Any) -> Demand:
    plan = layout(
        Parallel(**degrees),
        node=network.node,
        num_gpus=network.design.num_gpus,
        placement=Placement(),
    )
    job = Training(**training)
    return demand(transformer(model), plan, job, num_micro_batches=num_micro_batches(job, plan))


GPT3 = {"sequence": 2048, "global_batch": 512, "micro_batch": 1, "recompute": "none"}


def test_gpt3_volumes_are_those_of_hpn_table_3(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    """Alibaba HPN (SIGCOMM 2024) Table 3: GPT-3 175B, tensor 8, pipeline 8, data 512.

    It says, per GPU and iteration, DP all-reduce 5.5 GB, PP 6 MB, TP 560 MB.
    """
    found = asked(
        model_of("gpt-3-175b"),
        network_of("H100", 32768),
        {**GPT3, "precision": "fp16"},
        tensor=8,
        pipeline=8,
        zero=0,
        sequence_parallel=False,
    )
    # DP: one all-reduce of a GPU's 16-bit gradients, 2 B x 174.6e9 / 64 = 5.46 GB. Ours is of
    # the fullest stage, which holds an embedding matrix besides: 2 B x 50257 x 12288 / 8.
    data = sum(item.size_bytes for item in found.on(Axis.DATA))
    assert data == pytest.approx(5.5e9, rel=0.03)
    # PP: one message, 2048 x 12288 x 2 B / 8 ranks = 6.29e6 B, which is 6.0 MiB.
    assert {item.collective.size_bytes / 2**20 for item in found.on(Axis.PIPELINE)} == {6.0}
    # TP: the table does not say what it counts. One all-reduce of 2048 x 12288 x 2 B = 48 MiB
    # for each of a stage's 12 layers is 576 MiB, 3 % over; a step has four of them in a layer.
    (forward, backward) = found.on(Axis.TENSOR)
    assert 12 * forward.collective.size_bytes / 2**20 == pytest.approx(560, rel=0.03)
    assert forward.count == backward.count == 2 * 12


def test_sequence_parallelism_replaces_each_all_reduce_by_a_gather_and_a_scatter(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    found = asked(model_of("gpt-3-175b"), network_of("H100", 4096), GPT3, tensor=8, pipeline=8)
    kinds = [(item.collective.kind, item.phase, item.window) for item in found.on(Axis.TENSOR)]
    gather, scatter = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
    assert kinds == [
        (gather, "forward", Window.TENSOR),
        (scatter, "forward", Window.TENSOR),
        (gather, "backward", Window.TENSOR),
        (scatter, "backward", Window.TENSOR),
        (gather, "backward", Window.PRODUCT),
    ]


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_each_zero_stage_moves_what_rajbhandari_et_al_say(
    model_of: Callable[..., Model], network_of: Callable[..., Network], zero: int
) -> None:
    # With one micro-batch and P parameters: 4 B gradients summed once; 2 B weights gathered
    # never (0), once (1 and 2), twice (3). arXiv:1910.02054 section 7.
    training = {**GPT3, "global_batch": 64, "recompute": "full"}
    found = asked(model_of("llama-3.1-8b"), network_of("H100", 64), training, zero=zero)
    moved = dict.fromkeys(CollectiveKind, 0.0)
    for item in found.on(Axis.DATA):
        moved[item.collective.kind] += item.size_bytes
    parameters = 8_030_261_248
    sums = moved[CollectiveKind.ALL_REDUCE] + moved[CollectiveKind.REDUCE_SCATTER]
    assert sums == pytest.approx(4 * parameters)
    gathers = {0: 0, 1: 1, 2: 1, 3: 2}[zero]
    assert moved[CollectiveKind.ALL_GATHER] == pytest.approx(2 * parameters * gathers)


def test_a_ring_passes_keys_and_values_on_once_less_than_its_ranks(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    # Llama 3.1 8B, 8 key-value heads of 128 on tensor 2, 131,072 tokens on context 4:
    # 2 x 4 heads x 128 x 32,768 tokens x 2 B = 67.1e6 B, 3 times forward, 6 backward.
    training = {"sequence": 131072, "global_batch": 8, "recompute": "none"}
    found = asked(model_of("llama-3.1-8b"), network_of("H100", 64), training, tensor=2, context=4)
    forward, backward = found.on(Axis.CONTEXT)
    assert forward.collective.size_bytes == 2 * 4 * 128 * 32768 * 2
    assert (forward.each, backward.each) == (3, 6)


@pytest.mark.parametrize("exchange", ["ring", "all-gather"])
def test_keys_repeated_before_they_are_sent_are_those_of_every_query_head(
    model_of: Callable[..., Model], network_of: Callable[..., Network], exchange: str
) -> None:
    # Llama 3.1 8B has 32 query heads to 8 of keys and values: four times the bytes.
    shape, network = transformer(model_of("llama-3.1-8b")), network_of("H100", 64)
    parallel = Parallel.model_validate({"context": 4, "context_exchange": exchange})
    plan = layout(parallel, node=network.node, num_gpus=64, placement=Placement())
    training = Training(sequence=131072, global_batch=16)
    plain, repeated = (
        axis_communications(Axis.CONTEXT, shape, plan, training, repeats_keys=repeats_keys)
        for repeats_keys in (False, True)
    )
    for one, other in zip(plain, repeated, strict=True):
        assert other.collective.size_bytes == 4 * one.collective.size_bytes


def test_gathered_keys_and_values_are_those_of_the_whole_sequence(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    # As above, but all 131,072 tokens at once: gathered forward and backward, the gradients
    # scattered, each once a layer.
    training = {"sequence": 131072, "global_batch": 8, "recompute": "none"}
    found = asked(
        model_of("llama-3.1-8b"),
        network_of("H100", 64),
        training,
        tensor=2,
        context=4,
        context_exchange="all-gather",
    )
    kinds = [item.collective.kind.value for item in found.on(Axis.CONTEXT)]
    assert kinds == ["all_gather", "all_gather", "reduce_scatter"]
    sizes = {item.collective.size_bytes for item in found.on(Axis.CONTEXT)}
    assert sizes == {2 * 4 * 128 * 131072 * 2}
    assert all(item.each == 1 for item in found.on(Axis.CONTEXT))


def test_each_token_is_sent_to_each_of_its_experts_and_back(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    # Mixtral: 4,096 tokens x 2 experts x 4,096 wide x 2 B = 67.1e6 B a rank; dispatch and
    # combine, forward and backward, in each of 32 layers for each of 2 micro-batches.
    training = {"sequence": 4096, "global_batch": 128, "recompute": "none"}
    found = asked(model_of("mixtral-8x7b"), network_of("H100", 64), training, expert=8)
    assert {item.collective.size_bytes for item in found.on(Axis.EXPERT)} == {4096 * 2 * 4096 * 2}
    assert [item.count for item in found.on(Axis.EXPERT)] == [2 * 32 * 2] * 2
    # 8 ranks of 8,192 tokens each: 1 + sqrt(2 ln 8 / 8192) = 1.0225.
    assert found.on(Axis.EXPERT)[0].collective.skew == pytest.approx(1.0225, abs=1e-4)
    groups = {item.collective.group.size for item in found.on(Axis.DATA)}
    assert groups == {64, 8}


def test_one_gpu_asks_nothing_of_the_network(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    model = model_of("llama-3.1-8b", num_layers=2)
    found = asked(model, network_of("H100", 1), {"sequence": 4096, "global_batch": 4})
    assert found.communications == ()


def test_full_recomputation_repeats_the_forward_collectives(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    training = {**GPT3, "recompute": "full"}
    found = asked(model_of("gpt-3-175b"), network_of("H100", 4096), training, tensor=8, pipeline=8)
    phases = [item.phase for item in found.on(Axis.TENSOR)]
    assert phases.count("recompute") == phases.count("forward") == 2
