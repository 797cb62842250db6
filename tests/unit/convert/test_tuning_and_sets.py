"""Low-rank tuning and sets of ranks that share weights, as frameworks write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netloom as nl
from netloom.errors import SpecError
from netloom.formats.training.peft import parse_peft
from netloom.formats.training.recipe import RecipeText

RECIPES = Path(__file__).parents[2] / "data" / "recipes"
ADAPTED: dict[str, Any] = {"model": "llama-3.1-8b", "gpus": 8, "sequence": 4096, "global_batch": 64}


def job_of(name: str, **supplied: Any) -> dict[str, Any]:
    """Return the job that a recipe becomes, which ``check`` finds nothing wrong with."""
    found = nl.convert(RECIPES / name, **supplied)
    assert found.ok, found.problems
    return dict(found.scenario["job"])


def written(folder: Path, name: str, changes: dict[str, str]) -> Path:
    """Return a recipe with words replaced."""
    text = (RECIPES / name).read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_peft_of_a_recipe_becomes_tuning() -> None:
    """Megatron-Bridge and NeMo 1 name rank and modules in places and words of their own."""
    bridge = job_of("bridge_llama3_70b_lora.yaml", gpus=64)["training"]["tuning"]
    nemo = job_of("nemo_gpt3_lora.yaml")["training"]["tuning"]
    assert bridge == {"method": "lora", "rank": 16, "modules": ["linear_qkv", "linear_proj"]}
    assert nemo == {
        "method": "lora",
        "rank": 8,
        "modules": ["linear_qkv", "linear_fc1", "linear_fc2"],
    }


def test_an_adapter_config_names_parts_of_a_matrix_that_is_whole_in_the_model() -> None:
    """q_proj and v_proj are linear_qkv, which is said."""
    found = nl.convert(RECIPES / "adapter_config.json", **ADAPTED)
    tuning = found.scenario["job"]["training"]["tuning"]
    assert tuning == {"method": "lora", "rank": 16, "modules": ["linear_qkv", "linear_proj"]}
    assert "job.training.tuning.modules" in {one.key for one in found.assumed}
    assert [one.name for one in found.not_taken] == ["base_model_name_or_path"]


def test_another_kind_of_tuning_is_named_and_trains_every_weight(tmp_path: Path) -> None:
    """DoRA is not LoRA."""
    file = written(tmp_path, "bridge_llama3_70b_lora.yaml", {"lora.LoRA": "dora.DoRA"})
    found = nl.convert(file, gpus=64)
    assert "tuning" not in found.scenario["job"]["training"]
    assert "peft._target_" in {one.name for one in found.not_taken}


def test_hybrid_sharding_of_torchtitan_keeps_how_many_ranks_share(tmp_path: Path) -> None:
    """Replicas of 4 and shards of 16 with tensor 8 are 512 GPUs; 16 ranks share weights."""
    changes = {
        "replicate_degree = 1": "replicate_degree = 4",
        "shard_degree = -1": "shard_degree = 16",
    }
    found = nl.convert(written(tmp_path, "llama3_405b.toml", changes))
    parallel = found.scenario["job"]["parallel"]
    assert found.scenario["cluster"]["gpus"] == 512
    assert (parallel["zero"], parallel["zero_ranks"]) == (3, 16)
    assert not [one for one in found.not_taken if "degree" in one.name]


def test_zero_plus_plus_of_deepspeed_becomes_keys(tmp_path: Path) -> None:
    """hpZ in nodes of 8, weights and gradients in fewer bits."""
    more = (
        '"stage": 3, "zero_hpz_partition_size": 8, "zero_quantized_weights": true, '
        '"zero_quantized_gradients": true,'
    )
    file = written(tmp_path, "deepspeed_zero3.json", {'"stage": 3,': more})
    parallel = nl.convert(file, model="llama-3-8b", sequence=2048).scenario["job"]["parallel"]
    assert parallel["zero_backward_ranks"] == 8
    assert parallel["zero_compress"] == ["weights", "gradients"]
    off = written(tmp_path, "deepspeed_zero3.json", {'"stage": 3,': more.replace("3", "2", 1)})
    found = nl.convert(off, model="llama-3-8b", sequence=2048)
    assert "zero_compress" not in found.scenario["job"]["parallel"]
    assert len([one for one in found.not_taken if "below stage 3" in one.reason]) == 3


@given(
    st.dictionaries(
        st.sampled_from(["peft_type", "r", "target_modules", "bias", "use_dora"]),
        st.one_of(st.none(), st.integers(), st.text(), st.lists(st.text()), st.booleans()),
    )
)
def test_whatever_an_adapter_config_holds_is_read_or_refused(
    stated: dict[str, Any],
) -> None:
    """Nothing else is raised."""
    try:
        found = parse_peft(RecipeText(text=json.dumps(stated), name="adapter_config.json"))
    except SpecError:
        return
    assert set(found.training) <= {"tuning"}


def test_an_adapter_config_without_its_model_says_what_to_give() -> None:
    """All at once."""
    with pytest.raises(SpecError, match="--model"):
        nl.convert(RECIPES / "adapter_config.json")
