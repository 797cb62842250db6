"""Scenarios that are well formed but may not be possible: never a traceback, always a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from netloom.cli.main import main
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from pathlib import Path

DEGREES = st.sampled_from([1, 2, 3, 4, 5, 8, 16, 64, 100, 4096])
TOPOLOGIES: list[dict[str, Any]] = [
    {"kind": "fat-tree"},
    {"kind": "rail-fat-tree", "tiers": 2},
    {"kind": "rail-only", "planes": 2},
    {"kind": "multi-plane", "planes": 8},
    {"kind": "three-tier-tree"},
    {"kind": "dragonfly-plus"},
    {"kind": "torus", "dimensions": [4, 4, 4]},
    {"kind": "fat-tree", "oversubscription": 7.5},
]


def named(kind: str) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(load_catalog().parts(kind)))


scenarios = st.fixed_dictionaries(
    {
        "cluster": st.fixed_dictionaries(
            {
                "nodes": st.sampled_from([1, 2, 3, 16, 100, 1024, 65_536, 4_194_304]),
                "node": named("nodes"),
                "fabric": st.fixed_dictionaries(
                    {"technology": named("technologies"), "topology": st.sampled_from(TOPOLOGIES)}
                ),
            }
        ),
        "job": st.fixed_dictionaries(
            {
                "model": named("models"),
                "training": st.fixed_dictionaries(
                    {
                        "global_batch": st.sampled_from([1, 7, 512, 65_536]),
                        "precision": st.sampled_from(["bf16", "fp16", "fp8"]),
                        "recompute": st.sampled_from(["none", "selective", "full"]),
                    }
                ),
                "parallel": st.fixed_dictionaries(
                    {
                        "tensor": DEGREES,
                        "pipeline": DEGREES,
                        "context": st.sampled_from([1, 2, 3]),
                        "expert": st.sampled_from([1, 8, 9]),
                        "virtual_pipeline": st.sampled_from([1, 2]),
                        "zero": st.integers(0, 3),
                    }
                ),
            }
        ),
    }
)


COMMANDS = st.sampled_from(
    [
        ["check"],
        ["predict", "--json"],
        ["size", "--json"],
        ["compare", "--technologies", "rocev2-400g"],
        ["compare", "--technologies", "infiniband-ndr", "--why", "usd_per_trillion_tokens"],
    ]
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenarios, COMMANDS)
def test_a_scenario_is_possible_or_refused_with_a_remedy(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    scenario: dict[str, Any],
    command: list[str],
) -> None:
    file = tmp_path / "scenario.yaml"
    with file.open("w") as stream:
        YAML(typ="safe").dump(scenario, stream)
    code = main([command[0], str(file), *command[1:]])
    out, err = capsys.readouterr()
    assert code in {0, 2}, err
    assert bool(out) == (code == 0 or "--json" in command)
    assert code == 0 or (len(err) > 40 and str(file) in err and "Traceback" not in err)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tensor": 3}, ["tensor 3", "does not divide", "16,384"]),
        ({"data": 100}, ["leaves 128 for data", "write data: 128"]),
        ({"expert": 8}, ["llama-3.1-405b has none", "leave it out"]),
        ({"pipeline": 1, "virtual_pipeline": 1}, ["needs", "but H100-SXM-80GB has", "fits"]),
    ],
)
def test_an_impossible_division_names_the_numbers_and_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, int], words: list[str]
) -> None:
    main(["example"])
    scenario = YAML(typ="safe").load(capsys.readouterr().out)
    if "data" not in change:
        del scenario["job"]["parallel"]["data"]
    scenario["job"]["parallel"] |= change
    file = tmp_path / "scenario.yaml"
    with file.open("w") as stream:
        YAML(typ="safe").dump(scenario, stream)
    assert main(["check", str(file)]) == 2
    message = capsys.readouterr().err
    assert all(word in message for word in words), message


def test_a_topology_that_its_radix_cannot_build_names_the_limit_and_what_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two tiers of 64 ports end at 64 x 64 / 2 = 2,048 NICs."""
    main(["example"])
    scenario = YAML(typ="safe").load(capsys.readouterr().out)
    scenario["cluster"]["fabric"]["topology"]["tiers"] = 2
    file = tmp_path / "scenario.yaml"
    with file.open("w") as stream:
        YAML(typ="safe").dump(scenario, stream)
    assert main(["check", str(file)]) == 2
    message = capsys.readouterr().err
    assert all(word in message for word in ("2,048", "16,384", "tiers: 3")), message
