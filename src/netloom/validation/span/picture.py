"""INET's gate-scheduling showcase as a picture: when each frame is on which link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.fabric.span.schedule import lags_ps
from netloom.validation.span.timed import dumbbell_delays, dumbbell_links

if TYPE_CHECKING:
    from netloom.fabric.span.schedule import GateSchedule

__all__ = ["gates_picture"]

WIDTH, ROW, LEFT, TOP = 760, 26, 130, 34
SHOWN_PS: Final = 600_000_000
COLOURS: Final = ("#2a6fb0", "#7fb3de", "#b0562a", "#e0a57f")
LINK_NAMES: Final = ("source 1", "source 2", "switch 1", "switch 2, sink 1", "switch 2, sink 2")


def gates_picture(schedule: GateSchedule) -> str:
    """Return the picture: a row a link, a box a frame, from the begin of a cycle."""
    scale = (WIDTH - LEFT - 20) / SHOWN_PS
    height = TOP + ROW * len(LINK_NAMES) + 64
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-size="12">',
        "<style>text { font-family: sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18">Frames on each link, from the begin of a cycle of 1 ms</text>',
    ]
    for row, name in enumerate(LINK_NAMES):
        y = TOP + row * ROW
        parts.append(f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">{name}</text>')
        parts.append(
            f'<rect x="{LEFT}" y="{y + 3}" width="{SHOWN_PS * scale:.1f}" height="{ROW - 6}" '
            'fill="#f0f0f0"/>'
        )
    links = dumbbell_links()
    for colour, slot in zip(COLOURS, schedule.slots, strict=True):
        for at, lag_ps in zip(slot.stream.route, lags_ps(slot.stream, links), strict=False):
            x = LEFT + (slot.offset_ps + lag_ps) * scale
            width = links[at].wire_ps(slot.stream.size_bytes) * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{TOP + at * ROW + 3}" width="{width:.1f}" '
                f'height="{ROW - 6}" fill="{colour}"/>'
            )
    base = TOP + ROW * len(LINK_NAMES)
    for step in range(0, 601, 100):
        x = LEFT + step * 1e6 * scale
        parts.append(f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">{step}</text>')
    parts.append(f'<text x="{WIDTH - 20}" y="{base + 30}" text-anchor="end">us</text>')
    for number, (colour, slot, delays) in enumerate(
        zip(COLOURS, schedule.slots, dumbbell_delays(schedule), strict=True)
    ):
        x = 10 + number % 2 * 370
        y = base + 40 + number // 2 * 16
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(
            f'<text x="{x + 16}" y="{y}">{slot.stream.name}: {delays.max() / 1e6:.2f} us, '
            f"jitter {(delays.max() - delays.min()) / 1e6:g} us</text>"
        )
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
