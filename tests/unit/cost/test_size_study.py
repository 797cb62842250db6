"""`netloom size`, from the question to what is printed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from netloom.cli.design.size import size as size_command
from netloom.cli.options import WhyPageOutput
from netloom.errors import CatalogError, InfeasibleError, SpecError
from netloom.parts.load import load_catalog
from netloom.report.size import size_report
from netloom.spec.scenario import Cluster
from netloom.study.size.request import topology_of
from netloom.study.size.sizing import SizingRequest, size

if TYPE_CHECKING:
    from pathlib import Path

CATALOG = load_catalog()


def test_the_json_has_the_documented_keys_and_adds_up() -> None:
    found = size(SizingRequest(num_gpus=1_024), CATALOG).to_json()
    assert {"switches", "switches_by_tier", "cables", "capex_usd", "power_w"} <= set(found)
    assert found["switches"] == sum(found["switches_by_tier"].values()) == 48
    assert found["cables"] == sum(row["cables"] for row in found["cable_lengths"]) == 2_048
    lines = [line for line in found["bill"] if line["in_capex"]]
    assert found["capex_usd"] == pytest.approx(sum(line["total_usd"] for line in lines))
    assert found["capex_usd_per_gpu"] == pytest.approx(found["capex_usd"] / 1_024)
    assert found["capex_low_usd"] <= found["capex_usd"] <= found["capex_high_usd"]
    json.dumps(found)


def test_alternatives_leave_out_the_network_itself() -> None:
    found = size(SizingRequest(num_gpus=32_768, switch="QM9700"), CATALOG)
    pairs = [(other.topology, other.switch) for other in found.alternatives]
    assert ("rail-fat-tree", "QM9700") not in pairs
    assert ("rail-only", "QM9700") in pairs
    assert len(pairs) == len(set(pairs))


def test_a_scenario_and_its_options_give_the_same_network() -> None:
    cluster = Cluster(nodes=128)
    options = SizingRequest(num_nodes=128, topology=topology_of("rail-fat-tree"))
    assert size(SizingRequest.of(cluster), CATALOG).to_json() == size(options, CATALOG).to_json()


def test_gpus_that_do_not_fill_a_node_are_rounded_up_and_said() -> None:
    found = size(SizingRequest(num_gpus=1_001), CATALOG)
    assert found.design.num_gpus == 1_008
    assert any("1001 GPUs do not fill" in note for note in found.notes)


def test_a_switch_alone_brings_a_technology_that_speaks_to_it() -> None:
    found = size(SizingRequest(num_gpus=1_024, switch="SN5600"), CATALOG)
    assert found.technology.protocol == "ethernet"
    assert found.technology.transport != "tcp"
    assert found.design.switch.name == "SN5600"


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "exactly one of gpus and nodes"),
        ({"num_gpus": 8, "num_nodes": 1}, "exactly one of gpus and nodes"),
        ({"num_gpus": 0}, "gpus: 0 is out of range"),
        ({"num_nodes": 10**9}, "nodes: 1000000000 is out of range"),
    ],
)
def test_a_size_out_of_range_is_refused(wish: dict[str, int], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        SizingRequest(num_gpus=wish.get("num_gpus"), num_nodes=wish.get("num_nodes"))


@pytest.mark.parametrize(
    ("kind", "tiers", "oversubscription", "message"),
    [
        ("torus", 2, None, "tiers: 2 will not do for torus: a torus has none"),
        ("fat-tree", 9, None, "tiers: 9 will not do for fat-tree"),
        (
            "rail-only",
            None,
            0.5,
            "oversubscription: 0.5 will not do for rail-only: it must be at least 1;",
        ),
    ],
)
def test_an_option_a_topology_has_not_is_refused(
    kind: str, tiers: int | None, oversubscription: float | None, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        topology_of(kind, tiers=tiers, oversubscription=oversubscription)


def test_options_without_a_kind_mean_the_usual_one() -> None:
    tapered, split = topology_of(None, oversubscription=2), topology_of(None, planes=2)
    assert tapered is not None
    assert split is not None
    assert (tapered.kind, split.kind) == ("rail-fat-tree", "multi-plane")
    assert topology_of(None) is None


def test_a_switch_that_speaks_another_protocol_is_refused() -> None:
    wish = SizingRequest(num_gpus=8, switch="QM9700", technology="rocev2-400g")
    with pytest.raises(SpecError, match="QM9700 speaks infiniband"):
        size(wish, CATALOG)


def test_a_network_that_cannot_be_is_refused() -> None:
    wish = SizingRequest(
        num_gpus=65_536, switch="QM9700", topology=topology_of("fat-tree", tiers=2)
    )
    with pytest.raises(InfeasibleError):
        size(wish, CATALOG)


def test_a_missing_price_names_the_part() -> None:
    bare = CATALOG.switch("QM9700").model_copy(update={"price_usd": None})
    catalog = replace(CATALOG, switches={**CATALOG.switches, "QM9700": bare})
    with pytest.raises(CatalogError, match=r"QM9700: its price.*\[switches.QM9700\]"):
        size(SizingRequest(num_gpus=1_024, switch="QM9700"), catalog)


@pytest.mark.parametrize(
    "field",
    ["switches", "cables", "transceivers", "capex_usd", "capex_usd_per_gpu", "power_w"],
)
def test_what_is_explained_is_what_is_reported(field: str) -> None:
    found = size(SizingRequest(num_gpus=1_024), CATALOG)
    assert found.why(field).value == pytest.approx(found.to_json()[field])


def test_an_unknown_field_gets_the_nearest_one() -> None:
    with pytest.raises(SpecError, match="did you mean 'capex_usd'"):
        size(SizingRequest(num_gpus=8), CATALOG).why("capex")


def test_the_report_shows_counts_money_and_sources() -> None:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(size_report(size(SizingRequest(num_gpus=32_768), CATALOG)))
    text = captured.get()
    for piece in ("2,560", "98,304", "16,384", "Alternatives", "network capex", "1Ft3RbeZ"):
        assert piece in text


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    size_command(gpus=1_024, output=WhyPageOutput(json=True))
    assert json.loads(capsys.readouterr().out)["result"]["switches"] == 48


def test_the_command_explains(capsys: pytest.CaptureFixture[str]) -> None:
    size_command(gpus=1_024, output=WhyPageOutput(why="switches"))
    assert "switches = 48" in capsys.readouterr().out


def test_a_scenario_with_options_beside_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="drop gpus, switch"):
        size_command(tmp_path / "x.yaml", gpus=8, switch="QM9700")
