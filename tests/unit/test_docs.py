"""The documentation is complete, and has the form that its pages promise."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import netloom
from netloom.cli.main import build_app, main
from netloom.spec.schema import schema
from tools import docs_reference, plot_validation, run_notebook

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MODELS = sorted(page for page in (DOCS / "models").glob("*.md") if page.name != "index.md")
FORM = ["Scope and limitations", "How it works", "Validation", "References"]


def _headings(text: str, level: int) -> list[str]:
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(rf"^{'#' * level} (.+)$", outside, re.MULTILINE)


def test_every_command_has_a_heading_and_every_option_a_line() -> None:
    page = docs_reference.command_line()
    commands = {name for name in build_app() if not name.startswith("-")}
    assert commands <= {name.removeprefix("netloom ") for name in _headings(page, 2)}
    assert "### netloom lab fault" in page
    assert "--load-balancing STR" in page


def test_every_public_name_has_a_heading() -> None:
    assert set(_headings(docs_reference.python_api(), 3)) == set(netloom.__all__)


def test_every_key_of_a_scenario_is_in_the_table_of_its_section() -> None:
    page = docs_reference.scenario_keys()
    for name, part in [("The file", schema()), *schema()["$defs"].items()]:
        title = "The file" if name == "The file" else docs_reference.heading(name)
        section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
        assert set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)) == set(part["properties"])


def test_a_docstring_becomes_markdown() -> None:
    doc = "Return ``x``.\n\nArgs:\n    x: What\n        it is.\n\nRaises:\n    ValueError: no x."
    expected = (
        "Return `x`.\n\n**Args**\n\n- `x`: What it is.\n\n**Raises**\n\n- `ValueError`: no x."
    )
    assert docs_reference.prose(doc) == expected


@pytest.mark.parametrize("page", MODELS, ids=lambda page: page.stem)
def test_a_model_page_says_scope_method_validation_and_references_in_this_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert _headings(text, 2) == FORM
    scope = text.split("## Scope and limitations\n")[1].split("\n## ")[0]
    assert "|---|" in scope
    assert len(text.splitlines()) < 300
    assert "not part of the tree" not in text


@pytest.mark.parametrize("page", MODELS, ids=lambda page: page.stem)
def test_every_file_that_a_model_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:tests|tools|bench|core)/[\w/.]+\.(?:py|cpp|hpp))", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_pages_are_written_in_plain_words() -> None:
    quaint = re.compile(
        r"\b(nobody|somebody|whoever|anew|forever|heeds?|reckons?)\b", re.IGNORECASE
    )
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    found = {page.name: quaint.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: words for name, words in found.items() if words} == {}


def test_every_decision_is_listed_and_has_a_number_of_its_own() -> None:
    index = (DOCS / "decisions" / "index.md").read_text()
    pages = sorted(page.name for page in (DOCS / "decisions").glob("0*.md"))
    assert [page for page in pages if f"({page})" not in index] == []
    assert len({page[:4] for page in pages}) == len(pages)


def test_the_cells_of_the_notebook_run_and_print_what_it_shows() -> None:
    """``python tools/run_notebook.py`` brings it up to date."""
    book = json.loads(run_notebook.NOTEBOOK.read_text(encoding="utf-8"))
    assert len([cell for cell in book["cells"] if cell["cell_type"] == "code"]) == 8
    assert run_notebook.run(book) == book


@pytest.mark.slow
@pytest.mark.validation
@pytest.mark.parametrize("suite", plot_validation.SUITES)
def test_a_plot_of_a_suite_shows_its_rows(suite: str) -> None:
    """``python tools/plot_validation.py`` brings them up to date."""
    now = plot_validation.drawn(plot_validation.rows_of(suite), plot_validation.SUITES[suite])
    assert plot_validation.path_of(suite).read_text(encoding="utf-8") == now
    if suite == "steps":
        rows = plot_validation.rows_of(suite)
        intervals = plot_validation.path_of("intervals").read_text(encoding="utf-8")
        assert intervals == plot_validation.drawn_intervals(rows)


@pytest.mark.slow
@pytest.mark.validation
def test_the_plot_by_band_shows_what_is_judged() -> None:
    """``python tools/plot_validation.py`` brings it up to date."""
    rows = plot_validation.rows_of("collectives", flag="judged")
    bands = plot_validation.path_of("bands").read_text(encoding="utf-8")
    assert bands == plot_validation.drawn_bands(rows)


def test_a_ratio_of_one_lies_half_way_between_a_half_and_two() -> None:
    highest, middle, lowest = (plot_validation.up(ratio) for ratio in (2.0, 1.0, 0.5))
    assert middle == (highest + lowest) / 2
    assert plot_validation.up(7.0) == highest


@pytest.mark.slow
@pytest.mark.validation
@pytest.mark.parametrize(("suite", "page"), [("steps", "step"), ("layers", "compute")])
def test_the_groups_of_a_model_page_have_the_errors_that_validate_prints(
    suite: str, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", suite, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    text = (DOCS / "models" / f"{page}.md").read_text(encoding="utf-8").replace("*", "")
    for group in found.get("result", found)["groups"]:
        median, p90 = group["median_abs_error_pct"], group["p90_abs_error_pct"]
        shown = rf"\| {median:.1f}\d? % \| {p90:.1f} % \|"
        assert re.search(shown, text), (group["name"], shown)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="'make docs' installs mkdocs-material")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 50
    loaded = re.compile(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?(?:https?:)?//")
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []
