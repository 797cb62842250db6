"""YAML, JSON and TOML as flat statements: one for each value, by its path of keys."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.formats.training.recipe import RecipeStatement, StatementOutcome
from netloom.spec.compose import compose
from netloom.spec.nodes import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.formats.training.recipe import RecipeText
    from netloom.spec.nodes import DocumentNode

__all__ = ["FlatDocument", "flat_document", "flat_toml", "keys_of_json"]

MAX_STEPS: Final = 16
MAX_BRACKETS: Final = 100
_REFERENCE: Final = re.compile(r"\$\{([^{}:]*)\}")
_TABLE: Final = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_ENTRY: Final = re.compile(r"\s*([\w.\"'-]+)\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatDocument:
    """The values of a document.

    Attributes:
        statements: One each; name and canonical name are both the path of keys.
        problems: What could not be read, though the rest could.
    """

    statements: tuple[RecipeStatement, ...]
    problems: tuple[StatementOutcome, ...] = ()


def flat_document(given: RecipeText) -> FlatDocument:
    """Return the values of a YAML or JSON mapping; ``${a.b}`` stands for the value at that path.

    Raises:
        SpecError: it is no such text, or no mapping.
    """
    _require_shallow(given)
    try:
        root, problems = compose(given.text)
    except MalformedError as error:
        where = error.problem.where
        raise SpecError(
            file=given.name, line=where.line, what=error.problem.what, remedy=error.problem.remedy
        ) from error
    if not isinstance(root.value, dict):
        raise SpecError(
            file=given.name, what="holds no mapping of keys", remedy="give a configuration file"
        )
    stated = list(_flat(root, ""))
    values = {one.name: one.value for one in stated}
    return FlatDocument(
        statements=tuple(_referred(one, values) for one in stated),
        problems=tuple(
            StatementOutcome(
                name=one.where.key or "document", value="", line=one.where.line, reason=one.what
            )
            for one in problems
        ),
    )


def _require_shallow(given: RecipeText) -> None:
    """Refuse brackets in brackets without end, over which the parser takes quadratic time."""
    depth = 0
    for found in re.finditer(r"[\[{\]}]", given.text):
        depth += 1 if found[0] in "[{" else -1
        if depth > MAX_BRACKETS:
            raise SpecError(
                file=given.name,
                line=given.text.count("\n", 0, found.start()) + 1,
                what=f"brackets nested deeper than {MAX_BRACKETS}",
                remedy="give a configuration file",
            )


def flat_toml(given: RecipeText) -> FlatDocument:
    """Return the values of a TOML file.

    Raises:
        SpecError: it is no TOML.
    """
    try:
        root = tomllib.loads(given.text)
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        raise SpecError(
            file=given.name,
            line=int(found[1]) if found else 0,
            what=f"is not TOML ({str(error)[:80]})",
            remedy="give torchtitan's job configuration",
        ) from error
    lines = _toml_lines(given.text)
    stated = (
        RecipeStatement(name=path, canonical=path, value=value, line=lines.get(path, 0))
        for path, value in _flat_plain(root, "", 0)
    )
    return FlatDocument(statements=tuple(stated))


def keys_of_json(head: str) -> frozenset[str]:
    """Return the keys of a JSON object at its top; none where it is no JSON object."""
    try:
        found = json.loads(head)
    except (ValueError, RecursionError):
        # The beginning of a long file: its keys are those that are indented least.
        return frozenset(re.findall(r'^\s{0,4}"([\w]+)"\s*:', head, re.MULTILINE))
    return frozenset(found) if isinstance(found, dict) else frozenset()


def _flat(node: DocumentNode, path: str) -> Iterator[RecipeStatement]:
    if isinstance(node.value, dict) and node.value:
        for key, child in node.value.items():
            yield from _flat(child, f"{path}.{key}" if path else key)
        return
    place = node.key_place or node.place
    if isinstance(node.value, tuple):
        value: object = tuple(_scalar(item) for item in node.value)
    else:
        value = None if isinstance(node.value, dict) else node.value
    yield RecipeStatement(name=path, canonical=path, value=value, line=place.line if place else 0)


def _scalar(node: DocumentNode) -> object:
    return node.written if isinstance(node.value, (dict, tuple)) else node.value


def _referred(one: RecipeStatement, values: dict[str, object]) -> RecipeStatement:
    """Return a statement with what it refers to in place of the reference."""
    value = one.value
    for _ in range(MAX_STEPS):
        if not isinstance(value, str) or "${" not in value:
            break
        found = _REFERENCE.fullmatch(value.strip())
        target = _target(found[1], one.name) if found else ""
        if target not in values:
            break
        value = values[target]
    unknown = value if isinstance(value, str) and ("${" in value or value == "???") else ""
    return RecipeStatement(
        name=one.name, canonical=one.canonical, value=value, line=one.line, unexpanded=unknown
    )


def _target(reference: str, name: str) -> str:
    """Return the path that OmegaConf's *reference* means; a leading dot is one's own level."""
    dots = len(reference) - len(reference.lstrip("."))
    if not dots:
        return reference
    above = name.split(".")[:-dots]
    return ".".join([*above, reference[dots:]])


def _flat_plain(value: Any, path: str, depth: int) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and depth < MAX_STEPS:
        for key, child in value.items():
            yield from _flat_plain(child, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        yield path, tuple(str(item)[:80] for item in value)
    else:
        yield path, value


def _toml_lines(text: str) -> dict[str, int]:
    """Return where each key stands, as far as plain lines show it."""
    table = ""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if head := _TABLE.match(line[:500]):
            table = head[1].replace('"', "").replace("'", "")
        elif entry := _ENTRY.match(line[:500]):
            key = entry[1].replace('"', "").replace("'", "")
            found.setdefault(f"{table}.{key}" if table else key, number)
    return found
