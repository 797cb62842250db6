"""Measure how the flow engine's cost grows, and draw docs/assets/flow_scaling.svg.

Processor time, so that a busy machine does not show; memory of the process so far.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.fat_tree import fat_tree
from bench.flow import all_pairs, peak_gib
from netloom.engines.flow import FlowSettings
from netloom.engines.flow.phases import at_once
from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import RoutedTransfers, deliver, lay

if TYPE_CHECKING:
    from collections.abc import Callable

OUT = Path(__file__).parents[1] / "docs/assets/flow_scaling.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 20, 30, 50
Point = tuple[float, float]


def permutations(radix: int) -> list[Point]:
    """Return one point: every host to 16 others chosen by chance, all at once, unequal sizes."""
    rng = np.random.default_rng(radix)
    hosts = radix**3 // 4
    source = np.repeat(np.arange(hosts), 16)
    target = (source + rng.integers(1, hosts, len(source))) % hosts
    size = 10**6 * 2 ** rng.integers(0, 4, len(source))
    laid = lay(ground(fat_tree(radix)), at_once(source, target, size_bytes=size), FlowSettings())
    return [measured(laid, f"16 to each of {hosts:,} hosts")]


def all_to_all(radix: int) -> list[Point]:
    """Return one point: every host to every other, all at once."""
    hosts = radix**3 // 4
    laid = lay(ground(fat_tree(radix)), all_pairs(hosts, 10**6), FlowSettings())
    return [measured(laid, f"all-to-all among {hosts:,} hosts")]


def measured(laid: RoutedTransfers, what: str) -> Point:
    """Run it and return links on all ways together, and seconds of processor time."""
    began = time.process_time()
    found = deliver(laid)
    took_s = time.process_time() - began
    crossed = len(laid.ways.links)
    print(
        f"{what}: {len(laid.ways):,} flows x {crossed / len(laid.ways):.2f} links, "
        f"{found.counters['events']:,} events, {found.counters['visits']:,} visits, "
        f"{took_s:.3f} s, {took_s / crossed * 1e9:.0f} ns a link, peak {peak_gib():.2f} GiB"
    )
    return float(crossed), took_s


def drawn(series: dict[str, list[Point]]) -> str:
    """Return the points on logarithmic axes, with a line of slope 1 through the first."""
    points = [point for line in series.values() for point in line]
    low_x, high_x = (f(math.log10(x) for x, _ in points) for f in (min, max))
    low_y, high_y = (f(math.log10(y) for _, y in points) for f in (min, max))
    low_x, high_x = math.floor(low_x), math.ceil(high_x)
    low_y, high_y = math.floor(low_y), math.ceil(high_y)

    def at(x: float, y: float) -> Point:
        across = (math.log10(x) - low_x) / (high_x - low_x)
        up = (math.log10(y) - low_y) / (high_y - low_y)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (
            HEIGHT - TOP - BOTTOM
        )

    body = [*_grid(at, (low_x, high_x), (low_y, high_y))]
    first_x, first_y = next(iter(series.values()))[0]
    end_x = 10.0 ** min(high_x, high_y - math.log10(first_y) + math.log10(first_x))
    (x1, y1), (x2, y2) = at(first_x, first_y), at(end_x, first_y * end_x / first_x)
    body.append(
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#888" '
        'stroke-dasharray="5 4"/>'
    )
    for (name, line), colour in zip(series.items(), ("#0b62a4", "#c0504d"), strict=True):
        body += _line([at(x, y) for x, y in line], colour)
        index = list(series).index(name)
        body.append(
            f'<text x="{LEFT + 12}" y="{TOP + 16 + 18 * index}" fill="{colour}">{name}</text>'
        )
    body.append(
        f'<text x="{LEFT + 12}" y="{TOP + 16 + 18 * len(series)}" fill="#666">dashed: linear</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _line(points: list[Point], colour: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}"/>', *dots]


def _grid(
    at: Callable[[float, float], Point], across: tuple[int, int], up: tuple[int, int]
) -> list[str]:
    found = []
    for power in range(across[0], across[1] + 1):
        x, bottom = at(10.0**power, 10.0 ** up[0])
        top = at(10.0**power, 10.0 ** up[1])[1]
        found.append(f'<line x1="{x}" y1="{bottom}" x2="{x}" y2="{top}" stroke="#ddd"/>')
        found.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">1e{power}</text>')
    for power in range(up[0], up[1] + 1):
        left, y = at(10.0 ** across[0], 10.0**power)
        right = at(10.0 ** across[1], 10.0**power)[0]
        found.append(f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="#ddd"/>')
        found.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">1e{power}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    found.append(
        f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">flows x links of a way</text>'
    )
    found.append(f'<text x="{LEFT - 60}" y="{TOP - 12}">processor time, s</text>')
    return found


def main() -> None:
    """Measure and draw."""
    OUT.write_text(
        drawn(
            {
                "all-to-all, hashed, equal sizes": [
                    p for k in (4, 6, 8, 10, 12, 14, 16) for p in all_to_all(k)
                ],
                "16 flows a host, hashed, four sizes": [
                    p for k in (4, 6, 8, 12, 16) for p in permutations(k)
                ],
            }
        )
    )


if __name__ == "__main__":
    main()
