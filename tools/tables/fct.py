"""Print the curves of docs/models/packet.md from ``netloom validate fct --rows --json``."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

SCHEMES = ("HPCC-INT", "HPCC-PINT", "DCQCN+w", "TIMELY+w", "DCTCP")


def line(curve: str, rows: list[dict[str, Any]]) -> str:
    """Return a curve's row: its load and percentile, its scheme, and the error of each tenth."""
    _, load, _, percentile, scheme = curve.split()
    errors = (f"{row['error_pct']:+.0f}" for row in rows)
    return f"| {load} %, {percentile} | {scheme} | {' | '.join(errors)} |"


def place(row: dict[str, Any]) -> tuple[int, str, int]:
    """Return where a row's curve stands in the table: the higher load first."""
    _, load, _, percentile, scheme = row["group"].split()
    return -int(load), percentile, SCHEMES.index(scheme)


def main() -> None:
    """Read the file that the first argument names."""
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["result"]["per_row"]
    curves = sorted((row for row in found if row["unit"] == "slowdown"), key=place)
    for curve, rows in groupby(curves, key=lambda row: row["group"]):
        if curve.split()[3] != "p99":
            print(line(curve, list(rows)))


if __name__ == "__main__":
    main()
