"""How software and its switches are named to people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from netloom.parts.load import load_catalog
from netloom.step.software import default_practice, written_switch

if TYPE_CHECKING:
    from netloom.spec.precision import Precision

DOCS = Path(__file__).parents[3] / "docs" / "concepts" / "software.md"


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("bucket_bytes", 80e6, "bucket: 80MB"),
        ("bucket_bytes", None, "bucket left out"),
        ("optimizer_offload", 0.5, "optimizer_offload: 50%"),
        ("recompute_modules", ["mlp", "moe"], "recompute_modules: [mlp, moe]"),
        ("tensor_overlap", False, "tensor_overlap: false"),
        ("attention", "flash-2", "attention: flash-2"),
    ],
)
def test_a_switch_is_shown_as_a_scenario_writes_it(name: str, value: Any, written: str) -> None:
    assert written_switch(name, value) == written


def test_the_documentation_names_the_defaults() -> None:
    named = (
        "Megatron-LM 2022 on A100; NeMo in bf16 and Megatron-Bridge in fp8 on H100; Megatron-Core "
        "2025 on B200; Megatron-Bridge on GB200 and GB300, NeMo on GB200 in fp8."
    )
    assert named in " ".join(DOCS.read_text("utf-8").split())
    catalog = load_catalog()
    cases: list[tuple[str, Precision, str]] = [
        ("A100-SXM-80GB", "bf16", "megatron-2022"),
        ("H100-SXM-80GB", "bf16", "nemo"),
        ("H100-SXM-80GB", "fp8", "megatron-bridge"),
        ("B200-SXM", "bf16", "megatron-core-2025"),
        ("GB200", "bf16", "megatron-bridge"),
        ("GB200", "fp8", "nemo"),
        ("GB300", "mxfp8", "megatron-bridge"),
    ]
    for gpu, precision, name in cases:
        assert default_practice(catalog.gpu(gpu), precision).name == name
