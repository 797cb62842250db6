"""Points in a terminal: marks on a grid of characters between two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Mark", "scatter"]

WIDTH: Final = 56
HEIGHT: Final = 12


class Mark(NamedTuple):
    """Where a mark goes."""

    x: float
    y: float
    mark: str


def scatter(
    points: Sequence[Mark],
    *,
    show_x: Callable[[float], str],
    show_y: Callable[[float], str],
    width: int = WIDTH,
    height: int = HEIGHT,
) -> list[str]:
    """Return the lines of a plot; of points that fall on one place the last is seen.

    Args:
        points: At least one.
        show_x: How a number is written under the axis.
        show_y: And beside the other.
        width: Characters across.
        height: Lines up.
    """
    left, right = _ends([point.x for point in points])
    bottom, top = _ends([point.y for point in points])
    grid = [[" "] * width for _ in range(height)]
    for point in points:
        column = round((width - 1) * (point.x - left) / (right - left))
        row = round((height - 1) * (top - point.y) / (top - bottom))
        grid[row][column] = point.mark
    labels = {0: show_y(top), height // 2: show_y((top + bottom) / 2), height - 1: show_y(bottom)}
    margin = max(map(len, labels.values()))
    lines = [
        f"{labels.get(row, ''):>{margin}} |{''.join(cells).rstrip()}"
        for row, cells in enumerate(grid)
    ]
    axis = " " * margin + " +" + "-" * width
    first, middle, last = show_x(left), show_x((left + right) / 2), show_x(right)
    gap = width - len(first) - len(last)
    return [*lines, axis, " " * (margin + 2) + first + f"{middle:^{gap}}" + last]


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis; one value stands in its middle."""
    low, high = min(values), max(values)
    if low < high:
        return low, high
    return (low * 0.9, low * 1.1) if low else (-1.0, 1.0)
