"""NCCL's own log (``NCCL_DEBUG=WARN`` or ``INFO``): who ran where, and what went wrong.

Lines are ``host:pid:tid [gpu] NCCL INFO text``; warnings have the source's file and line before
``NCCL WARN`` and, since 2.2x, a date in front (seen in NCCL 2.28.9). Completion errors of
InfiniBand changed their form over the years; status, peer and adapter are found in all of
them (NCCL, ``src/transport/net_ib.cc``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from netloom.formats.log_lines import without_colour

__all__ = ["NcclLog", "NcclWarning", "Rank", "parse_log"]

MAX_LINES: Final = 4_000_000
MAX_WARNINGS: Final = 10_000
MAX_LINE: Final = 4000  # characters

_LINE: Final = re.compile(
    r"(?:\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[^\]]{0,20}\] )?"
    r"(?P<host>[^\s:]{1,255}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10}) \[(?P<gpu>\d{1,4})\] "
    r"(?:(?P<where>\S{1,200}:\d{1,6}) )?NCCL (?P<level>INFO|WARN) (?P<text>.*)",
    re.ASCII,
)
_INIT: Final = re.compile(
    r"\w{0,40} comm \S{1,40} rank (?P<rank>\d{1,9}) n[rR]anks (?P<ranks>\d{1,9})\b.*"
    r"Init (?P<phase>START|COMPLETE).*",
    re.ASCII,
)
_COMPLETION: Final = re.compile(
    r"Got completion from peer (?P<peer>[^\s<]{1,80})(?:<\d+>)? with "
    r"(?:error |status=)(?:[A-Z_]{1,40}\()?(?P<status>\d{1,4})",
    re.ASCII,
)
_HCA: Final = re.compile(r"\bhca (?P<hca>[A-Za-z0-9_.-]{1,32})", re.ASCII)

# enum ibv_wc_status of rdma-core, libibverbs/verbs.h; those that speak of the network.
STATUSES: Final = {
    4: "local protection error",
    5: "flushed after an earlier error",
    10: "remote access error",
    12: "retries exhausted: the peer or the path to it is gone",
    13: "receiver not ready for too long",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """A rank and where it runs."""

    rank: int
    num_ranks: int
    host: str
    gpu: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclWarning:
    """A line of level WARN.

    Attributes:
        line: Its number in the text, from 0.
        time_s: When, if the line says so; taken as UTC.
        host: Who said it.
        gpu: Of that host.
        text: What was said.
        peer: The address at the other end, for a completion error; else empty.
        adapter: ``mlx5_1``, where it is named; else empty.
        status: Of the completion, in words; else empty.
    """

    line: int
    time_s: float | None
    host: str
    gpu: int
    text: str
    peer: str = ""
    adapter: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclLog:
    """What a log, or a part of one, says.

    Attributes:
        version: ``2.28.9+cuda13.0``; empty where it does not say.
        network: ``IB``, ``Socket`` or a plugin's name; empty where it does not say.
        ranks: By number.
        num_inits: Communicators begun to be made.
        num_inits_complete: Of these, made.
        warnings: In order.
    """

    version: str = ""
    network: str = ""
    ranks: tuple[Rank, ...] = ()
    num_inits: int = 0
    num_inits_complete: int = 0
    warnings: tuple[NcclWarning, ...] = ()


def parse_log(text: str) -> NcclLog:
    """Return what *text* says; lines of others, which share the output, are passed over."""
    version = network = ""
    ranks: dict[int, Rank] = {}
    warnings: list[NcclWarning] = []
    phases = {"START": 0, "COMPLETE": 0}
    for number, line in enumerate(text.splitlines()[:MAX_LINES]):
        match = _LINE.search(without_colour(line[:MAX_LINE]))
        if match is None:
            continue
        said = match["text"]
        if match["level"] == "WARN":
            if len(warnings) < MAX_WARNINGS:
                warnings.append(_warning(number, match))
        elif init := _INIT.fullmatch(said):
            phases[init["phase"]] += 1
            rank = int(init["rank"])
            ranks[rank] = Rank(
                rank=rank, num_ranks=int(init["ranks"]), host=match["host"], gpu=int(match["gpu"])
            )
        elif said.startswith("NCCL version "):
            version = said.removeprefix("NCCL version ")[:40]
        elif said.startswith("Using network "):
            network = said.removeprefix("Using network ")[:40]
    return NcclLog(
        version=version,
        network=network,
        ranks=tuple(ranks[key] for key in sorted(ranks)),
        num_inits=phases["START"],
        num_inits_complete=phases["COMPLETE"],
        warnings=tuple(warnings),
    )


def _warning(number: int, match: re.Match[str]) -> NcclWarning:
    said = match["text"]
    completion, adapter = _COMPLETION.search(said), _HCA.search(said)
    status = int(completion["status"]) if completion else 0
    return NcclWarning(
        line=number,
        time_s=_time_s(match["date"]),
        host=match["host"],
        gpu=int(match["gpu"]),
        text=said[:300],
        peer=completion["peer"] if completion else "",
        adapter=adapter["hca"] if adapter else "",
        status=STATUSES.get(status, f"status {status}") if completion else "",
    )


def _time_s(date: str | None) -> float | None:
    if not date:
        return None
    try:
        return datetime.strptime(date, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:  # a 31st of February
        return None
