"""A headroom budget as text: bytes by port, what is left, and what breaks first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.headroom.budget import HeadroomBudget
    from netloom.study.headroom.limits import BufferLimit

__all__ = [
    "LIMITS",
    "PORTS",
    "SETTINGS",
    "check_lines",
    "first_limit",
    "headline",
    "headroom_text",
    "limit_rows",
    "port_rows",
    "setting_rows",
    "title",
]

PORTS: Final = (
    "ports",
    "rate",
    "cable",
    "headroom",
    "textbook",
    "SONiC, small packets",
    "large packets",
    "SONiC's table",
)
SETTINGS: Final = ("setting", "bytes", "meaning")
LIMITS: Final = ("what grows", "breaks at", "design", "then")


def headroom_text(found: HeadroomBudget) -> RenderableType:
    """Return what ``netloom headroom`` prints."""
    return Group(
        Text(title(found), style="bold"),
        Text(headline(found), style="green"),
        Text(first_limit(found)),
        "",
        _table(PORTS, port_rows(found)),
        "",
        _table(SETTINGS, setting_rows(found)),
        "",
        _table(LIMITS, limit_rows(found)),
        *(Text(line, style="dim") for line in check_lines(found)),
    )


def title(found: HeadroomBudget) -> str:
    """Return which switches."""
    design = found.network.design
    rate = format_quantity(design.port_rate_bps, RATE)
    return (
        f"{found.network.technology.name}: {design.switch.name} ({design.switch.asic}), "
        f"{design.radix} x {rate}, frames of {found.mtu_bytes:,} B"
    )


def headline(found: HeadroomBudget) -> str:
    """Return the answer in one sentence."""
    settings = found.settings
    share = settings.headroom_bytes / found.buffer_bytes
    return (
        f"{found.port_headroom_bytes:,} B of headroom a port and priority at "
        f"{found.longest_m:,g} m; "
        f"{settings.headroom_bytes:,} B a switch ({share:.1%} of its buffer); "
        f"{settings.pool_bytes:,} B are left to share"
    )


def first_limit(found: HeadroomBudget) -> str:
    """Return what breaks first."""
    first = found.breaks_first
    return f"breaks first: {first.what}, at {_amount(first, first.limit)}: {first.then}"


def port_rows(found: HeadroomBudget) -> list[tuple[str, ...]]:
    """Return each kind of port by every formula."""
    return [
        (
            port.ports,
            format_quantity(port.rate_bps, RATE),
            f"{port.length_m:,g} m",
            _bytes(port.headroom_bytes),
            _bytes(port.textbook_bytes),
            _bytes(port.sonic_bytes),
            _bytes(port.sonic_large_bytes),
            _bytes(port.sonic_lookup_bytes),
        )
        for port in found.ports
    ]


def setting_rows(found: HeadroomBudget) -> list[tuple[str, ...]]:
    """Return what goes on the switch."""
    settings = found.settings
    marks, alpha = settings.marking, settings.alpha
    return [
        ("pool", _bytes(settings.pool_bytes), "shared by all ports"),
        ("Kmin", _bytes(marks.kmin_bytes if found.marks else None), "marks begin"),
        (
            "Kmax",
            _bytes(marks.kmax_bytes if found.marks else None),
            f"{marks.pmax:.0%} marked; beyond, all" if found.marks else "nothing is marked",
        ),
        ("XOFF, all", _bytes(settings.xoff_at_bytes), f"every port congested, alpha {alpha:g}"),
        ("XOFF, one", _bytes(settings.alone_at_bytes), "one port congested"),
        ("XON offset", _bytes(settings.resume_bytes), "below XOFF, the peer resumes"),
    ]


def check_lines(found: HeadroomBudget) -> list[str]:
    """Return what is not sane about the settings, one line each."""
    return [f"- {check.what}: {check.said}" for check in found.checks if not check.ok]


def limit_rows(found: HeadroomBudget) -> list[tuple[str, ...]]:
    """Return the limits, the nearest first."""
    return [
        (limit.what, _amount(limit, limit.limit), _amount(limit, limit.have), limit.then)
        for limit in found.limits
    ]


def _amount(limit: BufferLimit, value: float | None) -> str:
    return "never" if value is None else f"{value:,.0f} {limit.unit}".rstrip()


def _bytes(size: float | None) -> str:
    return "-" if size is None else f"{size:,.0f}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    words = {"meaning", "then"}
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number and heading not in words else "left")
    for row in rows:
        table.add_row(*row)
    return table
