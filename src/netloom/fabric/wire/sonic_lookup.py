"""The headroom that SONiC ships in tables, for switches set up without its dynamic buffer model.

``pg_profile_lookup.ini`` of a switch has one lossless profile by speed and length of cable. The
rows here are those of sonic-net/sonic-buildimage, file and commit beside each. Tables and the
formula of the dynamic model (:func:`netloom.fabric.wire.headroom.sonic`) differ: the formula counts
on nothing but small packets, each of which wastes most of a cell; most rows
lie between that and packets that fill their cells.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["LookupRow", "lookup", "lookup_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupRow:
    """One line of a table.

    Attributes:
        asic: As ``headroom.PLATFORMS`` calls it.
        hwsku: Whose folder the file is in.
        commit: Of sonic-net/sonic-buildimage.
        length_m: Cables of up to this length.
        xon_bytes: Reserved for the port; the peer resumes under it.
        xoff_bytes: Room behind the pause threshold.
    """

    asic: str
    hwsku: str
    commit: str
    rate_bps: float
    length_m: float
    xon_bytes: int
    xoff_bytes: int


@cache
def lookup_rows() -> tuple[LookupRow, ...]:
    """Return every row, as published."""
    folder = resources.files("netloom.fabric.wire").joinpath("data")
    text = folder.joinpath("sonic_pg_profiles.csv").read_text("utf-8")
    return tuple(
        LookupRow(
            asic=row["asic"],
            hwsku=row["hwsku"],
            commit=row["commit"],
            rate_bps=float(row["rate_mbps"]) * 1e6,
            length_m=float(row["length_m"]),
            xon_bytes=int(row["xon_bytes"]),
            xoff_bytes=int(row["xoff_bytes"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def lookup(asic: str, *, rate_bps: float, length_m: float) -> LookupRow | None:
    """Return the row for a cable: the shortest length that covers it; None where there is none."""
    long_enough = (
        row
        for row in lookup_rows()
        if row.asic == asic and row.rate_bps == rate_bps and row.length_m >= length_m
    )
    return min(long_enough, key=lambda row: row.length_m, default=None)
