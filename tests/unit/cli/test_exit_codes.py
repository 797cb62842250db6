"""docs/exit-codes.md is the table of the code, and no command has numbers of its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import netloom.cli
from netloom.cli.exits import Exit

DOCUMENT = Path(__file__).parents[3] / "docs" / "exit-codes.md"


def test_the_document_has_every_code_with_its_meaning() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (.+) \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert rows == [(str(int(code)), code.name.lower(), code.meaning) for code in Exit]


def test_the_codes_are_those_that_shells_and_sysexits_know() -> None:
    assert [int(code) for code in Exit] == [0, 1, 2, 3, 70, 130, 141]


def _numbers_returned(function: ast.AST) -> set[int]:
    """Return the whole numbers in the return statements of a function."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return {
        one.value
        for value in returned
        if value is not None
        for one in ast.walk(value)
        if isinstance(one, ast.Constant) and type(one.value) is int
    }


def test_a_command_returns_no_number_outside_the_table() -> None:
    (folder,) = netloom.cli.__path__
    for path in Path(folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_verdict = isinstance(node, ast.FunctionDef) and (
                isinstance(node.returns, ast.Name) and node.returns.id == "int"
            )
            if is_verdict:
                assert _numbers_returned(node) <= set(map(int, Exit)), (path, node)
