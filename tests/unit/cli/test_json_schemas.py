"""What commands print with --json is what ``netloom schema COMMAND`` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.results.schemas import JSON_COMMANDS, result_schemas

if TYPE_CHECKING:
    from pathlib import Path

GPT = """
cluster: {gpus: 32, node: dgx-h100, fabric: {technology: rocev2-400g}}
job:
  model: llama-2-13b
  training: {sequence: 4096, global_batch: 32}
  parallel: {tensor: 4, pipeline: 2}
compare: [infiniband-ndr, tcp-400g]
"""
JOBS = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: rocev2-400g}}
jobs:
  - {name: x, nodes: 2, job: &job {model: llama-2-7b, training: {sequence: 2048, global_batch: 32}}}
  - {name: y, nodes: 1, job: *job}
"""


def test_every_command_that_prints_a_result_has_a_schema() -> None:
    assert sorted(result_schemas()) == sorted(JSON_COMMANDS)
    for command in JSON_COMMANDS:
        jsonschema.Draft202012Validator.check_schema(nl.schema(command))


def printed(argv: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    (folder / "gpt.yaml").write_text(GPT)
    (folder / "jobs.yaml").write_text(JOBS)
    words = [str(folder / word) if word.endswith(".yaml") else word for word in argv]
    assert main([*words, "--json"]) in {0, 1, 2}
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "argv",
    [
        ["compare", "gpt.yaml"],
        ["predict", "gpt.yaml"],
        ["predict", "gpt.yaml", "--why", "all"],
        ["plan", "gpt.yaml", "--technologies", "rocev2-400g"],
        ["infer"],
        ["goodput", "gpt.yaml"],
        ["span"],
        ["expect", "gpt.yaml"],
        ["expect", "gpt.yaml", "--collective", "all_to_all", "--nodes", "4"],
        ["whatif", "gpt.yaml", "--fail", "leaf:0"],
        ["whatif", "gpt.yaml", "--rank", "nic"],
        ["share", "jobs.yaml"],
        ["place", "gpt.yaml", "--nodes", "4"],
        ["size", "--nodes", "300"],
        ["size", "--nodes", "64", "--topology", "fat-tree", "--why", "capex_usd"],
        ["catalog", "gpus"],
        ["catalog", "H100-SXM"],
        ["validate", "gpu-steps", "--rows"],
        ["check", "gpt.yaml"],
        ["example", "gpt3-175b-1k"],
        ["simulate", "--engine", "flow", "--seeds", "2"],
        ["simulate"],
        ["diff", "gpt.yaml", "gpt.yaml"],
        ["doctor"],
        ["predict", "none.yaml"],
        ["compare", "--technologies", "none"],
        ["plan", "--gpu", "8"],
    ],
    ids=" ".join,
)
def test_what_a_command_prints_keeps_its_schema(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(argv, tmp_path, capsys)
    jsonschema.Draft202012Validator(nl.schema(argv[0])).validate(found)


def test_a_key_that_the_schema_does_not_know_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(["predict", "gpt.yaml"], tmp_path, capsys)
    found["result"]["step_time_ms"] = 1.0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(nl.schema("predict")).validate(found)
    del found["result"]["step_time_ms"], found["result"]["step_time_s"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(nl.schema("predict")).validate(found)


def test_schema_prints_a_command_s_schema_and_refuses_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema", "trace", "read"]) == 0
    assert json.loads(capsys.readouterr().out) == nl.schema("trace read")
    assert main(["schema", "schema"]) == 2
    assert "schema: 'schema' prints no JSON; choose one of compare," in capsys.readouterr().err
