"""Explanations as trees: each number with its formula, its parts and who says so."""

from __future__ import annotations

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


def why_tree(why: Why) -> Tree:
    """Return *why* as a tree to print: value, formula and source of each number."""
    tree = Tree(_label(why))
    for part in why.parts:
        tree.add(why_tree(part))
    return tree


def format_value(value: float | str, unit: str) -> str:
    """Return a value as a person would write it, by its base unit: ``"92.2MUSD"``."""
    if isinstance(value, str):
        return value
    if unit in _BY_UNIT:
        return format_quantity(value, _BY_UNIT[unit], digits=4)
    number = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{number} {unit}".rstrip()


def _label(why: Why) -> Text:
    label = Text.assemble((why.name, "bold"), " = ", format_value(why.value, why.unit))
    if why.how:
        label.append(f"  ({why.how})", style="dim")
    if why.source is not None:
        label.append(f"\n{_cite(why.source)}", style="cyan")
    return label


def _cite(source: Source) -> str:
    note = f": {source.note}" if source.note else ""
    return f"[{source.confidence}] {source.citation}{note}"
