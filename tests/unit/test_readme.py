"""What README.md and the site's first pages show is what their commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.run_readme import RUN_PAGES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|^###[^\n]*", re.DOTALL | re.MULTILINE)
# These two show the same suites, which run once then.
SUITES = ("README.md", "docs/concepts/validity.md")
NUMBER = re.compile(r"(?<![\w.-])\d[\d,.]*\d|(?<![\w.-])\d")


def _prose_and_code() -> tuple[str, str]:
    """Return the README's text outside of code, and all of its code blocks and outputs."""
    blocks = re.findall(r"```.*?```", README, re.DOTALL)
    text = CODE.sub("", README)
    return text, "\n".join(block for block in blocks if block.startswith("```console"))


@pytest.mark.slow
@pytest.mark.timeout(600)  # a dozen commands each; cores may be busy
@pytest.mark.parametrize("pages", [SUITES, *((page,) for page in RUN_PAGES if page not in SUITES)])
def test_every_output_of_a_page_is_what_its_command_prints(pages: tuple[str, ...]) -> None:
    """``python tools/run_readme.py`` brings them up to date."""
    check = [sys.executable, "tools/run_readme.py", "--check", *pages]
    assert subprocess.run(check, cwd=ROOT, check=False).returncode == 0  # noqa: S603


def test_every_number_in_the_prose_of_the_readme_is_in_a_checked_output() -> None:
    prose, outputs = _prose_and_code()
    needs = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert needs is not None
    checked = {*NUMBER.findall(outputs), needs[1], "1"}  # 1: the exit code, docs/exit-codes.md
    apache = {"2.0"}  # of the licence's name
    assert set(NUMBER.findall(prose)) - checked - apache == set()


def test_the_readme_has_eight_examples_in_at_most_200_lines() -> None:
    assert re.findall(r"^### (\d+)\. ", README, re.MULTILINE) == list("12345678")
    assert len(README.splitlines()) <= 200


def test_every_file_that_the_readme_links_to_is_there() -> None:
    # Absolute, so that they work on a package index; the part after the branch is a file here.
    links = re.findall(r"\]\(([^)#]+)", README)
    assert [link for link in links if "://" not in link] == []
    files = [
        link.partition("/main/")[2]
        for link in links
        if "/netloom/main/" in link or "/blob/main/" in link
    ]
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []
