"""Pieces of SVG: numbers, text and marks, escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from netloom.report.charts.model import HUES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.report.charts.model import Mark
    from netloom.report.charts.scale import Scale

__all__ = [
    "FONT_PX",
    "figure_svg",
    "grid",
    "line",
    "mark_svg",
    "number",
    "text",
    "texture_of",
    "tipped",
]

FONT_PX: Final = 12
_R: Final = 3.6  # half the size of a mark


def number(value: float) -> str:
    """Return a coordinate to a tenth of a pixel."""
    return f"{value + 0.0:.1f}".removesuffix(".0")


def text(x: float, y: float, words: str, *, style: str = "t", anchor: str = "start") -> str:
    """Return *words* at a place."""
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{style}" x="{number(x)}" y="{number(y)}"{end}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Return a straight line."""
    across = f"H{number(x2)}" if y1 == y2 else f"V{number(y2)}"
    return f'<path class="{style}" d="M{number(x1)} {number(y1)}{across}"/>'


def grid(scale: Scale, most: int, *, across: tuple[float, float], vertical: bool) -> list[str]:
    """Return the lines of an axis' ticks over the plot, and their labels.

    Args:
        scale: Of the axis.
        most: Ticks.
        across: The ends of the lines.
        vertical: Whether the lines stand, as those of an axis below the plot do.
    """
    found = []
    for value, label in scale.ticks(most):
        at = scale.at(value)
        style = "g z" if value == 0 else "g"
        if vertical:
            found.append(line(at, across[0], at, across[1], style))
            found.append(text(at, across[1] + 16, label, anchor="middle"))
        else:
            found.append(line(across[0], at, across[1], at, style))
            found.append(text(across[0] - 7, at + 4, label, anchor="end"))
    return found


def mark_svg(mark: Mark, x: float, y: float, *, hollow: bool = False, tip: str = "") -> str:
    """Return a mark centred at a place; *tip* is told when it is pointed at."""
    style = "o" if hollow else "m"
    if mark == "circle":
        shape = f'circle class="{style}" cx="{number(x)}" cy="{number(y)}" r="{_R}"'
    else:
        shape = f'path class="{style}" d="{_outline(mark, x, y)}"'
    return tipped(shape, tip)


def _outline(mark: Mark, x: float, y: float) -> str:
    r, half = _R, _R * 0.9
    left, right, top, bottom = (number(one) for one in (x - r, x + r, y - r, y + r))
    if mark == "square":
        side = number(2 * half)
        return f"M{number(x - half)} {number(y - half)}h{side}v{side}h-{side}z"
    if mark == "diamond":
        tall = 1.3 * r
        ends = (number(one) for one in (x - tall, x + tall, y - tall, y + tall))
        west, east, north, south = ends
        return f"M{number(x)} {north}L{east} {number(y)} {number(x)} {south} {west} {number(y)}z"
    if mark == "up":
        return f"M{number(x)} {top}L{right} {bottom}H{left}z"
    if mark == "down":
        return f"M{left} {top}H{right}L{number(x)} {bottom}z"
    if mark == "cross":
        return f"M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}"
    return f"M{left} {number(y)}H{right}M{number(x)} {top}V{bottom}"


def tipped(shape: str, tip: str) -> str:
    """Return the element *shape* with what is told when it is pointed at."""
    if not tip:
        return f"<{shape}/>"
    name = shape.partition(" ")[0]
    return f"<{shape}><title>{escape(tip)}</title></{name}>"


def figure_svg(parts: Iterable[str], *, width: float, height: float, style: str, label: str) -> str:
    """Return a picture with its text alternative."""
    return (
        f'<svg class="chart {style}" viewBox="0 0 {number(width)} {number(height)}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def texture_of(hue: int) -> str:
    """Return the pattern over a colour: neighbours look different without colour too."""
    if hue >= HUES:  # the colours begin again
        return "dots"
    return "lines" if hue % 2 else ""
