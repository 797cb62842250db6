"""Whatever config.json a scenario names: a model, or a sentence with the file's name."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.workload.huggingface import ALIASES, parse_config

KEYS = [
    *(key for known in ALIASES.values() for key in known),
    "model_type",
    "hidden_act",
    "activation_function",
    "n_positions",
    "max_position_embeddings",
    "tie_word_embeddings",
    "decoder_sparse_step",
    "moe_layer_freq",
    "mlp_only_layers",
    "text_config",
]
BASES: list[dict[str, Any]] = [
    {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100},
    {
        "model_type": "gpt2",
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "vocab_size": 9,
        "n_positions": 8,
    },
    {
        "model_type": "mixtral",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "vocab_size": 100,
    },
    {
        "model_type": "deepseek_v3",
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "kv_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": 8,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 1,
        "vocab_size": 100,
    },
]
WHOLE = [0, 1, 2, 3, -1, 2**29 + 1, 2**31 - 1, 2**31, 2**63, 10**40]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(WHOLE),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["gpt2", "gemma", "gelu", "silu"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(KEYS), st.integers(), max_size=2),
)


@settings(max_examples=400, deadline=None)
@given(
    base=st.sampled_from(BASES),
    changes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3),
    dropped=st.sets(st.sampled_from(KEYS), max_size=2),
)
@example(base=BASES[1], changes={"n_embd": 2**29 + 1}, dropped=set())
@example(base=BASES[1], changes={"n_positions": True}, dropped=set())
@example(base=BASES[2], changes={}, dropped={"num_experts_per_tok"})
def test_a_config_is_a_model_or_is_refused_by_name(
    base: dict[str, Any], changes: dict[str, Any], dropped: set[str]
) -> None:
    config = {key: value for key, value in (base | changes).items() if key not in dropped}
    said = ""
    try:
        model = parse_config(json.loads(json.dumps(config)), where="x/config.json")
    except SpecError as error:
        said = str(error)
    else:
        assert 0 < model.parameters < math.inf
    assert not said or ("x/config.json: " in said and len(said) < 400)
