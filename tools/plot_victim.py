"""Run an innocent flow beside an incast on several networks, and draw docs/victim.svg.

The shipped examples victim-rocev2 and victim-infiniband, and what each of their means does alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import netloom as nl
from netloom.parts.load import load_catalog
from netloom.spec.example import example
from netloom.study.simulate.choices import Choices

if TYPE_CHECKING:
    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.simulation import Simulation

OUT = Path(__file__).parents[1] / "docs/victim.svg"
WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 760, 190, 70, 20, 96, 56
COLOURS = ("#c0504d", "#0b62a4", "#e08e0b", "#7a52a5", "#2e8b57")
END_MS = 14.0
Line = list[tuple[float, float]]


def one_lane(scenario: Scenario) -> Scenario:
    """Return *scenario* with all service levels on one virtual lane."""
    traffic = [piece.model_copy(update={"priority": 3}) for piece in scenario.traffic or ()]
    return scenario.model_copy(update={"packets": None, "traffic": tuple(traffic)})


def cases() -> dict[str, tuple[Scenario, Choices]]:
    """Return what is compared."""
    roce, infiniband = example("victim-rocev2"), example("victim-infiniband")
    return {
        "RoCEv2, PFC alone": (roce, Choices(congestion_control="none")),
        "RoCEv2, PFC and DCQCN": (roce, Choices()),
        "InfiniBand, one lane, adaptive": (one_lane(infiniband), Choices()),
        "InfiniBand, own lane, fixed routes": (infiniband, Choices(load_balancing="static")),
        "InfiniBand, own lane, adaptive": (infiniband, Choices()),
    }


def series(found: Simulation, end: str, column: str) -> Line:
    """Return over milliseconds the MB sent over the last link to *end*, or those waiting for it."""
    table = found.first.delivery.tables["samples"]
    links = {number: found.grid.link(number) for number in np.unique(table["link"]).tolist()}
    last = next(n for n, name in links.items() if name.endswith(f"->{end}") and "leaf" in name)
    mine = table["link"] == last
    when_ms, value = table["when_ps"][mine] * 1e-9, table[column][mine] * 1e-6
    return list(zip(when_ms.tolist(), value.tolist(), strict=True))


def panel(lines: dict[str, Line], top: float, most: float, title: str) -> list[str]:
    """Return the lines on axes whose upper edge is at *top*."""

    def at(when_ms: float, value: float) -> str:
        x = LEFT + min(when_ms, END_MS) / END_MS * (WIDTH - LEFT - RIGHT)
        return f"{x:.1f},{top + PANEL - min(value / most, 1.0) * PANEL:.1f}"

    body = [f'<text x="{LEFT}" y="{top - 8}">{title}</text>']
    for share in (0.0, 0.5, 1.0):
        y = top + PANEL - share * PANEL
        body.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#ddd"/>')
        body.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{share * most:g}</text>')
    for when_ms in range(0, int(END_MS) + 1, 2):
        x = at(when_ms, 0).split(",")[0]
        body.append(
            f'<text x="{x}" y="{top + PANEL + 17}" text-anchor="middle">{when_ms} ms</text>'
        )
    for (_, line), colour in zip(lines.items(), COLOURS, strict=True):
        points = " ".join(at(*point) for point in line)
        body.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
    return body


def drawn(arrived: dict[str, Line], queues: dict[str, Line], words: dict[str, str]) -> str:
    """Return the picture."""
    height = TOP + 2 * PANEL + GAP + 34
    legend = [
        f'<text x="{LEFT + 4 + 345 * (n // 3)}" y="{20 + 19 * (n % 3)}" fill="{colour}">{name}: '
        f"{words[name]}</text>"
        for n, (name, colour) in enumerate(zip(arrived, COLOURS, strict=True))
    ]
    body = [
        *legend,
        *panel(arrived, TOP, 8.0, "MB of the innocent flow that have arrived (it starts at 4 ms)"),
        *panel(queues, TOP + PANEL + GAP, 120.0, "queue towards the incast's target, MB"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def main() -> None:
    """Run, print and draw."""
    catalog = load_catalog()
    arrived, queues, words = {}, {}, {}
    for name, (scenario, choices) in cases().items():
        found = nl.simulate(scenario, catalog, choices=choices)
        incast, innocent = found.by_job()
        arrived[name] = series(found, "gpu:64", "sent_bytes")
        queues[name] = series(found, "gpu:0", "waiting_bytes")
        words[name] = f"{innocent['slowdown']['max']:.2f} times as long"
        counters = found.first.delivery.counters
        print(
            f"{name}: slowdown {innocent['slowdown']['max']:.3f}, incast "
            f"{incast['finish_s'] * 1e3:.2f} ms, {counters['pauses']} pauses, "
            f"{counters['credit_stalls']} credit stalls, queue up to "
            f"{max(value for _, value in queues[name]):.1f} MB"
        )
    OUT.write_text(drawn(arrived, queues, words))


if __name__ == "__main__":
    main()
