"""Statements that once became something else than what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netloom as nl

RECIPES = Path(__file__).parents[2] / "data" / "recipes"
MIXTURE = (
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --vocab-size 32000 --swiglu "
    "--disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope "
    "--max-position-embeddings 4096 --seq-length 4096 --micro-batch-size 1 --bf16 "
    "--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall"
)
LATENT = "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512"


def _converted(tmp_path: Path, name: str, text: str, **supplied: Any) -> nl.Conversion:
    file = tmp_path / name
    file.write_text(text)
    return nl.convert(file, tmp_path / "out.yaml", **supplied)


def _script(tmp_path: Path, options: str) -> nl.Conversion:
    text = f"torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py {options}\n"
    return _converted(tmp_path, "job.sh", text)


def _not_taken(found: nl.Conversion) -> set[str]:
    return {one.name for one in found.not_taken}


def test_a_capacity_factor_drops_tokens(tmp_path: Path) -> None:
    found = _script(tmp_path, f"{MIXTURE} --moe-expert-capacity-factor 1.25")
    assert found.scenario["job"]["training"]["expert_capacity"] == 1.25
    assert not found.not_taken


def test_graphs_of_single_parts_are_not_graphs_of_layers(tmp_path: Path) -> None:
    graphs = "--cuda-graph-impl transformer_engine --cuda-graph-scope"
    found = _script(tmp_path, f"{MIXTURE} {graphs} attn moe_router")
    assert found.scenario["job"]["software"]["graph_scope"] == ["attn", "moe_router"]
    whole = _script(tmp_path, f"{MIXTURE} {graphs} full")
    assert "graph_scope" not in whole.scenario["job"]["software"]


def test_activations_on_the_host_are_kept_there(tmp_path: Path) -> None:
    found = _script(tmp_path, f"{MIXTURE} --cpu-offloading --cpu-offloading-num-layers 4")
    assert found.scenario["job"]["software"]["activation_offload"] == 4
    assert not found.not_taken


def test_kernels_of_megatrons_own_are_named_as_not_taken(tmp_path: Path) -> None:
    assert "--transformer-impl" in _not_taken(
        _script(tmp_path, f"{MIXTURE} --transformer-impl local")
    )
    assert not _not_taken(_script(tmp_path, f"{MIXTURE} --transformer-impl transformer_engine"))


def test_a_router_has_groups_only_where_the_script_says_so(tmp_path: Path) -> None:
    plain = _script(tmp_path, f"{MIXTURE} {LATENT}")
    groups = "--moe-router-num-groups 8 --moe-router-group-topk 4"
    grouped = _script(tmp_path, f"{MIXTURE} {LATENT} {groups}")
    assert plain.model is not None
    assert grouped.model is not None
    assert (plain.model["n_group"], grouped.model["n_group"]) == (1, 8)
    assert not grouped.not_taken


@pytest.mark.parametrize(
    ("batches", "micro"),
    [
        # runtime/config.py of DeepSpeed: over 64 ranks, one step where nothing else is said.
        ({"train_batch_size": 512}, 8),
        ({"train_batch_size": 512, "gradient_accumulation_steps": 4}, 2),
        ({"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4}, 4),
        ({"train_batch_size": 512, "train_micro_batch_size_per_gpu": "auto"}, 1),
    ],
)
def test_deepspeeds_micro_batch_follows_from_the_whole(
    tmp_path: Path, batches: dict[str, object], micro: int
) -> None:
    text = json.dumps({**batches, "bf16": {"enabled": True}})
    found = _converted(tmp_path, "ds.json", text, gpus=64, sequence=2048, model="llama-3-8b")
    assert found.scenario["job"]["training"]["micro_batch"] == micro


TITAN = '[model]\nname = "llama3"\nflavor = "8B"\n{model}\n[training]\nseq_len = 8192\n{more}\n'


@pytest.mark.parametrize(
    ("converters", "section", "precision", "weights"),
    [
        ("", "float8", "bf16", None),
        ('converters = ["float8"]', "float8", "fp8", "fp8"),
        ('converters = ["quantize.linear.float8"]', "quantize.linear.float8", "fp8", "fp8"),
    ],
)
def test_torchtitan_converts_nothing_without_a_converter(
    tmp_path: Path, converters: str, section: str, precision: str, weights: str | None
) -> None:
    more = f"[{section}]\nenable_fsdp_float8_all_gather = true"
    text = TITAN.format(model=converters, more=more)
    job = _converted(tmp_path, "job.toml", text, gpus=64).scenario["job"]
    assert job["training"]["precision"] == precision
    assert job["software"].get("parameter_type") == weights


def test_torchtitans_recipe_of_mxfp8_is_mxfp8(tmp_path: Path) -> None:
    text = TITAN.format(
        model='converters = ["quantize.linear.mx"]',
        more='[quantize.linear.mx]\nrecipe_name = "mxfp8_cublas"',
    )
    found = _converted(tmp_path, "job.toml", text, gpus=64)
    assert found.scenario["job"]["training"]["precision"] == "mxfp8"
    assert not found.not_taken


def test_gradients_that_torchtitan_reduces_in_sixteen_bits_are(tmp_path: Path) -> None:
    text = TITAN.format(model="", more='mixed_precision_reduce = "bfloat16"')
    job = _converted(tmp_path, "job.toml", text, gpus=64).scenario["job"]
    assert job["software"]["gradient_type"] == "bf16"


def test_a_shape_of_the_catalogue_without_its_groups_is_named_with_what_is_assumed() -> None:
    found = nl.convert(RECIPES / "deepseek_v3.yaml", gpus=1024)
    assert found.scenario["job"]["model"] == "deepseek-v3"
    assert "job.model router" in {one.key for one in found.assumed}
