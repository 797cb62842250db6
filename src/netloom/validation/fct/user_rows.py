"""Published completion times that a user brings: curves, or single numbers of known networks."""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.spec.files import read_text
from netloom.spec.problems import did_you_mean
from netloom.validation.fct.case import FctCase
from netloom.validation.fct.setups import NETWORK_NAMES, network_of, scheme_problem
from netloom.validation.fct.suite import read_points

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.validation.fct.rows import FctPoint

__all__ = ["CASE_COLUMNS", "read_fct"]

CASE_COLUMNS: Final = (
    *("case", "fabric", "scheme", "pattern", "num_flows"),
    *("size_bytes", "published", "unit"),
)
# What a row may leave out; the tolerance is that of most shipped numbers.
_DEFAULTS: Final = {"num_paths": "128", "compare": "near", "tolerance_pct": "5"}
_MAX_FILE_BYTES: Final = 16 * 2**20
_PATTERNS: Final = ("permutation", "incast")
_UNITS: Final = ("us", "packets again", "percent of line")
_COMPARES: Final = ("near", "most", "least")
_PAYLOAD_BYTES: Final = 4086  # uet-htsim main_uec.cpp; for the estimate of time alone
# Seconds of a core a packet, as the shipped long cases took them, of senders that keep windows and
# of receivers that pull. Smaller networks take less.
_PACKET_S, _PULLED_S = 3.5e-6, 8.5e-6
_LONG_MIN: Final = 1.0  # a run of as much is drawn once


def read_fct(path: Path) -> tuple[tuple[FctPoint, ...], tuple[FctCase, ...]]:
    """Return the points of curves, or the single numbers, of a CSV file.

    Which of the two its columns tell: those of the shipped table of curves, or `CASE_COLUMNS`.

    Raises:
        SpecError: the file cannot be read, is too large, or a row is wrong.
    """
    text = read_text(path, max_bytes=_MAX_FILE_BYTES, wanted="a CSV table of completion times")
    header = next(csv.reader(text.splitlines()[:1]), [])
    if "fabric" not in header:
        return read_points(path), ()
    missing = [name for name in CASE_COLUMNS if name not in header]
    if missing:
        raise SpecError(
            what=f"{path.name}: has no column {missing[0]!r}",
            remedy=f"the columns are {', '.join(CASE_COLUMNS)}",
        )
    reader = csv.DictReader(text.splitlines())
    cases = tuple(_case(row, f"{path.name}:{reader.line_num}") for row in reader)
    if not cases:
        raise SpecError(
            file=str(path),
            what="has no rows",
            remedy="the first line names the columns, then one row a number",
        )
    return (), cases


def _case(row: Mapping[str, str | None], where: str) -> FctCase:
    given = {name: (row.get(name) or "").strip() or _DEFAULTS.get(name, "") for name in row}
    given = {**_DEFAULTS, **given}
    fabric = _known(given, "fabric", NETWORK_NAMES, where)
    pattern = _known(given, "pattern", _PATTERNS, where)
    if problem := scheme_problem(given["scheme"], fabric):
        raise SpecError(what=f"{where}: scheme: {problem}")
    hosts = _num_hosts(fabric)
    flows = (hosts, hosts) if pattern == "permutation" else (1, hosts - 1)
    case = {
        "num_flows": round(_number(given, "num_flows", *flows, where)),
        "size_bytes": round(_number(given, "size_bytes", 1, 1e10, where)),
        "num_paths": _paths(given, where),
    }
    tolerance_pct = _number(given, "tolerance_pct", 0, 1000, where)
    packets = case["num_flows"] * math.ceil(case["size_bytes"] / _PAYLOAD_BYTES)
    pulled = given["scheme"].startswith(("rccc", "both", "ndp"))
    minutes = packets * (_PULLED_S if pulled else _PACKET_S) / 60
    return FctCase(
        case=given["case"] or where,
        fabric=fabric,
        scheme=given["scheme"],
        pattern=pattern,
        published=_number(given, "published", 1e-9, 1e15, where),
        unit=_known(given, "unit", _UNITS, where),
        compare=next(one for one in _COMPARES if one == _known(given, "compare", _COMPARES, where)),
        tolerance_pct=tolerance_pct,
        bound_pct=tolerance_pct,
        seen="brought",
        source=given.get("source", ""),
        core_min=minutes if minutes >= _LONG_MIN else 0.0,
        **case,
    )


@lru_cache(maxsize=64)
def _num_hosts(fabric: str) -> int:
    return network_of(fabric).num_endpoints


def _known(row: Mapping[str, str], name: str, known: tuple[str, ...], where: str) -> str:
    if row[name] not in known:
        raise SpecError(
            what=f"{where}: {name}: {row[name]!r} is not known",
            remedy=did_you_mean(row[name], known),
        )
    return row[name]


def _paths(row: Mapping[str, str], where: str) -> int:
    paths = _number(row, "num_paths", 1, 4096, where)
    if paths != 2 ** round(math.log2(paths)):
        raise SpecError(
            what=f"{where}: num_paths: {row['num_paths']} is no power of two", remedy="correct it"
        )
    return round(paths)


def _number(row: Mapping[str, str], name: str, least: float, most: float, where: str) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        wanted = f"{least:g}" if least == most else f"a number from {least:g} to {most:g}"
        raise SpecError(what=f"{where}: {name}: {row[name]!r} is not {wanted}", remedy="correct it")
    return value
