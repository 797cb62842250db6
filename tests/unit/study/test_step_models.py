"""The model of a measured step: exact names, and columns that win over them."""

from __future__ import annotations

import pytest

from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.validation.steps.cases import StepCase, cases_of
from netloom.validation.steps.measured import read_step
from netloom.workload.transformer import transformer

CATALOG = load_catalog()
MIXTURE = {
    "row_id": "x-1",
    "model": "Qwen3_30B_a3B",
    "arch": "moe",
    "layers": "48",
    "hidden": "2048",
    "ffn_hidden": "768",
    "heads": "32",
    "kv_heads": "4",
    "vocab": "151936",
    "experts": "128",
    "topk": "8",
    "seq_len": "4096",
    "gpu": "H100-SXM-80GB",
    "gpus_per_node": "8",
    "n_gpus": "64",
    "scaleout": "InfiniBand NDR400 Quantum-2/CX7 reference",
    "precision": "bf16",
    "framework": "Megatron-Bridge 26.02",
    "tp": "1",
    "pp": "1",
    "ep": "8",
    "micro_batch": "1",
    "global_batch": "512",
    "recompute": "none",
    "step_time_s": "9.6",
}
NO_SHAPE = dict.fromkeys(
    ("layers", "hidden", "ffn_hidden", "heads", "kv_heads", "vocab", "experts", "topk"), ""
)


def case(**changes: str) -> StepCase:
    return cases_of(read_step({**MIXTURE, **changes}, where="test.csv"), CATALOG)[0]


@pytest.mark.parametrize(
    ("text", "experts"),
    [
        ("DeepSeekV3", 256),
        ("DeepSeek-V3 671B", 256),
        ("DeepSeek-R1", 256),
        ("Kimi_K2", 384),
        ("Qwen3_Next_80B_a3B", 512),
        ("GPT OSS 120B", 128),
        ("Grok-1", 8),
        ("Moonlight 16B A3B", 64),
        ("Llama 4 Scout", 16),
        ("Llama 4 Maverick 400B", 128),
        ("DBRX", 16),
        ("OLMoE 1B-7B", 64),
    ],
)
def test_a_mixture_is_known_by_its_name_alone(text: str, experts: int) -> None:
    found = case(model=text, **NO_SHAPE)
    assert found.model.num_experts == experts
    assert "The shape is not stated" in " ".join(found.assumed)


@pytest.mark.parametrize("text", ["DeepSeekV4 Flash", "DeepSeek", "Qwen3", "Mixtral 8x", "Grok-11"])
def test_a_part_of_a_name_is_not_the_model(text: str) -> None:
    with pytest.raises(SpecError, match="is not in the catalogue"):
        case(model=text, **NO_SHAPE)


def test_a_name_that_is_not_known_runs_by_its_columns() -> None:
    found = case(model="DeepSeekV4 Flash", moe_ffn_hidden="1024", shared_experts="2")
    assert (found.model.expert_hidden, found.model.num_shared_experts) == (1024, 2)
    assert found.model.name == "DeepSeekV4 Flash"
    assert "no such model" in " ".join(found.assumed)


def test_the_columns_win_over_the_name() -> None:
    found = case(
        model="DeepSeekV3",
        layers="16",
        first_dense_layers="2",
        shared_experts="0",
        mla="q768 kv256 nope64 rope32 v64",
    )
    model = found.model
    assert (model.num_layers, model.first_dense_layers, model.num_shared_experts) == (16, 2, 0)
    assert (model.query_rank, model.kv_rank, model.rope_head_dim) == (768, 256, 32)
    assert (model.head_dim, model.value_head_dim) == (64, 64)


def test_columns_that_make_another_size_than_the_row_states_do_not() -> None:
    shape = {**NO_SHAPE, "layers": "32", "hidden": "5120", "heads": "40"}
    found = case(model="Llama 4 Maverick 400B", params_b="400", **shape)
    assert found.model.num_layers == 48
    assert "another size" in " ".join(found.assumed)


def test_an_extra_prediction_layer_is_one_more_layer() -> None:
    assert case(mtp="yes").model.num_layers == 49
    assert case(mtp="no").model.num_layers == 48


@pytest.mark.parametrize(
    ("dispatcher", "overlap", "expected"),
    [
        ("alltoall", "no", ("all-to-all", False)),
        ("DeepEP", "yes", ("deepep", True)),
        ("HybridEP", "yes", ("hybridep", True)),
        ("", "", ("deepep", False)),
    ],
)
def test_dispatcher_and_overlap_are_the_rows_own(
    dispatcher: str, overlap: str, expected: tuple[str, bool]
) -> None:
    found = case(dispatcher=dispatcher, ep_overlap=overlap).job.parallel
    assert (found.expert_dispatch, found.expert_overlap) == expected


def test_graphs_do_not_launch_experts_whose_counts_the_host_reads() -> None:
    def launch_s(dispatcher: str, graphs: str) -> float:
        return case(dispatcher=dispatcher, cuda_graphs=graphs).practice.launch_s(moe=True)

    assert launch_s("HybridEP", "full_iteration") == 0 < launch_s("HybridEP", "attn")
    assert launch_s("HybridEP", "attn") < launch_s("alltoall", "attn") == launch_s("alltoall", "no")


def test_experts_are_spread_over_no_more_than_a_pipeline_stage() -> None:
    found = case(pp="8", ep="64")
    assert found.job.parallel.expert == 8
    assert "do not share a pipeline stage" in " ".join(found.assumed)


def test_every_second_layer_of_maverick_has_experts() -> None:
    shape = transformer(CATALOG.model("llama-4-maverick"))
    assert [shape.has_experts(layer) for layer in range(4)] == [False, True, False, True]
    assert (shape.num_moe_layers, shape.num_dense_layers) == (24, 24)
    assert shape.most_moe_layers(5) == 3
