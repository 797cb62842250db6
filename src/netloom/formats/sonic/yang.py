"""SONiC's YANG models, and a config_db.json as an instance of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

from netloom.errors import SpecError

__all__ = [
    "Statement",
    "YangTable",
    "instance",
    "parse_yang",
]

_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[{};+]|[^\s{};\"']+", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of YANG: keyword, argument, what is inside."""

    keyword: str
    argument: str
    inside: tuple[Statement, ...] = ()

    def named(self, keyword: str, argument: str) -> Statement | None:
        """Return the statement of that keyword and argument inside, where there is one."""
        same = (one for one in self.inside if (one.keyword, one.argument) == (keyword, argument))
        return next(same, None)

    def those(self, keyword: str) -> tuple[Statement, ...]:
        """Return the statements of that keyword inside."""
        return tuple(one for one in self.inside if one.keyword == keyword)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of a list."""
        return tuple(key for one in self.those("key") for key in one.argument.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class YangTable:
    """Where a table of config_db is in the models."""

    module: str
    namespace: str
    top: str
    container: Statement


def parse_yang(text: str) -> Statement:
    """Return the module that *text* is.

    Raises:
        ValueError: its braces do not match.
    """
    tokens = [token for token in _TOKEN.findall(text) if not token.startswith(("//", "/*"))]
    stack: list[tuple[list[str], list[Statement]]] = [([], [])]
    for piece in tokens:
        words, done = stack[-1]
        if piece == "{":
            stack.append(([], []))
        elif piece == ";":
            done.append(_statement(words, ()))
            words.clear()
        elif piece == "}" and len(stack) > 1:
            _, inside = stack.pop()
            words, done = stack[-1]
            done.append(_statement(words, tuple(inside)))
            words.clear()
        else:
            words.append(piece)
    if len(stack) != 1 or len(stack[0][1]) != 1:
        message = "is not one YANG module"
        raise ValueError(message)
    return stack[0][1][0]


def _statement(words: list[str], inside: tuple[Statement, ...]) -> Statement:
    keyword, *rest = words or [""]
    argument = "".join(word.strip("\"'") for word in rest if word != "+")
    return Statement(keyword, argument, inside)


def instance(config: dict[str, dict[str, Any]], tables: dict[str, YangTable], *, where: str) -> str:
    """Return a config_db as XML that yanglint reads.

    Raises:
        SpecError: a table, or a key of it, is in no model.
    """
    tops: dict[str, ET.Element] = {}
    for name, rows in sorted(config.items()):
        table = tables.get(name)
        if table is None:
            raise SpecError(
                what=f"{where}: no model has the table {name}",
                remedy="remove it or give newer models",
            )
        if table.top not in tops:
            tops[table.top] = ET.Element(table.top, {"xmlns": table.namespace})
        element = ET.SubElement(tops[table.top], name)
        for key, fields in sorted(rows.items()):
            _row(element, table, key, fields, where=f"{where}: {name}|{key}")
    return "".join(ET.tostring(top, encoding="unicode") for top in tops.values())


def _row(parent: ET.Element, table: YangTable, key: str, fields: Any, *, where: str) -> None:
    single = table.container.named("container", key)
    if single is not None:
        _leaves(ET.SubElement(parent, key), fields)
        return
    parts = key.split("|")
    lists = [one for one in table.container.those("list") if len(one.keys) == len(parts)]
    if not lists:
        raise SpecError(
            what=f"{where}: the model has no list with {len(parts)} keys", remedy="correct the key"
        )
    element = ET.SubElement(parent, lists[0].argument)
    for name, value in zip(lists[0].keys, parts, strict=True):
        ET.SubElement(element, name).text = value
    maps = lists[0].those("list")
    if maps:
        _pairs(element, maps[0], fields)
    else:
        _leaves(element, fields)


def _leaves(parent: ET.Element, fields: dict[str, Any]) -> None:
    for name, value in sorted(fields.items()):
        ET.SubElement(parent, name).text = str(value)


def _pairs(parent: ET.Element, inner: Statement, fields: dict[str, Any]) -> None:
    """Write a map: a list inside the list, with a key and one leaf more."""
    (key,) = inner.keys
    value = next(leaf.argument for leaf in inner.those("leaf") if leaf.argument != key)
    for name, held in sorted(fields.items()):
        _leaves(ET.SubElement(parent, inner.argument), {key: name, value: held})
