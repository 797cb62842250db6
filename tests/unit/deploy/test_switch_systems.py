"""Operating systems of switches: what they call ports, what runs where, what is written."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from deployments import build

from netloom.app.deploy import Deployment, render
from netloom.errors import SpecError
from netloom.ops.observe.naming import PortScheme, parse_scheme
from netloom.ops.plant import Port
from netloom.ops.switch_systems import SWITCH_SYSTEMS, switch_files
from netloom.parts.load import load_catalog

SYSTEMS = ("cumulus", "eos", "frr", "junos", "nxos", "quantum", "sonic")


def test_every_system_is_registered_with_all_its_traits() -> None:
    assert SWITCH_SYSTEMS.shipped() == SYSTEMS
    assert [system.name for system, _ in switch_files()] == [
        "cumulus",
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
    with pytest.raises(TypeError, match="lacks asics, day0, files, labels, port_name"):
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


@pytest.mark.parametrize(
    ("technology", "site", "systems"),
    [
        ("rocev2-400g", "{}", {"sonic": 12}),  # Tomahawk 5 of Broadcom
        ("spectrum-x-400g", "{}", {"cumulus": 12}),
        ("spectrum-x-400g", "{system: sonic}", {"sonic": 12}),
        ("rocev2-400g", "{system: frr, systems: {spine: eos, leaf002: sonic}}", None),
        ("infiniband-ndr", "{}", {}),
    ],
)
def test_each_switch_gets_the_files_of_its_own_system(
    technology: str, site: str, systems: dict[str, int] | None
) -> None:
    intent = build(technology, site=site)
    report = render(Deployment(intent=intent))
    if systems is None:
        assert report.systems["eos"] + report.systems["frr"] + report.systems["sonic"] == 12
        assert report.systems["sonic"] == 1
        assert "switches/leaf002/sonic/config_db.json" in report.files
        assert "switches/leaf003/frr.conf" in report.files
        assert "switches/spine000/eos.conf" in report.files
        (note,) = report.notes
        assert note.startswith("Arista EOS is not known to run on")
    else:
        assert report.systems == systems
    folders = {path.split("/")[1] for path in report.files if path.startswith("switches/")}
    for folder in folders:
        own = {p for p in report.files if p.startswith(f"switches/{folder}/")}
        kinds = [
            any(p.endswith(file.name) for p in own)
            for name in ("eos", "sonic", "cumulus")
            for file in SWITCH_SYSTEMS.get(name).files[:1]
        ]
        assert sum(kinds) <= 1


def test_a_system_that_netloom_does_not_write_for_is_refused() -> None:
    intent = build("rocev2-400g", system="junos")
    with pytest.raises(SpecError, match=r"site\.system.*'junos'.*cumulus, eos, frr, sonic"):
        render(Deployment(intent=intent))
