"""Draw predicted over measured for every row of a suite: docs/models/validation_SUITE.svg.

``python tools/plot_validation.py`` runs ``netloom validate SUITE --rows --json`` for each suite.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
LEFT, TOP, ACROSS, UP = 64, 20, 560, 300
WIDTH, HEIGHT = LEFT + ACROSS + 20, TOP + UP + 52
SUITES: Final = {
    "steps": "step, s",
    "memory": "memory, bytes",
    "layers": "pass, s",
    "collectives": "bus bandwidth, GB/s",
}
RATIOS: Final = (0.5, 0.7, 0.9, 1.0, 1.1, 1.4, 2.0)  # rows beyond are drawn at the edge
INSIDE, OUTSIDE = "#1f6fb2", "#8a8a8a"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Measured values from 10^low to 10^high across, ratios upwards; both logarithmic."""

    low: int
    high: int

    def across(self, measured: float) -> int:
        """Return where a measured value lies."""
        share = (math.log10(measured) - self.low) / (self.high - self.low)
        return round(LEFT + share * ACROSS)


def up(ratio: float) -> int:
    """Return where a ratio of predicted over measured lies."""
    lowest, highest = RATIOS[0], RATIOS[-1]
    held = min(max(ratio, lowest), highest)
    share = math.log(held / lowest) / math.log(highest / lowest)
    return round(TOP + (1 - share) * UP)


def rows_of(suite: str) -> list[dict[str, Any]]:
    """Return the rows of *suite* that have a prediction and count."""
    netloom = Path(sys.executable).with_name("netloom")
    command = [str(netloom), "validate", suite, "--rows", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S603
    found = json.loads(done.stdout)
    rows = found.get("result", found)["per_row"]
    return [
        row for row in rows if row["predicted"] and row["measured"] and row.get("counted", True)
    ]


def drawn(rows: list[dict[str, Any]], label: str) -> str:
    """Return the plot as SVG: rows inside the checked range on top of those outside."""
    measured = [row["measured"] for row in rows]
    axes = Axes(
        low=math.floor(math.log10(min(measured))), high=math.ceil(math.log10(max(measured)))
    )
    inside = [row for row in rows if row["inside"]]
    outside = [row for row in rows if not row["inside"]]
    body = [
        *_grid(axes, label),
        _dots(axes, outside, OUTSIDE),
        _dots(axes, inside, INSIDE),
        _key(0, INSIDE, f"inside the checked range: {len(inside):,} rows"),
        _key(1, OUTSIDE, f"outside: {len(outside):,} rows"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _dots(axes: Axes, rows: list[dict[str, Any]], colour: str) -> str:
    """Return one path with a dot for each row; equal places are drawn once."""
    places = {
        (axes.across(row["measured"]), up(row["predicted"] / row["measured"])) for row in rows
    }
    path = "".join(f"M{x} {y}h0" for x, y in sorted(places))
    return (
        f'<path d="{path}" stroke="{colour}" stroke-width="5" stroke-linecap="round" '
        'stroke-opacity="0.5" fill="none"/>'
    )


def _key(row: int, colour: str, text: str) -> str:
    x, y = LEFT + 12, TOP + UP - 28 + 18 * row
    return f'<text x="{x}" y="{y}" fill="{colour}">{text}</text>'


def _grid(axes: Axes, label: str) -> list[str]:
    found = []
    for power in range(axes.low, axes.high + 1):
        x = axes.across(10.0**power)
        found += [
            f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{TOP + UP}" stroke="#ddd"/>',
            f'<text x="{x}" y="{TOP + UP + 18}" text-anchor="middle">{10.0**power:g}</text>',
        ]
    for ratio in RATIOS:
        y = up(ratio)
        stroke = "#333" if ratio == 1 else "#ccc"
        found += [
            f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + ACROSS}" y2="{y}" stroke="{stroke}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{ratio:g}</text>',
        ]
    middle = LEFT + ACROSS // 2
    found.append(
        f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">measured {label}</text>'
    )
    turn = f'transform="translate(16 {TOP + UP // 2}) rotate(-90)"'
    found.append(f'<text {turn} text-anchor="middle">predicted over measured</text>')
    return found


def path_of(suite: str) -> Path:
    """Return the file that shows *suite*."""
    return ROOT / "docs" / "models" / f"validation_{suite}.svg"


def main() -> None:
    """Draw every suite."""
    for suite, label in SUITES.items():
        path_of(suite).write_text(drawn(rows_of(suite), label), encoding="utf-8")


if __name__ == "__main__":
    main()
