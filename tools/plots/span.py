"""Draw docs/assets/span_azure.svg and span_sdr.svg: two published experiments, simulated.

The first is half a second of two DCQCN flows that share a port, one 2 us and one 1.77 ms away (Bai
et al., NSDI 2023). The second is what losses do to a message of 128 MiB over 25 ms (SDR-RDMA,
arXiv:2505.05366), by formula and packet by packet.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import numpy as np

from netloom.engines.packet.presets import RECOVERIES
from netloom.engines.packet.settings import Transport
from netloom.fabric.span.recovery import chunk_loss, lossless_s, selective_repeat_times
from netloom.validation.span.distance import (
    LOSSES,
    azure_flows,
    chunked_host,
    message_s,
    slowdown,
)

OUT: Final = Path(__file__).parents[2] / "docs/assets"
WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 760, 190, 70, 20, 60, 60
COLOURS: Final = ("#c0504d", "#0b62a4", "#2e8b57", "#e08e0b", "#7a52a5")
CHUNKS, CHUNK_S, RTT_S = 2_048, 65_536 * 8 / 400e9, 25e-3
ONE_WAY_PS: Final = 12_500_000_000
SEEDS: Final = 60
Points = list[tuple[float, float]]


def frame(height: float, body: list[str]) -> str:
    """Return a picture of its parts."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>'
        + "\n".join(body)
        + "</svg>\n"
    )


def label(x: float, y: float, text: str, *, colour: str = "#222", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{text}</text>'


def rule(y: float, text: str, *, colour: str = "#ddd") -> list[str]:
    """Return a horizontal line with its value."""
    line = f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{colour}"/>'
    return [line, label(LEFT - 8, y + 4, text, anchor="end")]


def path(points: Points, colour: str) -> str:
    """Return a line through *points*, in pixels."""
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="1.4"/>'


def azure() -> str:
    """Return both rates and the queue over time."""
    table = azure_flows(1_024, 1).tables["samples"]
    when_ms = {link: table["when_ps"][table["link"] == link] * 1e-9 for link in (0, 2, 5)}
    body = [label(LEFT, 20, "Two DCQCN flows into 40 Gb/s; Kmin 1 MB, Kmax 2 MB, Pmax 5 %")]

    def x_of(ms: float) -> float:
        return LEFT + ms / 500 * (WIDTH - LEFT - RIGHT)

    body.append(label(LEFT, TOP - 8, "Gb/s, means of 5 ms (published: 17 each)"))
    for gbps in (0, 10, 17, 20, 30):
        y = TOP + PANEL * (1 - gbps / 30)
        body += rule(y, str(gbps), colour="#999" if gbps == 17 else "#ddd")
    for link, name, colour, at in (
        (0, "1.77 ms away", COLOURS[0], 1),
        (2, "2 us away", COLOURS[1], 2),
    ):
        sent = table["sent_bytes"][table["link"] == link].astype(np.int64)[::100]
        times = when_ms[link][::100]
        rates = np.diff(sent) * 8 / np.diff(times) / 1e6
        points = [
            (x_of(float(ms)), TOP + PANEL * (1 - min(float(rate), 30.0) / 30))
            for ms, rate in zip(times[1:], rates, strict=True)
        ]
        body += [path(points, colour), label(LEFT + 300 + 140 * at, TOP - 8, name, colour=colour)]
    top = TOP + PANEL + GAP
    body.append(label(LEFT, top - 8, "queue, MB (published: at most 1.36 in steady state)"))
    for value in (0.0, 1.0, 1.36, 2.0):
        y = top + PANEL * (1 - value / 2)
        body += rule(y, f"{value:g}", colour="#999" if value == 1.36 else "#ddd")
    waits = table["waiting_bytes"][table["link"] == 5] * 1e-6
    points = [
        (x_of(float(ms)), top + PANEL * (1 - min(float(mb), 2.0) / 2))
        for ms, mb in zip(when_ms[5], waits, strict=True)
    ]
    body.append(path(points[::4], COLOURS[2]))
    for ms in range(0, 501, 100):
        body.append(label(x_of(ms), top + PANEL + 18, f"{ms} ms", anchor="middle"))
    return frame(top + PANEL + 30, body)


def sdr() -> str:
    """Return the slowdown over the loss of packets."""
    size = CHUNKS * 65_024
    repeat = chunked_host("uet", timeout_rtts=3.0, ask_rtts=0.0, measures_timeout=False)
    base_s = message_s(repeat, ONE_WAY_PS, size, 0.0, 1)
    plain_s = message_s(Transport(**RECOVERIES["uet"]), ONE_WAY_PS, 128 << 20, 0.0, 1)
    formula = []
    fine = [10 ** (-6 + 4 * step / 40) for step in range(41)]
    for loss in fine:
        times = selective_repeat_times(CHUNKS, CHUNK_S, RTT_S, chunk_loss(loss, 16))
        formula.append((loss, times.mean_s / lossless_s(CHUNKS, CHUNK_S, RTT_S)))
    simulated = [
        (loss, slowdown(repeat, size, chunk_loss(loss, 16), 4 * SEEDS, base_s)) for loss in LOSSES
    ]
    lines: dict[str, Points] = {"selective repeat, 64 KiB chunks, formula": formula}
    dots: dict[str, Points] = {
        "the same in packets": simulated,
        "derived from the paper's formula": list(LOSSES.items()),
    }
    for name, what in (
        ("ec-32-8", "EC(32,8)"),
        ("ec-8-2", "EC(8,2), Uno"),
        ("xor-32-8", "XOR(32,8)"),
    ):
        host = Transport(**RECOVERIES[name])
        lines[f"{what} of packets, simulated"] = [
            (loss, slowdown(host, 128 << 20, loss, 3, plain_s)) for loss in (*LOSSES, 3e-2, 5e-2)
        ]
    return _log_picture(lines, dots)


def _log_picture(lines: dict[str, Points], dots: dict[str, Points]) -> str:
    height, top = 300, 130

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = LEFT + (math.log10(point[0]) + 6) / 5 * (WIDTH - LEFT - RIGHT)
        return x, top + height * (1 - math.log10(max(point[1], 1.0)) / math.log10(20))

    body = [label(LEFT, 20, "128 MiB over 400 Gb/s and 25 ms: mean time over that without losses")]
    for value in (1, 2, 5, 10, 20):
        body += rule(place((1e-6, value))[1], f"{value}x")
    for power in range(-6, 0):
        x = place((10.0**power, 1))[0]
        body.append(label(x, top + height + 18, f"1e{power}", anchor="middle"))
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number]
        at = LEFT + 350 * (number // 2), 42 + 20 * (number % 2)
        body += [path([place(one) for one in points], colour), label(*at, name, colour=colour)]
    for number, (name, points) in enumerate(dots.items()):
        colour = ("#c0504d", "#222")[number]
        body += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 - 2 * number}" fill="{colour}"/>'
            for x, y in map(place, points)
        ]
        at = LEFT + 350 * number, 86
        body += [
            f'<circle cx="{at[0] + 5}" cy="{at[1] - 4}" r="{5 - 2 * number}" fill="{colour}"/>'
        ]
        body.append(label(at[0] + 16, at[1], name, colour=colour))
    return frame(top + height + 30, body)


if __name__ == "__main__":
    (OUT / "span_azure.svg").write_text(azure())
    (OUT / "span_sdr.svg").write_text(sdr())
