"""Explanations as trees: each number with its formula, its parts and who says so."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Final

from rich.text import Text
from rich.tree import Tree

from netloom.units import FLOPS, LENGTH, MONEY, POWER, RATE, SIZE, TIME, Dimension, format_quantity

if TYPE_CHECKING:
    from netloom.provenance import Source, Why

__all__ = ["format_value", "why_tree"]

_BY_UNIT: Final[dict[str, Dimension]] = {
    dimension.base: dimension for dimension in (RATE, SIZE, TIME, LENGTH, POWER, MONEY, FLOPS)
}

_SHORT: Final = 40


def why_tree(why: Why) -> Tree:
    """Return *why* as a tree to print: value, formula and source of each number.

    A source is cited in full the first time it stands in the tree, and in short after that.
    """
    return _tree(why, set())


def _tree(why: Why, cited: set[Source]) -> Tree:
    tree = Tree(_label(why, cited))
    for part in why.parts:
        tree.add(_tree(part, cited))
    return tree


def format_value(value: float | str, unit: str) -> str:
    """Return a value as a person would write it, by its base unit: ``"92.2MUSD"``."""
    if isinstance(value, str):
        return value
    if unit in _BY_UNIT:
        return format_quantity(value, _BY_UNIT[unit], digits=4)
    number = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{number} {unit}".rstrip()


def _label(why: Why, cited: set[Source]) -> Text:
    label = Text.assemble((why.name, "bold"), " = ", format_value(why.value, why.unit))
    if why.how:
        label.append(f"  ({why.how})", style="dim")
    if why.source is not None:
        label.append(f"\n{_cite(why.source, again=why.source in cited)}", style="cyan")
        cited.add(why.source)
    return label


def _cite(source: Source, *, again: bool) -> str:
    if again:
        return f"[{source.confidence}] {shorten(source.citation, _SHORT, placeholder=' ...')}"
    note = f": {source.note}" if source.note else ""
    return f"[{source.confidence}] {source.citation}{note}"
