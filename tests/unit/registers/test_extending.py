"""Every example of docs/extending.md runs, each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "extending.md"
SECTIONS = {
    title: code
    for title, text in re.findall(
        r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
}


def modules_of(code: str) -> set[str]:
    return set(re.findall(r"^from (netloom\.[\w.]+) import", code, re.MULTILINE))


def is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def test_every_kind_that_is_walked_through_has_an_example() -> None:
    kinds = re.findall(r"^\| \[([^\]]+)\]\(#([\w-]+)\)", PAGE.read_text(), re.MULTILINE)
    assert len(kinds) == 10
    anchors = {title.lower().replace(" ", "-") for title in SECTIONS}
    assert {anchor for _, anchor in kinds} == anchors


@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_runs(title: str) -> None:
    code = SECTIONS[title]
    missing = sorted(module for module in modules_of(code) if not is_there(module))
    if missing:
        pytest.skip(f"{', '.join(missing)} is not in this tree yet")
    done = subprocess.run(  # noqa: S603  (ourselves)
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr
