"""A calibrated network as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.study.calibrate.open_constants import shown_size
from netloom.units import RATE, SHARE, TIME, format_quantity

if TYPE_CHECKING:
    from netloom.study.calibrate.calibration import GroupErrors, NetworkCalibration
    from netloom.study.calibrate.network import FittedConstant

__all__ = [
    "CONSTANTS",
    "ERRORS",
    "calibration_text",
    "constant_rows",
    "error_rows",
    "headline",
]

CONSTANTS: Final = ("constant", "part", "measured", "shipped", "rows", "messages")
ERRORS: Final = ("collective", "nodes", "messages", "rows", "before", "after", "size left out")


def headline(found: NetworkCalibration) -> str:
    """Return the answer in a sentence."""
    large = next((one for one in found.errors if not one.collective and one.large), None)
    parts = f"{found.fit.node.name} on {found.fit.technology.name}"
    said = f"{parts}: {len(found.fit.constants)} constants from {len(found.files)} logs"
    if large is None:
        return said
    return (
        f"{said}; messages of 1 MiB and more {large.before_pct:.1f} % off before, "
        f"{large.after_pct:.1f} % after, {large.left_out_pct:.1f} % where their size was left out"
    )


def constant_rows(found: NetworkCalibration) -> list[tuple[str, ...]]:
    """Return a row for each constant, as CONSTANTS names them."""
    return [_constant_row(one) for one in found.fit.constants]


def _constant_row(one: FittedConstant) -> tuple[str, ...]:
    low, high = map(shown_size, one.sizes)
    measured = _value(one.key, one.value)
    if one.key.endswith("ring_hops"):
        measured = f"up to {measured} a hop"
    shipped = "-" if one.shipped is None else _value(one.key, one.shipped)
    messages = low if low == high else f"{low} to {high}"
    return one.key, one.part, measured, shipped, str(one.num_rows), messages


def _value(key: str, value: float) -> str:
    if key.endswith("share"):
        return format_quantity(value, SHARE)
    return format_quantity(value, RATE if key.endswith("rate") else TIME)


def error_rows(found: NetworkCalibration) -> list[tuple[str, ...]]:
    """Return a row for each group of rows, as ERRORS names them."""
    return [_error_row(one) for one in found.errors]


def _error_row(one: GroupErrors) -> tuple[str, ...]:
    return (
        one.collective or "all",
        str(one.num_nodes or "all"),
        "1 MiB and more" if one.large else "under 1 MiB",
        str(one.num_rows),
        f"{one.before_pct:.1f} %",
        f"{one.after_pct:.1f} %",
        f"{one.left_out_pct:.1f} %",
    )


def calibration_text(found: NetworkCalibration) -> str:
    """Return the whole result as lines."""
    lines = [headline(found), "", *_columns(CONSTANTS, constant_rows(found))]
    if found.errors:
        lines += ["", "median error of the bus bandwidth"]
        lines += _columns(ERRORS, error_rows(found))
    for one in found.open_constants:
        lines += ["", f"{one.key} stays as shipped: {one.why}", f"  to know it: {one.measure}"]
    lines += [
        "",
        *(f"{one.file}: {one.num_rows} rows not used: {one.why}" for one in found.skipped),
    ]
    lines += [*found.notes]
    written = f"written to {found.catalog}" if found.catalog else "--catalog FILE writes it"
    return "\n".join([*lines, written])


def _columns(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    table = [heads, *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(heads))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
