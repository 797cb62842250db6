"""Settings by their published name: one source for simulate, deploy and headroom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.errors import SpecError
from netloom.fabric.wire.published_settings import PUBLISHED_SETTINGS
from netloom.ops.deploy.quality import quality_of
from netloom.ops.site import site_of
from netloom.study.inputs import catalog_of
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import case_of

if TYPE_CHECKING:
    from pathlib import Path

MARKED = [one.name for one in PUBLISHED_SETTINGS.entries() if one.marking is not None]


def runner_of(scenario: nl.Scenario, choices: Choices | None = None) -> PacketRunner:
    case = case_of(scenario, catalog_of(scenario, None), engine="packet", choices=choices)
    assert isinstance(case.runner, PacketRunner)
    return case.runner


def test_every_published_name_is_there_with_its_source() -> None:
    assert PUBLISHED_SETTINGS.names() == (
        "azure-region",
        "conweave",
        "dcqcn-paper",
        "hpcc-artefact",
        "meta-400g",
        "nvidia-roce",
        "uec-htsim",
    )
    assert all(one.source.citation and one.summary for one in PUBLISHED_SETTINGS.entries())


@pytest.mark.parametrize("name", MARKED)
def test_simulate_deploy_and_headroom_have_the_same_marks(name: str) -> None:
    scenario = nl.example("incast-rocev2").with_settings(name)
    by_key, by_option = (
        runner_of(scenario).settings.ecn,
        runner_of(nl.example("incast-rocev2"), Choices(settings=name)).settings.ecn,
    )
    assert by_key == by_option
    assert by_key is not None
    said = nl.headroom(scenario).settings.marking
    written = quality_of(site_of(scenario, catalog_of(scenario, None))).ecn
    assert (by_key.kmin_bytes, by_key.kmax_bytes) == (said.kmin_bytes, said.kmax_bytes)
    assert (written.least_bytes, written.most_bytes) == (said.kmin_bytes, said.kmax_bytes)
    assert written.mark_pct == round(100 * by_key.pmax)


@pytest.mark.parametrize(
    ("name", "kmin", "kmax", "pmax"),
    [
        ("dcqcn-paper", 5_000, 200_000, 0.01),
        ("conweave", 100_000, 400_000, 0.2),
        ("nvidia-roce", 150_000, 1_500_000, 1.0),
        # 100 and 400 kB x 400 / 25 Gb/s; 1.6 MB is beyond 0.9 of the 995,848 B that pause.
        ("hpcc-artefact", 896_263, 6_400_000, 0.2),
        ("azure-region", 896_263, 2_000_000, 0.05),
    ],
)
def test_marks_are_the_published_ones_as_far_as_they_come_before_pauses(
    name: str, kmin: int, kmax: int, pmax: float
) -> None:
    found = nl.headroom(nl.example("incast-rocev2"), settings=name)
    marks = found.settings.marking
    assert (marks.kmin_bytes, marks.kmax_bytes, marks.pmax) == (kmin, kmax, pmax)
    lowered = [check.what for check in found.checks if not check.ok]
    assert lowered == (["Kmin under XOFF, all ports congested"] if kmin == 896_263 else [])


def test_a_window_shorter_than_the_way_is_told() -> None:
    check = nl.headroom(nl.example("incast-rocev2")).checks[-1]
    assert (check.what, check.ok) == ("window at least the bandwidth-delay product", True)


def test_the_paper_brings_its_own_congestion_control_unless_another_is_chosen() -> None:
    scenario = nl.example("incast-rocev2")
    own = runner_of(scenario, Choices(settings="dcqcn-paper")).settings
    assert own.congestion_control == "dcqcn"
    other = Choices(settings="dcqcn-paper", congestion_control="dctcp")
    assert runner_of(scenario, other).settings.congestion_control == "dctcp"


def test_meta_marks_nothing_and_is_not_written_as_marks() -> None:
    scenario = nl.example("incast-rocev2").with_settings("meta-400g")
    settings = runner_of(scenario).settings
    assert (settings.ecn, settings.congestion_control) == (None, "none")
    found = nl.headroom(scenario).to_json()
    assert (found["kmin_bytes"], found["kmax_bytes"], found["pmax"]) == (None, None, None)
    assert found["breaks_first"] == "cable length"
    with pytest.raises(SpecError, match="meta-400g marks nothing"):
        quality_of(site_of(scenario, catalog_of(scenario, None)))


def test_marks_given_by_hand_go_before_published_ones() -> None:
    choices = Choices(settings="conweave", ecn="10KB-20KB-5%")
    ecn = runner_of(nl.example("incast-rocev2"), choices).settings.ecn
    assert ecn is not None
    assert (ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax) == (10_000, 20_000, 0.05)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["simulate", "--settings", "dcqn-paper"], "did you mean 'dcqcn-paper'?"),
        (["simulate", "--settings", "conweave", "--engine", "flow"], "use --engine packet"),
        (
            ["simulate", "--settings", "conweave", "--technology", "infiniband-ndr"],
            "use a technology with pfc",
        ),
        (["headroom", "--settings", "azure"], "azure-region"),
    ],
)
def test_what_is_not_known_or_does_not_fit_is_refused(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_render_writes_the_settings_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "roce.yaml", tmp_path / "site"
    assert main(["example", "incast-rocev2"]) == 0
    file.write_text(capsys.readouterr().out)
    options = ["--out", str(out), "--settings", "conweave", "--json"]
    assert main(["deploy", "render", str(file), *options]) == 0
    json.loads(capsys.readouterr().out)
    assert main(["deploy", "check", str(out), "--json"]) == 0
    devices = json.loads(capsys.readouterr().out)["result"]["devices"]
    assert devices
    assert {tuple(one["settings"]) for one in devices if one["system"] == "sonic"} == {
        ("conweave",)
    }
    main(["deploy", "check", str(out)])
    assert "are those of conweave" in capsys.readouterr().out
    assert any(
        '"400000"' in one.read_text(errors="replace")
        for one in out.rglob("*")
        if one.is_file() and "config_db" in one.name
    )
