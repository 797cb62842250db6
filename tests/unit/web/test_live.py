"""The tour as the live pages see it: planted faults are cases, cells and strips."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.app.live.states import CableState, state_of_kind
from netloom.app.live.tour import tour_twin
from netloom.errors import SpecError
from netloom.fabric.layout import layout_of
from netloom.spec.load import load
from netloom.study.fabrics import build

if TYPE_CHECKING:
    from netloom.app.live.twin import LiveTwin

ROOT = Path(__file__).parents[3]
HOUR_S = 3600.0


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> LiveTwin:
    return tour_twin(tmp_path_factory.mktemp("tour"))


def _start_s(twin: LiveTwin) -> float:
    return twin.now() - 24 * HOUR_S


def test_every_cable_has_one_cell(twin: LiveTwin) -> None:
    numbers = sorted(cable.number for cable in twin.designed.plant.cables)
    assert sorted(twin.cells.layout.cables.tolist()) == numbers


def test_three_cases_are_open_at_the_end_of_the_day(twin: LiveTwin) -> None:
    kinds = sorted(one["kind"] for one in twin.cases() if one["closed_s"] is None)
    assert kinds == ["missing cable", "symbol errors", "wrong speed"]


def test_every_planted_fault_is_a_case_and_nothing_else_is(twin: LiveTwin) -> None:
    """Nine faults; the flapping one was a missing cable first, so ten cases."""
    parts = {one["part"].split(" ")[0] for one in twin.cases()}
    assert len(parts) == 9
    assert len(twin.cases()) == 10


def test_a_silent_spine_is_one_case_with_all_its_cells(twin: LiveTwin) -> None:
    (case,) = [one for one in twin.cases() if one["part"] == "spine:7"]
    assert len(case["cells"]) == len(twin.designed.plant.find("spine:7"))
    during = np.frombuffer(twin.states(_start_s(twin) + 5.8 * HOUR_S).data, dtype=np.uint8)[::2]
    assert (during[case["cells"]] == CableState.DOWN).all()
    assert (np.delete(during, case["cells"]) == CableState.UP).all()


def test_the_past_is_as_it_was_then(twin: LiveTwin) -> None:
    early = np.frombuffer(twin.states(_start_s(twin) + HOUR_S).data, dtype=np.uint8)[::2]
    assert not early.any()


def test_strips_show_the_spine_in_the_half_hour_it_was_silent(twin: LiveTwin) -> None:
    strips = twin.strips(bins=288)
    row = max(strips["rows"], key=lambda one: one["worst"][68])
    assert CableState.DOWN in row["worst"][66:73]  # 5:30 to 6:05 in bins of five minutes


def test_a_case_shows_the_numbers_behind_it(twin: LiveTwin) -> None:
    case = next(one for one in twin.cases() if one["kind"] == "symbol errors")
    series = twin.evidence(twin.case(case["case"]))
    assert any(one["metric"] == "symbol_errors" and max(one["value"]) > 1000 for one in series)


def test_an_unknown_case_or_cell_is_refused(twin: LiveTwin) -> None:
    with pytest.raises(SpecError):
        twin.case("0" * 16)
    with pytest.raises(SpecError):
        twin.cell(10**9)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("missing cable", CableState.DOWN),
        ("wrong speed", CableState.SLOW),
        ("loss", CableState.DEGRADED),
    ],
)
def test_a_kind_of_trouble_has_one_look(kind: str, state: CableState) -> None:
    assert state_of_kind(kind) is state


TOPOLOGIES = ["fat-tree", "rail-fat-tree", "rail-only", "dragonfly-plus", "torus", "multi-plane"]


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_blocks_hold_every_network_cable_of_any_topology_once(kind: str) -> None:
    scenario = load(
        {
            "cluster": {
                "nodes": 64,
                "node": "dgx-h100",
                "fabric": {"technology": "rocev2-400g", "topology": {"kind": kind}},
            }
        }
    )
    fabric = build(scenario)
    layout = layout_of(fabric)
    cells = sum(sum(block.lengths) for block in layout.blocks)
    assert cells == len(layout.cables) == len(set(layout.cables.tolist())) > 0
    firsts = [block.first for block in layout.blocks]
    assert firsts == sorted(firsts)
    assert all(0 <= block.pod < len(layout.pods) for block in layout.blocks)


def test_the_built_page_is_of_these_sources() -> None:
    """`make web` writes the digest of its sources into the page."""
    web = ROOT / "web"
    page = (ROOT / "src/netloom/web/static/index.html").read_text(encoding="utf-8")
    found = re.search(r'netloom-sources" content="(\w+)"', page)
    assert found is not None
    digest = hashlib.sha256()
    for path in [*_sources(web / "src"), web / "package.json", web / "build.mjs"]:
        digest.update(str(path.relative_to(web)).encode() + b"\0" + path.read_bytes() + b"\0")
    assert found[1] == digest.hexdigest(), "run make web"


def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    if not (ROOT / "web/node_modules/esbuild").is_dir() or shutil.which("node") is None:
        pytest.skip("the page's tools are not installed (make web)")
    outs = (tmp_path / "page", tmp_path / "notebook")
    built = (ROOT / "src/netloom/web/static", ROOT / "src/netloom/results/static")
    subprocess.run(["node", "build.mjs", *map(str, outs)], cwd=ROOT / "web", check=True)  # noqa: S603, S607
    for out, committed in zip(outs, built, strict=True):
        assert {one.name: one.read_bytes() for one in out.iterdir()} == {
            one.name: one.read_bytes() for one in committed.iterdir()
        }


def _sources(folder: Path) -> list[Path]:
    return [
        found
        for entry in sorted(folder.iterdir(), key=lambda one: one.name)
        for found in (_sources(entry) if entry.is_dir() else [entry])
    ]


def test_the_page_is_within_its_budget_of_bytes() -> None:
    import gzip  # noqa: PLC0415

    sizes = {
        path.name.partition("-")[0]: len(gzip.compress(path.read_bytes()))
        for path in (ROOT / "src/netloom/web/static").glob("*.js")
    }
    assert sizes["app"] < 100_000
    assert sizes["app"] + sizes["editor"] < 300_000
