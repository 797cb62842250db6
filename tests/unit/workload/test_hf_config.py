"""Hugging Face configurations: what their keys mean, and files that are not one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.workload.huggingface import MAX_CONFIG_BYTES, parse_config, read_config
from netloom.workload.parameters import active_parameters, parameters

if TYPE_CHECKING:
    from pathlib import Path

LLAMA = {
    "model_type": "llama",
    "hidden_size": 16384,
    "intermediate_size": 53248,
    "num_hidden_layers": 126,
    "num_attention_heads": 128,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
QWEN = {
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "vocab_size": 129280,
    "tie_word_embeddings": False,
}
MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_local_experts": 8,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
}
GPT2 = {
    "model_type": "gpt2",
    "n_layer": 12,
    "n_embd": 768,
    "n_head": 12,
    "n_positions": 1024,
    "n_inner": None,
    "activation_function": "gelu_new",
    "vocab_size": 50257,
}


@pytest.mark.parametrize(
    ("config", "total", "active"),
    [
        (LLAMA, 405.853e9, 405.853e9),
        (QWEN, 30.53e9, 3.35e9),
        (DEEPSEEK, 671.03e9, 37.55e9),
        (GPT2, 124.44e6, 124.44e6),
    ],
)
def test_each_family_names_the_same_things_differently(
    config: dict[str, object], total: float, active: float
) -> None:
    model = parse_config(config, where="config.json")
    assert parameters(model) == pytest.approx(total, rel=5e-4)
    assert active_parameters(model) == pytest.approx(active, rel=1e-3)
    assert model.parameters == parameters(model)


LLAMA_4 = {
    "model_type": "llama4_text",
    "hidden_size": 5120,
    "intermediate_size": 8192,
    "intermediate_size_mlp": 16384,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 48,
    "num_local_experts": 16,
    "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 1,
    "vocab_size": 202048,
}


def test_llama_4_has_a_shared_expert_that_its_file_does_not_name() -> None:
    scout = parse_config({"text_config": LLAMA_4}, where="config.json")
    maverick = parse_config(
        LLAMA_4 | {"num_local_experts": 128, "interleave_moe_layer_step": 2}, where="config.json"
    )
    models = load_catalog().models
    for found, name in ((scout, "llama-4-scout"), (maverick, "llama-4-maverick")):
        assert parameters(found) == parameters(models[name])
        assert active_parameters(found) == active_parameters(models[name])


def test_experts_in_every_second_layer_and_leading_dense_ones_are_read() -> None:
    half = parse_config(QWEN | {"decoder_sparse_step": 2}, where="config.json")
    assert half.expert_interval == 2
    led = parse_config(QWEN | {"mlp_only_layers": [0, 1, 2]}, where="config.json")
    assert led.first_dense_layers == 3


def test_a_router_of_one_group_chooses_none() -> None:
    # DeepSeek-V3 has 8 groups, which is the default of its class; Moonlight and Kimi K2 have one.
    assert parse_config(DEEPSEEK, where="config.json").grouped_router
    assert not parse_config(DEEPSEEK | {"n_group": 1}, where="config.json").grouped_router
    kimi = DEEPSEEK | {"model_type": "kimi_k2"}
    assert not parse_config(kimi, where="config.json").grouped_router


def test_the_text_part_of_a_picture_model_is_read() -> None:
    model = parse_config({"text_config": LLAMA, "vision_config": {}}, where="config.json")
    assert model.hidden == 16384


def test_a_file_is_read_and_names_the_model(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    assert read_config(path).name == str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ("{}", "num_hidden_layers is missing"),
        (json.dumps(LLAMA | {"hidden_size": "big"}), "hidden_size: 'big' is not a count"),
        (json.dumps(LLAMA | {"hidden_size": -1}), "hidden_size: -1 is not a count"),
        (json.dumps(LLAMA | {"num_hidden_layers": 1e3}), "is not a count"),
        (json.dumps(LLAMA | {"num_key_value_heads": 3}), "must divide num_heads"),
        (json.dumps(QWEN | {"decoder_sparse_step": 5}), "decoder_sparse_step: 5 mixes"),
        (json.dumps(QWEN | {"mlp_only_layers": [0, 2]}), r"mlp_only_layers: \[0, 2\] mixes"),
        (json.dumps(GPT2 | {"n_positions": None}), "n_positions is missing"),
        (json.dumps(GPT2 | {"n_positions": True}), "n_positions: True is not a count"),
        (json.dumps(GPT2 | {"n_positions": "many"}), "n_positions: 'many' is not a count"),
        (
            json.dumps(GPT2 | {"n_embd": 2**29 + 1}),
            r"config\.json: n_inner: 2147483652 will not do",
        ),
        (json.dumps(MIXTRAL), r"num_experts_per_tok: is missing; write how many .* 1 to 8"),
        (json.dumps(MIXTRAL | {"num_experts_per_tok": 9}), "num_experts_per_tok: 9; write how"),
        (json.dumps(LLAMA | {"tie_word_embeddings": "false"}), "tie_word_embeddings: 'false'"),
        (json.dumps(LLAMA | {"hidden_act": 3}), "hidden_act: 3 is no name"),
        (json.dumps(LLAMA | {"vocab_size": 10**4000}), "vocab_size: a very long number is not"),
        ("[" * 100_000, "is not JSON"),
        (" " * (MAX_CONFIG_BYTES + 1), "larger than"),
    ],
)
def test_a_file_that_is_no_config_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(SpecError, match=said):
        read_config(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        read_config(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (LLAMA | {"model_type": "bert"}, "model_type"),
        (LLAMA | {"model_type": "t5", "is_encoder_decoder": True}, "is_encoder_decoder"),
    ],
)
def test_a_model_that_does_not_only_decode_is_refused(config: dict[str, object], key: str) -> None:
    with pytest.raises(SpecError, match="encoder") as error:
        parse_config(config, where="config.json")
    assert error.value.problems[0].where.key == key


def test_an_encoder_that_is_told_to_decode_is_read() -> None:
    read = parse_config(LLAMA | {"model_type": "bert", "is_decoder": True}, where="config.json")
    assert read.num_layers == 126
