"""The files of parts that netloom ships, read a table at a time.

A command needs a handful of some 270 parts, and as many sources; parsing all of their files is a
fifteenth of the time that a small one takes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SOURCES", "ShippedTables", "shipped_tables"]

FOLDER: Final = Path(__file__).parent / "data"
SOURCES: Final = "sources"  # the file whose tables are not of a kind of part
_HEAD: Final = r'^\[{kind}(?:"([^"\n]+)"|([\w-]+))[.\]]'


class ShippedTables(Mapping[str, dict[str, Any]]):
    """The tables of one shipped file by name, each parsed when it is asked for the first time.

    Names are found by the heads of tables, which begin a line. That tables read one by one are
    those of the whole file is tested.
    """

    __slots__ = ("_kind", "_parsed", "_texts")

    def __init__(self, stem: str, text: str) -> None:
        """Find the tables in *text*, those of the kind *stem*."""
        self._kind = "" if stem == SOURCES else stem
        self._parsed: dict[str, dict[str, Any]] = {}
        head = re.compile(_HEAD.format(kind=rf"{self._kind}\." if self._kind else ""), re.MULTILINE)
        self._texts: dict[str, str] = {}
        found = [(match[1] or match[2], match.start()) for match in head.finditer(text)]
        for (name, begin), (_, end) in pairwise([*found, ("", len(text))]):
            self._texts[name] = self._texts.get(name, "") + text[begin:end]

    def __getitem__(self, name: str) -> dict[str, Any]:
        if name not in self._parsed:
            tables = tomllib.loads(self._texts[name])
            self._parsed[name] = (tables[self._kind] if self._kind else tables)[name]
        return self._parsed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __len__(self) -> int:
        return len(self._texts)


@cache
def shipped_tables(stem: str) -> ShippedTables:
    """Return the tables of ``data/<stem>.toml``: a kind of part, or SOURCES."""
    return ShippedTables(stem, (FOLDER / f"{stem}.toml").read_text("utf-8"))
