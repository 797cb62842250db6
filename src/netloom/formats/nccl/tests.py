"""nccl-tests: the table its programs print, and the JSON they write with ``-J``.

Columns are found by their heading, since newer versions put more of them in (nccl-tests,
``src/util.cu``); a table has them twice, out of place and in place.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from netloom.errors import LabError

__all__ = ["NcclTestsRow", "parse", "parse_json", "parse_text"]

MAX_LINES: Final = 1_000_000
GIGA: Final = 1e9

_HEADING: Final = re.compile(r"#\s+size\s+count\s.*")
_STARTING: Final = "# Collective test starting: "
_TEST: Final = re.compile(r"^(?:.*/)?(?P<name>[a-z_]{3,32})_perf(?:_mpi)?$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTestsRow:
    """One measurement.

    Attributes:
        collective: ``all_reduce``; empty where the output does not name it.
        size_bytes: Of the buffer.
        dtype: ``float``, ``bfloat16`` ...
        in_place: Whether input and output share a buffer.
        time_s: Of one operation.
        algorithm_bps: Algorithm bandwidth, bits a second.
        bus_bps: Bus bandwidth, bits a second.
        num_wrong: Wrong values; None where they were not checked.
    """

    collective: str
    size_bytes: int
    dtype: str
    in_place: bool
    time_s: float
    algorithm_bps: float
    bus_bps: float
    num_wrong: int | None


def parse(text: str) -> tuple[NcclTestsRow, ...]:
    """Return the measurements in *text*, be it a table or JSON.

    Raises:
        LabError: it is neither.
    """
    return parse_json(text) if text.lstrip().startswith("{") else parse_text(text)


def parse_text(text: str) -> tuple[NcclTestsRow, ...]:
    """Return the measurements in what was printed, by one program or several in a row.

    Which collective it was is printed since version 2.17.

    Raises:
        LabError: there is no heading that nccl-tests prints.
    """
    names: list[str] = []
    rows: list[NcclTestsRow] = []
    collective = ""
    for line in text.splitlines()[:MAX_LINES]:
        if line.startswith(_STARTING):
            collective = _collective([line.removeprefix(_STARTING).strip()])
        elif _HEADING.fullmatch(line):
            names = line.lstrip("#").split()
        elif names and not line.startswith("#"):
            rows += _rows(names, line.split(), collective)
    if not names:
        raise LabError(
            what=f"this is no table of nccl-tests ({text.strip()[:80]!r})",
            remedy="give what it printed",
        )
    return tuple(rows)


def _rows(names: list[str], cells: list[str], collective: str) -> list[NcclTestsRow]:
    """Return both halves of a line; none when it is some other line."""
    if len(cells) != len(names) or not cells[0].isdigit():
        return []
    first = names.index("time") if "time" in names else -1
    second = names.index("time", first + 1) if names.count("time") > 1 else -1
    if first < 0 or second < 0:
        return []
    head = dict(zip(names[:first], cells[:first], strict=True))
    halves = (
        (False, dict(zip(names[first:second], cells[first:second], strict=True))),
        (True, dict(zip(names[second:], cells[second:], strict=True))),
    )
    found = []
    for in_place, half in halves:
        row = _row(
            head={"size": head.get("size"), "type": head.get("type"), "collective": collective},
            half={
                "time": half.get("time"),
                "alg_bw": half.get("algbw"),
                "bus_bw": half.get("busbw"),
                "nwrong": half.get("#wrong"),
            },
            in_place=in_place,
        )
        if row is not None:
            found.append(row)
    return found


def parse_json(text: str) -> tuple[NcclTestsRow, ...]:
    """Return the measurements in what ``-J`` wrote.

    Raises:
        LabError: it is not what nccl-tests writes.
    """
    try:
        whole = json.loads(text)
        collective = _collective(whole.get("args"))
        rows = [
            _row(
                head={"size": one["size"], "type": one.get("type"), "collective": collective},
                half=one[half],
                in_place=half == "in_place",
            )
            for one in whole["results"][:MAX_LINES]
            for half in ("out_of_place", "in_place")
            if half in one
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise LabError(
            what=f"this is not what nccl-tests writes with -J ({text[:80]!r})",
            remedy="give its file",
        ) from error
    return tuple(row for row in rows if row is not None)


def _collective(arguments: object) -> str:
    first = arguments[0] if isinstance(arguments, list) and arguments else ""
    match = _TEST.match(str(first))
    return match["name"] if match else ""


def _row(*, head: dict[str, Any], half: dict[str, Any], in_place: bool) -> NcclTestsRow | None:
    """Return a measurement; None where a number is missing or is none (``N/A``, ``nan``)."""
    size, time_us = _number(head["size"]), _number(half.get("time"))
    algorithm, bus = _number(half.get("alg_bw")), _number(half.get("bus_bw"))
    if size is None or time_us is None or algorithm is None or bus is None:
        return None
    wrong = _number(half.get("nwrong"))
    return NcclTestsRow(
        collective=str(head["collective"]),
        size_bytes=int(size),
        dtype=str(head["type"] or "")[:32],
        in_place=in_place,
        time_s=time_us * 1e-6,
        algorithm_bps=algorithm * 8 * GIGA,
        bus_bps=bus * 8 * GIGA,
        num_wrong=None if wrong is None else int(wrong),
    )


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e18 else None
