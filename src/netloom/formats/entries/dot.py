"""Graphviz with ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.inventory.dot import dot_text
from netloom.formats.register import Format

if TYPE_CHECKING:
    from netloom.ops.site import Site

__all__ = ["ENTRY"]


def _files(site: Site) -> dict[str, str]:
    return {"fabric.dot": dot_text(site)}


ENTRY: Final = Format(
    name="dot",
    title="Graphviz",
    family="inventory",
    holds="inventory",
    suffixes=(),
    sniff=lambda _: False,
    parse=None,
    render=_files,
)
