"""Parameter counts against what the models' authors publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.errors import SpecError
from netloom.workload.parameters import active_parameters, parameters
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.parts.parts import Model


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llama-3.1-405b", 405.85),
        ("llama-2-70b", 68.98),
        ("gpt-3-175b", 174.6),
        ("mixtral-8x7b", 46.70),
        ("deepseek-v3", 671.03),
        ("qwen3-30b-a3b", 30.53),
    ],
)
def test_a_model_has_as_many_parameters_as_its_authors_count(
    model_of: Callable[..., Model], name: str, billions: float
) -> None:
    assert parameters(model_of(name)) / 1e9 == pytest.approx(billions, abs=0.006 * billions / 10)


@pytest.mark.parametrize(
    ("name", "billions"), [("mixtral-8x7b", 12.88), ("deepseek-v3", 37.55), ("qwen3-30b-a3b", 3.35)]
)
def test_a_token_meets_only_the_experts_it_is_sent_to(
    model_of: Callable[..., Model], name: str, billions: float
) -> None:
    # DeepSeek-V3 publishes "37B activated", Mixtral 12.9B, Qwen3 3.3B.
    assert active_parameters(model_of(name)) / 1e9 == pytest.approx(billions, rel=0.001)


def test_llama_405b_is_exact_to_the_last_parameter(model_of: Callable[..., Model]) -> None:
    # 126 layers of 16384 x (2 x 16384 + 2 x 1024) + 3 x 16384 x 53248 + 2 x 16384, two
    # matrices of 128256 x 16384 and the last norm.
    assert parameters(model_of("llama-3.1-405b")) == 405_853_388_800


def test_a_dense_model_has_all_its_parameters_active(model_of: Callable[..., Model]) -> None:
    model = model_of("llama-2-70b")
    assert active_parameters(model) == parameters(model)


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("llama-2-70b", {"num_kv_heads": 7}, "num_kv_heads"),
        ("deepseek-v3", {"value_head_dim": 0}, "value_head_dim"),
        ("deepseek-v3", {"first_dense_layers": 62}, "first_dense_layers"),
    ],
)
def test_a_shape_that_contradicts_itself_is_refused_by_name(
    model_of: Callable[..., Model], name: str, change: dict[str, int], named: str
) -> None:
    with pytest.raises(SpecError, match=named):
        transformer(model_of(name, **change))
