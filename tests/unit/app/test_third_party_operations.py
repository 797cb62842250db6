"""A package that knows nothing of netloom's files adds a switch system, a format, a collector."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from netloom.app.deploy import render
from netloom.app.watch import WatchSources, watch
from netloom.errors import SpecError
from netloom.formats.register import FORMATS, formats_of
from netloom.ops.heal.actuators import ACTUATORS
from netloom.ops.observe.collectors import COLLECTORS
from netloom.ops.observe.naming import parse_scheme
from netloom.ops.observe.store import ObservationStore
from netloom.ops.switch_systems import SWITCH_SYSTEMS
from netloom.spec.load import parse

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = """
from pathlib import Path

from netloom.formats.register import Format
from netloom.ops.heal.actuators import ActuatorKind
from netloom.ops.observe.collectors import CollectorKind
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.switch_systems import PortLabels, SwitchFile, SwitchOs


class Thermometer:
    source = "thermometer"

    def __init__(self, path):
        self.path = path

    def read(self, time_s, cursor):
        seen = [Observation(time_s, "leaf:0", "celsius", float(Path(self.path).read_text()))]
        return Reading(source=self.source, time_s=time_s, observations=seen)


COLLECTOR = CollectorKind(
    name="thermometer",
    summary="a temperature; target: a file with a number",
    collectors=lambda target, context: (Thermometer(target),),
    is_vital=lambda source: False,
)
ACTUATOR = ActuatorKind(
    name="fan",
    summary="a fan",
    verbs=frozenset({"ticket"}),
    actuator=lambda target, context: context.desk,
)
SYSTEM = SwitchOs(
    name="minios",
    title="MiniOS",
    asics=("Tomahawk",),
    vendors=(),
    port_name=lambda site, port: f"m{port.number}",
    labels=PortLabels(pattern=r"m(?P<cage>\\d{1,4})"),
    files=(
        SwitchFile(
            name="mini.conf",
            render=lambda intent, number: f"hostname {intent.site.hostnames[number]}\\n",
        ),
    ),
)
FORMAT = Format(
    name="mini-inventory",
    title="MiniInventory",
    family="minios",
    holds="inventory",
    suffixes=(),
    sniff=lambda head: False,
    parse=None,
    render=lambda site: {"mini/devices.txt": "\\n".join(site.hostnames)},
)
"""
POINTS = """
[netloom.collectors]
thermometer = minios_netloom:COLLECTOR
[netloom.actuators]
fan = minios_netloom:ACTUATOR
[netloom.switch_systems]
minios = minios_netloom:SYSTEM
[netloom.formats]
mini-inventory = minios_netloom:FORMAT
"""
SCENARIO = """
cluster:
  nodes: 4
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the package as pip would, and give netloom's registers a fresh look."""
    root = tmp_path / "site"
    info = root / "minios_netloom-1.0.dist-info"
    info.mkdir(parents=True)
    (root / "minios_netloom.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: minios-netloom\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delitem(sys.modules, "minios_netloom", raising=False)
    for register in (COLLECTORS, ACTUATORS, SWITCH_SYSTEMS, FORMATS):
        register.names()  # netloom's own are there
        monkeypatch.setattr(register, "_points", None)
        monkeypatch.setattr(register, "_entries", dict(register._entries))


@pytest.mark.usefixtures("installed")
def test_every_register_has_what_the_package_declares() -> None:
    assert COLLECTORS.get("thermometer").summary.startswith("a temperature")
    assert ACTUATORS.get("fan").verbs == {"ticket"}
    assert SWITCH_SYSTEMS.get("minios").title == "MiniOS"
    assert [one.name for one in formats_of("inventory")] == [
        "dot",
        "mini-inventory",
        "netbox",
        "point-to-point",
        "slurm",
    ]


@pytest.mark.usefixtures("installed")
def test_a_deployment_has_the_files_of_the_package() -> None:
    files = render(parse(SCENARIO, name="x.yaml")).files
    assert files["switches/leaf000/mini.conf"] == "hostname leaf000\n"
    assert str(files["mini/devices.txt"]).splitlines()[0] == "n0000"


@pytest.mark.usefixtures("installed")
def test_a_port_is_known_by_the_label_of_the_package() -> None:
    assert parse_scheme("minios").number("m7") == 7


@pytest.mark.usefixtures("installed")
def test_a_watch_looks_through_the_collector_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "celsius").write_text("41.5")
    report = watch(
        parse(SCENARIO, name="x.yaml"),
        sources=WatchSources(collect=(f"thermometer={tmp_path / 'celsius'}",)),
        store=tmp_path / "watch.db",
        rounds=1,
    )
    assert (report.num_rounds, report.failing) == (1, ())
    with ObservationStore(tmp_path / "watch.db") as kept:
        assert [tuple(row[1:]) for row in kept.latest()] == [("leaf:0", "celsius", 41.5)]


def test_a_collector_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^--collect: 'prometeus' .* did you mean 'prometheus'"):
        watch(
            parse(SCENARIO, name="x.yaml"),
            sources=WatchSources(collect=("prometeus=http://x",)),
            store=tmp_path / "watch.db",
            rounds=1,
        )
