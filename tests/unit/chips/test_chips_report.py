"""Chips and the ceiling of RoCEv2 as text, pages and commands."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import netloom as nl
from netloom.cli.main import main
from netloom.parts.load import load_catalog
from netloom.registers import Register
from netloom.report.compare.chips.ceiling_page import ceiling_page
from netloom.report.compare.chips.ceiling_text import broken_by, ceiling_lines, ceiling_text
from netloom.report.compare.chips.page import chips_page
from netloom.report.compare.chips.text import chips_text
from netloom.study.compare.chips import entry
from netloom.study.compare.chips.ceiling import BEARABLE, Ceiling, ceiling
from netloom.study.compare.chips.design import base_design
from netloom.study.compare.chips.entry import ChipArchitecture
from netloom.study.compare.chips.knobs import KNOBS
from netloom.study.compare.chips.ranking import BASELINE

PAGE = Path(__file__).parents[3] / "docs/questions/chip-architect.md"
FEW = ("spray-in-order", "ecmp-16-qps")
TURNED = tuple(knob for knob in KNOBS if knob.name in {"queue-pairs", "radix"})


@pytest.fixture(scope="module")
def found() -> Ceiling:
    return ceiling(nl.example(), chips=FEW, knobs=TURNED)


def printed(shown: object) -> str:
    console = Console(width=100, record=True, file=StringIO())
    console.print(shown)
    return console.export_text()


def test_spraying_moves_the_ceiling_farther_than_queue_pairs(found: Ceiling) -> None:
    by_name = {one.chip.name: one.limit_gpus or 0 for one in found.reaches}
    assert by_name[BASELINE] < by_name["ecmp-16-qps"] < by_name["spray-in-order"]
    assert found.best_single.chip.name == "spray-in-order"
    assert found.baseline.limit_gpus == by_name[BASELINE]


def test_the_ceiling_says_where_it_stops_and_what_moves_it(found: Ceiling) -> None:
    first, second = ceiling_lines(found)
    assert f"{found.baseline.limit_gpus:,} GPUs" in first
    assert "spray-in-order" in second
    assert len(broken_by(found)) == 3


def test_an_incast_is_borne_up_to_the_last_fan_in_that_is(found: Ceiling) -> None:
    for one in found.reaches:
        borne = [p for p in one.incasts if p.fan_in <= one.incast_limit]
        assert all(point.victim_slowdown <= BEARABLE for point in borne)


def test_more_queue_pairs_reach_more_of_the_paths(found: Ceiling) -> None:
    sweep = next(one for one in found.sweeps if one.knob.name == "queue-pairs")
    shares = [point.path_share or 0.0 for point in sweep.points]
    assert shares == sorted(shares)


def test_losing_links_cost_go_back_n_more_than_retry(found: Ceiling) -> None:
    assert all(one.go_back_n < one.retried < 1 for one in found.losses)


def test_text_and_pages_name_every_chip(found: Ceiling) -> None:
    for shown in (printed(ceiling_text(found)), printed(chips_text(found.compared))):
        assert all(one.chip.name in shown for one in found.reaches)
    for page in (ceiling_page(found), chips_page(found.compared)):
        assert all(one.chip.name in page for one in found.reaches)
        assert "http://" not in re.sub(r"http://www.w3.org\S+", "", page)


def test_the_command_ranks_and_explains(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["compare", "--chips", "--architectures", "roce-ecmp"]
    assert main([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["chips"][0]["chip"] == "roce-ecmp"


@pytest.mark.parametrize(
    "options",
    [
        ["--architectures", "ndp"],
        ["--ceiling"],
        ["--chips", "--technologies", "rocev2-400g"],
        ["--chips", "--architectures", "nothing"],
    ],
)
def test_options_that_nothing_would_come_of_are_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *options]) == 2
    assert "netloom:" in capsys.readouterr().err


def test_the_example_of_the_guide_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Register[ChipArchitecture](kind="chip", traits=ChipArchitecture)
    monkeypatch.setattr(entry, "CHIPS", fresh)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(code, {})  # noqa: S102  (the guide's own example)
    base = base_design("rocev2", nl.example(), load_catalog())
    design = fresh.get("mine").design(base, load_catalog())
    assert design.technology.flows_per_rank == 8
    assert design.packets["switch"]["cut_through"] is True
