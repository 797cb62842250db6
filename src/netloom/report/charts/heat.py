"""Squares coloured by a percentage, as SVG without words: they scale to any width."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from netloom.report.charts.svg import tipped

if TYPE_CHECKING:
    from netloom.report.charts.model import Block, Cell, Heat

__all__ = ["LEVELS", "ROWS", "heat_html"]

ROWS: Final = 8  # of squares in a block
LEVELS: Final = 9  # of colour: templates/page.css
_CELL: Final = 10
_SIDE: Final = 9
_LARGEST_PX: Final = 16


def heat_html(heat: Heat, *, label: str) -> str:
    """Return the blocks, each with its name above it."""
    return "".join(_block(block, heat, label) for block in heat.blocks)


def _block(block: Block, heat: Heat, label: str) -> str:
    rows = min(ROWS, len(block.cells))
    columns = -(-len(block.cells) // rows)
    squares = "".join(
        _square(cell, turn // rows, turn % rows, heat) for turn, cell in enumerate(block.cells)
    )
    return (
        f'<p class="block">{escape(block.label)}</p>'
        f'<svg class="chart heat" viewBox="0 0 {columns * _CELL} {rows * _CELL}" '
        f'style="max-width:{columns * _LARGEST_PX}px" role="img" '
        f'aria-label="{escape(f"{block.label}: {label}")}">{squares}</svg>'
    )


def _square(cell: Cell, column: int, row: int, heat: Heat) -> str:
    tip = f"{cell.name}: {heat.unit.write(cell.percent) if cell.percent > 0 else 'nothing'}"
    path = f"M{column * _CELL} {row * _CELL}h{_SIDE}v{_SIDE}h-{_SIDE}z"
    return tipped(f'path class="{_level(cell.percent)}" d="{path}"', tip)


def _level(percent: float) -> str:
    if percent <= 0:
        return "q"
    return f"q{min(LEVELS - 1, int(percent / 100 * LEVELS))}"
