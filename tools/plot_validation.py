"""Draw predicted over measured for every row of a suite: docs/assets/validation_SUITE.svg.

``python tools/plot_validation.py`` runs ``netloom validate SUITE --rows --json`` for each suite.
Collectives are drawn by size band, too, and steps once more in the intervals that were taken
without their source: docs/assets/validation_bands.svg and validation_intervals.svg. INET's
gate-scheduling showcase is validation_gates.svg.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from netloom.validation.span.picture import gates_picture
from netloom.validation.span.timed import dumbbell

ROOT: Final = Path(__file__).parents[1]
LEFT, TOP, ACROSS, UP = 64, 20, 560, 300
WIDTH, HEIGHT = LEFT + ACROSS + 20, TOP + UP + 52
SUITES: Final = {
    "steps": "step, s",
    "memory": "memory, bytes",
    "layers": "pass, s",
    "collectives": "bus bandwidth, GB/s",
}
# Upper ends of the bands that collectives are judged by (validation/collectives/cells.py).
BANDS: Final = {"<64 KiB": 16, "to 1 MiB": 20, "to 16 MiB": 24, "to 256 MiB": 28, "to 1 GiB": 30}
RATIOS: Final = (0.5, 0.7, 0.9, 1.0, 1.1, 1.4, 2.0)  # rows beyond are drawn at the edge
INSIDE, OUTSIDE, RANGE, MISSED = "#1f6fb2", "#8a8a8a", "#f0c36d", "#b2361f"


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


def rows_of(suite: str, *, flag: str = "counted") -> list[dict[str, Any]]:
    """Return the rows of *suite* that have a prediction and count, as *flag* says."""
    netloom = Path(sys.executable).with_name("netloom")
    command = [str(netloom), "validate", suite, "--rows", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S603
    found = json.loads(done.stdout)
    rows = found.get("result", found)["per_row"]
    return [row for row in rows if row["predicted"] and row["measured"] and row.get(flag, True)]


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
    return _svg(body)


def _svg(body: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def drawn_bands(rows: list[dict[str, Any]]) -> str:
    """Return collectives as SVG: ratios over the size, one column a band."""
    sized = [row for row in rows if row.get("size_bytes")]
    columns = {True: set[tuple[int, int]](), False: set[tuple[int, int]]()}
    for row in sized:
        place = (_in_band(row["size_bytes"]), up(row["predicted"] / row["measured"]))
        columns[bool(row["inside"])].add(place)
    body = [*_levels("predicted over measured"), *_columns(sized)]
    body += [_path(columns[False], OUTSIDE), _path(columns[True], INSIDE)]
    inside = sum(bool(row["inside"]) for row in sized)
    body += [
        _key(0, INSIDE, f"inside the checked range: {inside:,} rows"),
        _key(1, OUTSIDE, f"outside: {len(sized) - inside:,} rows"),
    ]
    return _svg(body)


def _in_band(size_bytes: float) -> int:
    """Return where a size lies: bands are columns of one width, sizes logarithmic within."""
    edges = [0, *BANDS.values(), 36]
    power = min(max(math.log2(size_bytes), 0.0), 35.99)
    band = next(index for index, edge in enumerate(edges[1:]) if power < edge)
    share = (power - edges[band]) / (edges[band + 1] - edges[band])
    return round(LEFT + (band + share) * ACROSS / (len(edges) - 1))


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    """Return the names of the bands, their edges and the median error of their rows."""
    names = [*BANDS, "above"]
    each = ACROSS / len(names)
    found = []
    for index, name in enumerate(names):
        left, middle = round(LEFT + index * each), round(LEFT + (index + 0.5) * each)
        here = [
            abs(row["predicted"] / row["measured"] - 1)
            for row in rows
            if left <= _in_band(row["size_bytes"]) < LEFT + (index + 1) * each
        ]
        off = f"{100 * median(here):.0f} % off" if here else "-"
        found += [
            f'<line x1="{left}" y1="{TOP}" x2="{left}" y2="{TOP + UP}" stroke="#ddd"/>',
            f'<text x="{middle}" y="{TOP + UP + 18}" text-anchor="middle">{name}</text>',
            f'<text x="{middle}" y="{TOP + UP + 36}" text-anchor="middle" fill="#555">{off}</text>',
        ]
    return [one.replace("<64", "&lt;64") for one in found]


def drawn_intervals(rows: list[dict[str, Any]]) -> str:
    """Return steps as SVG, the narrowest interval first: the range and the measured step in it."""
    known = [row for row in rows if row.get("interval") and not row["fitted"]]
    known.sort(key=lambda row: row["interval"]["high"] / row["interval"]["low"])
    ranges: list[str] = []
    dots = {True: set[tuple[int, int]](), False: set[tuple[int, int]]()}
    for index, row in enumerate(known):
        x = round(LEFT + index * ACROSS / len(known))
        low, high = (up(row["interval"][end] / row["predicted"]) for end in ("low", "high"))
        ranges.append(f"M{x} {low}V{high}")
        dots[row["held"]].add((x, up(row["measured"] / row["predicted"])))
    held = sum(row["held"] for row in known)
    body = [
        *_levels("measured over predicted"),
        f'<path d="{"".join(dict.fromkeys(ranges))}" stroke="{RANGE}" stroke-opacity="0.6"/>',
        _path(dots[True], INSIDE, size=3),
        _path(dots[False], MISSED, size=3),
        _key(0, INSIDE, f"held: {held:,} of {len(known):,} rows, {held / len(known):.1%}"),
        _key(1, MISSED, f"not held: {len(known) - held:,}"),
        _below("measured steps, the narrowest interval first"),
    ]
    return _svg(body)


def _dots(axes: Axes, rows: list[dict[str, Any]], colour: str) -> str:
    """Return one path with a dot for each row; equal places are drawn once."""
    places = {
        (axes.across(row["measured"]), up(row["predicted"] / row["measured"])) for row in rows
    }
    return _path(places, colour)


def _path(places: set[tuple[int, int]], colour: str, *, size: int = 5) -> str:
    path = "".join(f"M{x} {y}h0" for x, y in sorted(places))
    return (
        f'<path d="{path}" stroke="{colour}" stroke-width="{size}" stroke-linecap="round" '
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
    return [*found, _below(f"measured {label}"), *_levels("predicted over measured")]


def _below(text: str) -> str:
    x, y = LEFT + ACROSS // 2, HEIGHT - 10
    return f'<text x="{x}" y="{y}" text-anchor="middle">{text}</text>'


def _levels(title: str) -> list[str]:
    """Return the lines of equal ratio, and what it is of."""
    found = []
    for ratio in RATIOS:
        y = up(ratio)
        stroke = "#333" if ratio == 1 else "#ccc"
        found += [
            f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + ACROSS}" y2="{y}" stroke="{stroke}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{ratio:g}</text>',
        ]
    turn = f'transform="translate(16 {TOP + UP // 2}) rotate(-90)"'
    found.append(f'<text {turn} text-anchor="middle">{title}</text>')
    return found


def path_of(suite: str) -> Path:
    """Return the file that shows *suite*, or one of its parts."""
    return ROOT / "docs" / "assets" / f"validation_{suite}.svg"


def main() -> None:
    """Draw every suite."""
    found = {suite: rows_of(suite) for suite in SUITES}
    pictures = {suite: drawn(found[suite], label) for suite, label in SUITES.items()}
    pictures["bands"] = drawn_bands(rows_of("collectives", flag="judged"))
    pictures["intervals"] = drawn_intervals(found["steps"])
    pictures["gates"] = gates_picture(dumbbell())
    for name, picture in pictures.items():
        path_of(name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
