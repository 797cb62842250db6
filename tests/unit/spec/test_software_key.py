"""The key ``job.software``."""

from __future__ import annotations

from typing import Any

import pytest

from netloom.errors import SpecError
from netloom.spec.load import parse
from netloom.spec.scenario import Job, Parallel
from netloom.spec.schema import schema
from netloom.spec.software import PRACTICES, Software

TEXT = """
cluster: {gpus: 64}
job:
  model: llama-3.1-8b
  training: {global_batch: 64}
  software: %s
"""
NAMES = {
    "automodel",
    "deepspeed",
    "deepspeed-2021",
    "fsdp-2023",
    "llama-3",
    "maxtext",
    "megatron-2021",
    "megatron-2022",
    "megatron-bridge",
    "megatron-core-2024",
    "megatron-core-2025",
    "mlperf",
    "nemo",
    "torchtitan",
}


def software(text: str) -> Software:
    return parse(TEXT % text, name="a.yaml").job.software


def test_every_practice_that_was_measured_or_is_in_use_has_a_name() -> None:
    assert set(PRACTICES.shipped()) == NAMES


def test_a_name_alone_is_short_for_a_mapping() -> None:
    assert software("nemo") == software("{name: nemo}") == Software(name="nemo")
    assert software("nemo").switches() == {}


def test_a_scenario_without_the_key_names_no_software() -> None:
    assert Job(model="any").software == Software()


def test_switches_are_read_with_their_units() -> None:
    found = software(
        "{name: nemo, tensor_overlap: false, bucket: 160MB, attention: flash-2, "
        "gradient_type: bf16, parameter_type: fp8, optimizer_offload: 50%, "
        "recompute_modules: [moe_act, core_attn, moe_act]}"
    )
    assert found.switches() == {
        "tensor_overlap": False,
        "bucket_bytes": 160e6,
        "attention": "flash-2",
        "gradient_type": "bf16",
        "parameter_type": "fp8",
        "optimizer_offload": 0.5,
        "recompute_modules": ("core_attn", "moe_act"),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("megatron-core", "'megatron-core' is not known; did you mean 'megatron-core-2025'?"),
        ("{name: nemmo}", "'nemmo' is not known; did you mean 'nemo'?"),
        ("{attention: flash-4}", "did you mean 'flash-3'?"),
        ("{tensor_overlap: off-ish}", "it must be true or false"),
        ("{bucket: 3}", "unit"),
        ("{bucket_bytes: 160MB}", "unknown key; did you mean 'bucket'?"),
        ("{optimizer_offload: 120%}", "it must be at most 100%"),
        ("{recompute_modules: [softmax]}", "is not known here"),
        ("{overlap: true}", "unknown key"),
        ("3", "it must be a mapping"),
    ],
)
def test_what_it_cannot_be_is_refused_at_its_line(text: str, problem: str) -> None:
    with pytest.raises(SpecError, match=r"a\.yaml:6") as refused:
        software(text)
    assert problem in str(refused.value)


def test_the_schema_lists_the_names_and_takes_both_forms() -> None:
    found: dict[str, Any] = schema()
    forms = found["$defs"]["Job"]["properties"]["software"]["anyOf"]
    assert set(forms[0]["enum"]) == NAMES
    assert forms[1] == {"$ref": "#/$defs/Software"}
    assert "bucket" in found["$defs"]["Software"]["properties"]


def test_the_old_word_for_deepep_is_still_read() -> None:
    assert Parallel.model_validate({"expert_dispatch": "once-per-node"}).expert_dispatch == "deepep"
