"""Steps, plans, memory and serving of models with layers without attention."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.spec.load import load

if TYPE_CHECKING:
    from pathlib import Path

NANO_CONFIG = {
    "model_type": "nemotron_h",
    "hidden_size": 2688,
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "vocab_size": 131072,
    "intermediate_size": 1856,
    "n_routed_experts": 128,
    "num_experts_per_tok": 6,
    "moe_intermediate_size": 1856,
    "n_shared_experts": 1,
    "moe_shared_expert_intermediate_size": 3712,
    "mlp_hidden_act": "relu2",
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
    "n_groups": 8,
    "ssm_state_size": 128,
    "conv_kernel": 4,
    "chunk_size": 128,
    "tie_word_embeddings": False,
}
MODELS = ("nemotron-3-nano-30b-a3b", "nemotron-3-super-120b-a12b", "qwen3-next-80b-a3b")


def scenario(model: str, **parallel: Any) -> Any:
    return {
        "name": "hybrid",
        "cluster": {"gpus": 64, "node": "dgx-h200", "fabric": {"technology": "infiniband-ndr"}},
        "job": {
            "model": model,
            "training": {"sequence": 8192, "global_batch": 256, "recompute": "full"},
            "parallel": {"expert": 16, "zero": 1, **parallel},
        },
    }


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("parallel", [{}, {"tensor": 2, "pipeline": 2}, {"context": 2}])
def test_a_hybrid_can_be_predicted_and_says_what_it_rests_on(
    model: str, parallel: dict[str, Any]
) -> None:
    found = nl.predict(load(scenario(model, **parallel)))
    assert 0.05 < found.step.mfu < 0.6
    assert not found.step.validity.inside
    assert any("without attention" in doubt for doubt in found.step.validity.doubts)
    assert {"scan", "attention", "matmul"} <= set(found.step.kinds)
    assert sum(found.step.kinds.values()) == pytest.approx(1)


def test_a_longer_sequence_costs_a_hybrid_less_than_a_transformer() -> None:
    def growth(model: str) -> float:
        times = []
        for sequence, batch in ((8192, 256), (65536, 32)):  # as many tokens
            given = scenario(model, context=8, expert=8)
            given["job"]["training"] |= {"sequence": sequence, "global_batch": batch}
            step = nl.predict(load(given)).step
            times.append(step.compute_s - step.host_s)
        return times[1] / times[0]

    assert growth("nemotron-3-nano-30b-a3b") < 1.5 < growth("qwen3-30b-a3b")


def test_layers_without_attention_keep_what_their_products_made() -> None:
    given = scenario("nemotron-3-nano-30b-a3b")
    given["job"]["training"]["recompute"] = "none"
    held = nl.predict(load(given)).step.memory
    assert held.why is not None
    # 23 layers: 8,192 tokens of 10,304 and twice 4,096 values in 16 bits.
    kept = 23 * 8192 * 2 * (10304 + 2 * 4096)
    assert kept < held.activations_bytes


def test_a_hybrid_serves_long_prompts_with_a_small_cache() -> None:
    given = scenario("nemotron-3-nano-30b-a3b")
    given["serving"] = {"prompt": 65536, "output": 512, "batch": 32, "decode": {"tensor": 8}}
    small = nl.infer(load(given))
    given["job"]["model"] = "qwen3-30b-a3b"
    large = nl.infer(load(given))
    assert isinstance(small, nl.Inference)
    assert isinstance(large, nl.Inference)
    # 6 layers of 2 heads against 48 of 4.
    assert large.cache_bytes_per_token == 16 * small.cache_bytes_per_token
    assert small.own.service.tokens_per_s > large.own.service.tokens_per_s


def test_low_rank_tuning_of_a_hybrid_is_refused() -> None:
    given = scenario("nemotron-3-nano-30b-a3b")
    given["job"]["training"]["tuning"] = "lora"
    with pytest.raises(SpecError, match="hybrid"):
        nl.predict(load(given))


def test_a_hugging_face_file_of_a_hybrid_becomes_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(NANO_CONFIG))
    out = tmp_path / "scenario.yaml"
    found = nl.convert(path, out, gpus=64, sequence=8192, global_batch=256, micro_batch=1)
    assert found.scenario["job"]["model"] == "nemotron-3-nano-30b-a3b"  # which has that shape
