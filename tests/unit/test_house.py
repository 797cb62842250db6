"""The house keeps its rooms: folders of a size, one meaning a class name, no shadowed command."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from netloom.commands import COMMANDS

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "netloom"
MAX_FILES = 25


@pytest.mark.parametrize("top", ["src", "core", "tests", "bench", "tools", "docs"])
def test_no_folder_has_more_files_than_a_reader_takes_in(top: str) -> None:
    folders = [ROOT / top, *(path for path in (ROOT / top).rglob("*") if path.is_dir())]
    counts = {
        str(folder.relative_to(ROOT)): sum(_is_ours(path) for path in folder.iterdir())
        for folder in folders
        if "__pycache__" not in folder.parts
    }
    assert {folder: n for folder, n in counts.items() if n > MAX_FILES} == {}


def _is_ours(path: Path) -> bool:
    return path.is_file() and path.suffix != ".so"


def test_one_class_name_has_one_meaning() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(SOURCES)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_no_top_level_module_has_the_name_of_a_command() -> None:
    # Importing it would rebind nl.<command>.
    modules = {path.stem for path in SOURCES.iterdir()}
    assert modules & {command.name for command in COMMANDS} == set()


# Words of no network engineer; docs and README are held to theirs in test_docs.py.
DIALECT = re.compile(
    r"\b(nobody|anew|mend(s|ed|ing)?|so many|somebody|whoever|for ever|heed\w*|reckon\w*)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("top", ["src", "core"])
def test_the_code_speaks_the_words_of_the_field(top: str) -> None:
    kinds = {".py", ".toml", ".hpp", ".cpp", ".md"}
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / top).rglob("*")
        if path.suffix in kinds
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if DIALECT.search(line)
    ]
    assert found == []
