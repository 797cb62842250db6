"""SONiC's tables of quality of service in CONFIG_DB: what each port and queue is set to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.fabric.wire.lossless_ethernet import ROCE_DSCP
from netloom.ops.observe.devices import PortValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["QUALITY_TABLES", "quality_values"]

QUALITY_TABLES: Final = ("PORT_QOS_MAP", "DSCP_TO_TC_MAP", "QUEUE", "WRED_PROFILE")
MAX_PORTS: Final = 1024  # that one key names
_SPAN: Final = re.compile(r"(?P<first>\d{1,2})(?:-(?P<last>\d{1,2}))?", re.ASCII)


def quality_values(tables: Mapping[str, Mapping[str, Mapping[str, str]]]) -> Iterator[PortValue]:
    """Give which priorities pause, where RDMA's code point leads, and which queues mark.

    Args:
        tables: Rows of each of :data:`QUALITY_TABLES`, by what follows the table's name in the
            key. What is not there is not told.
    """
    maps = tables.get("DSCP_TO_TC_MAP", {})
    for key, row in tables.get("PORT_QOS_MAP", {}).items():
        for port in key.split(",")[:MAX_PORTS]:
            if "pfc_enable" in row:
                yield PortValue(port, "pfc_priorities", _mask(row["pfc_enable"]))
            chosen = maps.get(_name(row.get("dscp_to_tc_map", "")), {}).get(str(ROCE_DSCP), "")
            if chosen.isascii() and chosen.isdigit() and len(chosen) == 1:
                yield PortValue(port, "rdma_priority", float(chosen))
    profiles = tables.get("WRED_PROFILE", {})
    for key, row in tables.get("QUEUE", {}).items():
        ports, _, span = key.rpartition("|")
        profile = _name(row.get("wred_profile", ""))
        if profile and profile not in profiles:
            continue
        marks = profiles.get(profile, {}).get("ecn", "ecn_none") not in {"", "ecn_none"}
        for port in ports.split(",")[:MAX_PORTS]:
            for queue in _numbers(span):
                yield PortValue(port, "ecn_on", float(marks), f"queue:{queue}")


def _name(text: str) -> str:
    """Return the name that a field refers to; older releases write ``[TABLE|NAME]``."""
    return text.strip("[]").rpartition("|")[2]


def _mask(text: str) -> float:
    """Return priorities as bits: ``3,4`` is 24."""
    return float(sum({1 << int(one) for one in text.split(",") if one in set("01234567")}))


def _numbers(span: str) -> range:
    match = _SPAN.fullmatch(span)
    if match is None:
        return range(0)
    first = int(match["first"])
    return range(first, min(int(match["last"] or first), first + 15) + 1)
