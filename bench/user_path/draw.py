"""Draw how commands grow: ``python -m bench.user_path growth | python -m bench.user_path.draw``."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from pathlib import Path

OUT = Path(__file__).parents[2] / "docs/speed.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 380, 60, 300, 30, 45
COLOURS = ("#0b62a4", "#c0504d", "#2e7d32", "#7b5ea7", "#e08a00")
HOSTS, SECONDS = (100, 10_000), (0.5, 100)


def at(hosts: float, cpu_s: float) -> tuple[float, float]:
    """Return where a point stands on logarithmic axes."""
    across, up = (
        math.log(value / low) / math.log(high / low)
        for value, (low, high) in ((hosts, HOSTS), (cpu_s, SECONDS))
    )
    x = LEFT + across * (WIDTH - LEFT - RIGHT)
    return x, HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)


def drawn(series: dict[str, list[tuple[int, float]]]) -> str:
    """Return processor time over hosts, a line each."""
    body = [f'<text x="5" y="{TOP - 12}">processor time, s (log)</text>']
    for hosts in (128, 1024, 8192):
        x = at(hosts, 1)[0]
        body.append(f'<text x="{x:.0f}" y="{HEIGHT - 20}" text-anchor="middle">{hosts:,}</text>')
    for seconds in (1, 10, 100):
        (x1, y), (x2, _) = at(HOSTS[0], seconds), at(HOSTS[1], seconds)
        body.append(f'<line x1="{x1}" y1="{y:.1f}" x2="{x2}" y2="{y:.1f}" stroke="#ddd"/>')
        body.append(f'<text x="{x1 - 6}" y="{y + 4:.1f}" text-anchor="end">{seconds}</text>')
    for (name, points), colour, place in zip(series.items(), COLOURS, range(99), strict=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points))
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = WIDTH - RIGHT + 10, TOP + 20 * (place + 1)
        body.append(f'<text x="{x}" y="{y}" fill="{colour}">{name}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def main() -> None:
    """Read rows of ``growth`` and draw them."""
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for line in sys.stdin:
        cells = line.strip().split(";")
        if len(cells) == 4 and cells[1].isdigit():
            series[cells[0]].append((int(cells[1]), float(cells[2])))
    OUT.write_text(drawn(series))


if __name__ == "__main__":
    main()
