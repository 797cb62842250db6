"""Every key that a command prints with --json is in docs/json.md, and every number is one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest

from netloom.cli.main import main

DOCUMENT = Path(__file__).parents[3] / "docs" / "json.md"
GPT = """
cluster: {gpus: 64, node: dgx-a100, fabric: {technology: infiniband-hdr}}
job:
  model: gpt-3-175b
  training: {sequence: 2048, global_batch: 64, precision: bf16, recompute: full}
  parallel: {tensor: 8, pipeline: 8}
compare: [infiniband-hdr, rocev2-200g]
"""
JOBS = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: infiniband-ndr}}
jobs:
  - {name: a, nodes: 2, job: &job {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}}
  - {name: b, nodes: 2, job: *job}
"""


def _refused(word: str) -> NoReturn:
    message = f"{word} is not JSON"
    raise ValueError(message)


def _section(command: str) -> str:
    pages = DOCUMENT.read_text().split("\n## ")
    return next(page for page in pages if page.startswith(f"`netloom {command}`\n"))


SMALL = """
cluster: {gpus: 16, node: dgx-h100,
          fabric: {technology: rocev2-400g,
                   topology: {kind: fat-tree, tiers: 2, hosts_per_leaf: 8}}}
traffic: [{kind: incast, target: 0, first: 8, fan_in: 4, size: 100KB}]
"""
MIXTURE = """
cluster: {gpus: 32, node: dgx-h100,
          fabric: {technology: rocev2-400g,
                   topology: {kind: fat-tree, tiers: 2, hosts_per_leaf: 16}}}
job: {model: mixtral-8x7b, training: {sequence: 2048, global_batch: 32},
      parallel: {tensor: 2, pipeline: 2, data: 8, expert: 8}}
"""


def _top_level(value: dict[str, Any]) -> set[str]:
    """Return the keys of *value*, and those of objects in its lists."""
    lists = (item for item in value.values() if isinstance(item, list))
    return set(value).union(*(one for items in lists for one in items if isinstance(one, dict)))


@pytest.mark.parametrize(
    ("argv", "scenario"),
    [
        (["compare"], GPT),
        (["predict"], GPT),
        (["plan"], GPT),
        (["goodput"], GPT),
        (["headroom"], None),
        (["tune", "--budget", "2", "--seeds", "2", "--over", "qps", "--workers", "1"], SMALL),
        (["tune", "--stages", "--seeds", "2", "--workers", "1"], MIXTURE),
        (["span"], None),
        (["expect"], GPT),
        (["infer"], None),
        (["size", "--gpus", "1024"], None),
        (["whatif", "--fail", "node:0"], GPT),
        (["whatif", "--rank", "node"], GPT),
        (["place", "--nodes", "8"], GPT),
        (["share"], JOBS),
        (["catalog"], None),
        (["validate", "gpu-steps"], None),
        (["check"], GPT),
        (["example"], None),
        (["doctor"], None),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_every_key_is_documented(
    argv: list[str], scenario: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = list(argv)
    if scenario is not None:
        file = tmp_path / "scenario.yaml"
        file.write_text(scenario)
        command.insert(1, str(file))
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=_refused)["result"]
    section = _section(argv[0])
    told = {word for code in re.findall(r"`([^`]+)`", section) for word in re.split(r"\W+", code)}
    assert _top_level(found) - told == set()
