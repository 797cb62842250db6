"""The generated tables, read."""

from __future__ import annotations

import csv
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["rows_of"]


def rows_of(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the generated table *name*."""
    text = resources.files("netloom.validated").joinpath("data", name).read_text("utf-8")
    yield from csv.DictReader(text.splitlines())
