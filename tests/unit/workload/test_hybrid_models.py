"""Models with layers that pass a state along the sequence in place of attention."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.parts.mixer import LinearMixer
from netloom.parts.parts import Model
from netloom.spec.scenario import Training
from netloom.workload.demand import micro_batch_communications
from netloom.workload.flops import forward_flops_per_token, layer_operators
from netloom.workload.huggingface import parse_config
from netloom.workload.hybrid.linear_attention import recurrent_bytes
from netloom.workload.operator import Shard
from netloom.workload.parameters import active_parameters, parameters
from netloom.workload.placement import Layout
from netloom.workload.serving import cache_bytes_per_token, request_bytes_of_rank
from netloom.workload.transformer import transformer

CATALOG = load_catalog()
NANO, SUPER, NEXT = (
    "nemotron-3-nano-30b-a3b",
    "nemotron-3-super-120b-a12b",
    "qwen3-next-80b-a3b",
)
NEXT_CONFIG = {
    "model_type": "qwen3_next",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "vocab_size": 151936,
    "head_dim": 256,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "intermediate_size": 5120,
    "num_experts": 512,
    "num_experts_per_tok": 10,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 128,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 4,
    "tie_word_embeddings": False,
}
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
WINDOWED = {
    "model_type": "mistral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 6,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "sliding_window": 1024,
}


@pytest.mark.parametrize(
    ("name", "published", "left_out"),
    [
        # The sums of the released tensors; netloom counts no norms of heads (12 layers, queries
        # and keys, 256 wide), no gate of the shared expert (48 x 2048), no bias of the router.
        (NEXT, 79_674_391_296, 12 * 2 * 256 + 48 * 2048),
        (NANO, 31_577_940_288, 23 * 128),
        (SUPER, 123_611_012_096 - 2_942_324_736, 0),  # without the extra prediction layers
    ],
)
def test_a_hybrid_has_the_parameters_of_its_released_tensors(
    name: str, published: int, left_out: int
) -> None:
    assert parameters(CATALOG.model(name)) == published - left_out


def test_a_token_of_qwen3_next_meets_ten_experts_of_512() -> None:
    assert active_parameters(CATALOG.model(NEXT)) == 3_874_929_408 - 12 * 2 * 256 - 48 * 2048


def test_a_file_makes_the_catalogues_model() -> None:
    for config, name in ((NEXT_CONFIG, NEXT), (NANO_CONFIG, NANO)):
        read = parse_config(config, where="config.json")
        known = CATALOG.model(name)
        left = {"name", "title", "parameters", "sources", "notes"}
        assert read.model_dump(exclude=left) == known.model_dump(exclude=left)


def test_letters_say_which_layers_have_experts() -> None:
    shape = transformer(CATALOG.model(NANO))
    assert (shape.num_moe_layers, shape.num_dense_layers) == (23, 29)
    assert (shape.num_attention_layers, shape.num_linear_layers) == pytest.approx((6, 23))
    assert [layer for layer in range(8) if shape.has_experts(layer)] == [1, 3, 6]
    assert shape.most_moe_layers(5) == 3  # EMEME at its end
    assert shape.num_halves == 1


def test_a_layer_is_the_mean_of_its_kind() -> None:
    # Of the 29 layers without experts 23 pass a state along and 6 have attention; none has a block.
    shape, shard = transformer(CATALOG.model(NANO)), Shard(micro_batch=1, sequence=8192)
    shares = {one.name: one.share for one in layer_operators(shape, shard, moe=False)}
    assert shares["scan"] == shares["mixer in"] == pytest.approx(23 / 29)
    assert shares["attention"] == pytest.approx(6 / 29)
    assert "ffn in" not in shares
    names = {one.name for one in layer_operators(shape, shard, moe=True)}
    assert "experts in" in names
    assert not {"scan", "attention"} & names


def test_a_projection_is_as_wide_as_its_published_matrix() -> None:
    # in_proj of Nemotron 3 Nano is 10304 x 2688, of Super 18560 x 4096; Qwen3-Next's two 12288
    # and 64 x 2048.
    widths = {}
    for name in (NANO, SUPER, NEXT):
        mixer = CATALOG.model(name).linear
        assert mixer is not None
        widths[name] = mixer.projected
    assert widths == {NANO: 10304, SUPER: 18560, NEXT: 12288 + 64}


def test_needed_flops_are_those_megatron_counts() -> None:
    # Two for each parameter that a token meets but embedding, convolutions, norms and vectors, the
    # published count of scan and convolution, and attention in six layers.
    model, sequence = CATALOG.model(NANO), 8192
    inner, state, channels = 64 * 64, 128, 64 * 64 + 2 * 8 * 128
    vectors = 23 * (channels * 5 + 3 * 64 + inner) + 53 * 2688
    matrices = active_parameters(model) - 131072 * 2688 - vectors
    scans = 23 * (7 * inner * state + 2 * 4 * channels)
    attention = 6 * 2 * (sequence / 2) * (2 * 32 * 128)
    wanted = 2 * matrices + scans + attention
    assert forward_flops_per_token(transformer(model), sequence) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("kind", ["mamba-2", "gated-delta"])
def test_a_scan_grows_with_the_sequence_and_not_its_square(kind: str) -> None:
    mixer = LinearMixer.model_validate(
        {"kind": kind, "num_heads": 8, "head_dim": 64, "num_groups": 2, "state": 64}
    )
    small = {"linear": mixer, "attention_interval": 4, "num_layers": 32}
    model = CATALOG.model("llama-3-8b").model_copy(update=small)
    short, long = (
        next(
            one
            for one in layer_operators(
                transformer(model), Shard(micro_batch=1, sequence=tokens), moe=False
            )
            if one.name == "scan"
        )
        for tokens in (4096, 8192)
    )
    assert long.flops == pytest.approx(2 * short.flops)
    assert long.size_bytes == pytest.approx(2 * short.size_bytes)


def test_tensor_ranks_meet_once_in_a_layer_of_one_part() -> None:
    plan = Layout(
        tensor=2,
        context=1,
        data=4,
        pipeline=1,
        virtual_pipeline=1,
        expert=8,
        zero=1,
        sequence_parallel=True,
        gpus_per_node=8,
        displaced=0.0,
    )
    training = Training.model_validate({"sequence": 4096, "global_batch": 64})
    items = micro_batch_communications(transformer(CATALOG.model(SUPER)), plan, training)
    forward = [one.each for one in items if one.phase == "forward" and one.axis.value == "tensor"]
    assert forward == [1, 1]  # gathered before, scattered after


def test_a_request_keeps_a_state_that_does_not_grow() -> None:
    model = CATALOG.model(NEXT)
    shape = transformer(model)
    assert cache_bytes_per_token(shape) == 12 * 2 * 2 * 2 * 256
    assert model.linear is not None
    # 32 heads of 128 x 128 in fp32 and three tokens of 8,192 channels in 16 bits.
    assert recurrent_bytes(model.linear) == 32 * 128 * 128 * 4 + 3 * 8192 * 2
    grown = request_bytes_of_rank(shape, 1, length=2000) - request_bytes_of_rank(
        shape, 1, length=1000
    )
    assert 48 * grown == pytest.approx(1000 * cache_bytes_per_token(shape))


@pytest.mark.parametrize(
    ("change", "window", "num", "interval"),
    [
        ({}, 1024, 1, 1),
        ({"sliding_window": None}, 0, 1, 1),
        ({"model_type": "gemma2"}, 1024, 1, 2),
        ({"model_type": "gemma3_text"}, 1024, 5, 6),
        ({"layer_types": ["sliding_attention"] * 4 + ["full_attention"] * 2}, 1024, 4, 6),
        ({"model_type": "qwen2", "use_sliding_window": False}, 0, 1, 1),
        ({"model_type": "qwen2", "max_window_layers": 2}, 1024, 4, 6),
        ({"model_type": "qwen2", "max_window_layers": 6}, 0, 1, 1),
    ],
)
def test_a_window_is_of_the_layers_that_the_file_gives_it(
    change: dict[str, object], window: int, num: int, interval: int
) -> None:
    model = parse_config({**WINDOWED, **change}, where="config.json")
    assert (model.window, model.num_windowed, model.window_interval) == (window, num, interval)


def test_windows_of_five_in_six_layers_leave_a_sixth_of_the_square() -> None:
    # 8,192 tokens, window 1,024: 2 x 1/8 - 1/64 of the half square in five layers of six.
    few = parse_config({**WINDOWED, "model_type": "gemma3_text"}, where="config.json")
    none = parse_config({**WINDOWED, "sliding_window": None}, where="config.json")
    whole = 6 * 2 * (8192 / 2) * (2 * 4096)
    lost = whole * (5 / 6) * (1 - (2 / 8 - 1 / 64))
    without = few.model_copy(update={"gated": none.gated, "tied_embeddings": False})
    found = forward_flops_per_token(transformer(none), 8192) - forward_flops_per_token(
        transformer(without), 8192
    )
    assert found == pytest.approx(lost)


@pytest.mark.parametrize(
    ("base", "change", "named"),
    [
        (NANO_CONFIG, {"hybrid_override_pattern": "MEX"}, "hybrid_override_pattern"),
        (NANO_CONFIG, {"mamba_num_heads": None}, "mamba_num_heads"),
        (NANO_CONFIG, {"moe_shared_expert_intermediate_size": 2000}, "moe_shared"),
        (NEXT_CONFIG, {"layer_types": ["linear_attention"] * 48}, "layer_types"),
        (NEXT_CONFIG, {"layer_types": ["full_attention"] * 3}, "layer_types"),
        (NEXT_CONFIG, {"linear_key_head_dim": "wide"}, "linear_key_head_dim"),
        (WINDOWED, {"sliding_window": -1}, "sliding_window"),
    ],
)
def test_layers_that_cannot_be_are_refused_by_their_key(
    base: dict[str, object], change: dict[str, object], named: str
) -> None:
    with pytest.raises(SpecError, match=named):
        parse_config({**base, **change}, where="config.json")


@pytest.mark.parametrize(
    "change",
    [
        {"pattern": "ME"},
        {"pattern": "X" * 52},
        {"linear": None},
        {"num_experts": 0},
        {"num_windowed": 2},
    ],
)
def test_a_pattern_agrees_with_the_rest_of_the_model(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Model.model_validate({**CATALOG.model(NANO).model_dump(), **change})
