"""Operating systems of switches: what they call ports, what runs where, what is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from deployments import build

from netloom.app.deploy import Deployment, render
from netloom.cli.main import main
from netloom.ops.observe.naming import PortScheme, parse_scheme
from netloom.ops.plant import Port
from netloom.ops.switch_systems import SWITCH_SYSTEMS, switch_files
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from pathlib import Path

SYSTEMS = ("cumulus", "eos", "frr", "junos", "nxos", "quantum", "sonic")


def test_every_system_is_registered_with_all_its_traits() -> None:
    assert SWITCH_SYSTEMS.shipped() == SYSTEMS
    assert [system.name for system, _ in switch_files()] == [
        "cumulus",
        "eos",
        "frr",
        "frr",
        "sonic",
        "sonic",
    ]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_port_is_found_again_by_what_its_switch_calls_it(name: str) -> None:
    # Tomahawk 5 has 64 cages of 800 Gb/s: two ports of 400 Gb/s share one, of eight lanes four
    # each. FRR counts ports, whatever cage they are in.
    site = build("rocev2-400g").site
    system = SWITCH_SYSTEMS.get(name)
    ways = {"sonic": 4, "frr": 1}.get(name, 2)
    for number in (1, 2, 3, 8):
        label = system.port_name(site, Port(len(site.nics), number))
        assert PortScheme(name=name, ways=ways).number(label) == number, label


def test_an_unsplit_port_is_found_by_the_schemes_own_default() -> None:
    site = build("rocev2-800g", node="dgx-b300").site
    for name in ("cumulus", "eos", "frr", "junos", "nxos", "sonic"):
        label = SWITCH_SYSTEMS.get(name).port_name(site, Port(len(site.nics), 7))
        assert parse_scheme(name).number(label) == 7, label


@pytest.mark.parametrize(
    ("switch", "systems"),
    [
        ("SN5600", {"cumulus", "frr", "sonic"}),
        ("QM9700", {"frr", "quantum"}),
    ],
)
def test_a_system_runs_where_its_asic_and_vendor_are(switch: str, systems: set[str]) -> None:
    found = load_catalog().switches[switch]
    assert {one.name for one in SWITCH_SYSTEMS.entries() if one.runs_on(found)} == systems


def test_eos_runs_on_aristas_switches_alone() -> None:
    eos = SWITCH_SYSTEMS.get("eos")
    vendors = {s.vendor for s in load_catalog().switches.values() if eos.runs_on(s)}
    assert vendors == {"Arista"}


def test_a_system_without_a_trait_is_refused() -> None:
    with pytest.raises(TypeError, match="lacks asics, files, labels, port_name"):
        SWITCH_SYSTEMS.add(SimpleNamespace(name="half", title="Half", vendors=(), runs_on=bool))  # type: ignore[arg-type]


def test_what_is_written_is_read_back() -> None:
    intent = build("rocev2-400g")
    number = len(intent.site.nics)
    for system, file in switch_files():
        text = file.render(intent, number)
        if file.read_hosts is not None:
            found = file.read_hosts(text, file.name)
            assert system.port_name(intent.site, Port(number, 1)) in found.up
        if file.read_asn is not None:
            assert file.read_asn(text) == intent.router(number).asn


def test_files_for_other_switches_are_named() -> None:
    # The switch of rocev2-400g is a Tomahawk 5 of Broadcom: FRR and SONiC run on it.
    report = render(Deployment(intent=build("rocev2-400g")))
    assert report.to_json()["systems"] == {
        "cumulus": False,
        "eos": False,
        "frr": True,
        "sonic": True,
    }
    assert [note.partition(":")[0] for note in report.notes] == [
        "switches/*/nvue.sh",
        "switches/*/eos.conf",
    ]
    assert render(Deployment(intent=build("infiniband-ndr"))).systems == {}


def test_the_command_names_files_for_other_switches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "x.yaml"
    scenario.write_text(
        "cluster: {nodes: 2, node: dgx-h100, fabric: {technology: rocev2-400g}}\n"
        "job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}\n",
        encoding="utf-8",
    )
    assert main(["deploy", "render", str(scenario), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "note: switches/*/eos.conf: for other switches; Arista EOS does not run on" in said
