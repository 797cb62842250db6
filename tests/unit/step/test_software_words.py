"""How software and its switches are named to people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netloom.parts.load import load_catalog
from netloom.step.software import default_practice, written_switch

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
    found = {gpu: default_practice(load_catalog().gpu(gpu)).name for gpu in load_catalog().gpus}
    named = (
        "Megatron-LM 2022 on A100, Megatron-Bridge on H100, GB200 and GB300, Megatron-Core 2025 on "
        "B200."
    )
    assert named in " ".join(DOCS.read_text("utf-8").split())
    assert [found[gpu] for gpu in ("A100-SXM-80GB", "B200-SXM")] == [
        "megatron-2022",
        "megatron-core-2025",
    ]
    for gpu in ("H100-SXM-80GB", "GB200", "GB300"):
        assert found[gpu] == "megatron-bridge"
