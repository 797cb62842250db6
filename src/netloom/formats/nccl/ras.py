"""NCCL's RAS: which ranks of a job do not answer, failed, or keep others waiting.

Read from what its port answers to ``VERBOSE STATUS``: JSON since NCCL 2.28, text since 2.24. Both
were recorded from NCCL 2.28.9 with a healthy job, one that hangs, and one with a dead rank.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import LabError
from netloom.ops.observe.devices import DeviceReport, PortValue, SeenEvent, mapping_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["RasRank", "RasStatus", "parse_status", "report_of"]

MAX_RANKS: Final = 1_000_000
# 2.28.9 leaves out the comma between these two, so that what has a missing rank is not JSON.
_NO_COMMA: Final = re.compile(r'("nvml_dev": -?\d{1,9})(\s*\n\s*"status":)', re.ASCII)
_SECTION: Final = re.compile(
    r"#(?P<place>\d{1,9}-\d{1,9}) \((?P<group>[0-9a-f]{1,32})\) (?P<word>[A-Z]{1,20})"
)
_BEHIND: Final = re.compile(
    r"  Communicator ranks have different (?P<what>\w{1,40}) operation counts"
)
_MOST: Final = re.compile(
    r"  (?P<ranks>\d{1,9}) ranks have (?:launched up to operation (?P<count>\d{1,18})"
    r"|not launched any operations)"
)
_RANK: Final = re.compile(
    r"  Rank (?P<rank>\d{1,9})(?P<said> [^-]{1,80}?)? -- GPU (?P<gpu>\d{1,4})"
    r"(?: \(NVML \d{1,4}\))? managed by process \d{1,10} on node (?P<host>[.:%\w-]{1,80})"
)
_COUNT: Final = re.compile(
    r" has (?:launched up to operation (?P<count>\d{1,18})|not launched any operations)"
)
_ERRORS: Final = {  # ncclResult_t, nccl.h
    1: "unhandled CUDA error",
    2: "system error",
    3: "internal error",
    4: "invalid argument",
    5: "invalid usage",
    6: "remote process error",
}
IN_PROGRESS: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class RasRank:
    """A rank of a communicator.

    Attributes:
        group: The communicator, by its hash.
        rank: Its number there.
        host: Where it runs: an address.
        gpu: On which GPU of the host.
        is_missing: Whether NCCL hears nothing of it.
        error: What it reported; empty for nothing.
        counts: How often it launched each collective; empty where that is not told.
    """

    group: str
    rank: int
    host: str
    gpu: int
    is_missing: bool = False
    error: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The GPU that it runs on: ``10.0.1.1/gpu:3``."""
        return f"{self.host}/gpu:{self.gpu}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RasStatus:
    """What RAS says of a job.

    Attributes:
        ranks: Of all communicators; in text only those that NCCL calls outliers.
        most: How often the furthest rank of a communicator launched a collective.
        num_timeouts: Processes that did not answer RAS in time.
    """

    ranks: tuple[RasRank, ...]
    most: Mapping[tuple[str, str], int]
    num_timeouts: int = 0

    def behind(self) -> Iterator[tuple[RasRank, str]]:
        """Give the ranks that have launched a collective less often than others, and which."""
        for one in self.ranks:
            for what, count in one.counts.items():
                if count < self.most.get((one.group, what), 0):
                    yield one, what


def parse_status(text: str) -> RasStatus:
    """Return what RAS answered, in JSON or in text.

    Raises:
        LabError: it is neither.
    """
    if text.lstrip().startswith("{"):
        return _from_json(text)
    if "Job summary" not in text:
        raise LabError(what="not an answer of NCCL's RAS", remedy="check address and port")
    return _from_text(text)


def report_of(now: RasStatus, before: RasStatus | None = None) -> DeviceReport:
    """Return what is wrong with the ranks of a job, by the GPUs they run on.

    A rank of a healthy job may be behind for a moment: one is stuck when it was as far behind at
    the look *before*, and neither it nor those that wait went on.
    """
    stuck = {(one.group, one.rank): what for one, what in _stuck(now, before)}
    values: dict[tuple[str, str], PortValue] = {}
    for one in now.ranks:
        flags = {
            "rank_missing": one.is_missing,
            "rank_failed": bool(one.error),
            "rank_stuck": (one.group, one.rank) in stuck,
        }
        for metric, flag in flags.items():
            known = values.get((one.label, metric))
            if flag or known is None:  # a GPU has a rank in each of several communicators
                values[one.label, metric] = PortValue(one.label, metric, float(flag))
    return DeviceReport(
        values=list(values.values()),
        aliases={one.label: one.host for one in now.ranks},
        events=[*_events(now.ranks, stuck)],
        missing=f"{now.num_timeouts} processes did not answer RAS" if now.num_timeouts else "",
    )


def _stuck(now: RasStatus, before: RasStatus | None) -> Iterator[tuple[RasRank, str]]:
    if before is None:
        return
    then = {(one.group, one.rank, what): one for one, what in before.behind()}
    for one, what in now.behind():
        old = then.get((one.group, one.rank, what))
        is_still = old is not None and old.counts[what] == one.counts[what]
        if is_still and before.most.get((one.group, what)) == now.most[one.group, what]:
            yield one, what


def _events(ranks: Iterable[RasRank], stuck: Mapping[tuple[str, int], str]) -> Iterator[SeenEvent]:
    for one in ranks:
        who = f"rank {one.rank} of communicator {one.group}"
        key = f"{one.group}:{one.rank}"
        if one.is_missing:
            yield SeenEvent(one.label, "missing-rank", f"{who} does not answer", f"missing {key}")
        if one.error:
            text = f"{who} reported: {one.error}"
            yield SeenEvent(one.label, "failed-rank", text, f"failed {key}")
        if what := stuck.get((one.group, one.rank)):
            count = one.counts[what]
            text = f"{who} has launched {count} {what}; others wait in the next"
            yield SeenEvent(one.label, "stuck-rank", text, f"stuck {key} {what} {count}")


def _from_json(text: str) -> RasStatus:
    try:
        root = json.loads(_NO_COMMA.sub(r"\1,\2", text))
    except (ValueError, RecursionError) as error:
        raise LabError(what="RAS answers JSON that is none", remedy="ask for text") from error
    ranks: list[RasRank] = []
    most: dict[tuple[str, str], int] = defaultdict(int)
    for comm in _list(mapping_of(root).get("communicators")):
        row = mapping_of(comm)
        group = str(row.get("hash", ""))[:32].removeprefix("0x")
        some = [*_ranks(group, row, "ranks"), *_ranks(group, row, "missing_ranks")]
        for one in some:
            for what, count in one.counts.items():
                most[group, what] = max(most[group, what], count)
        ranks += some
    timeouts = _whole(mapping_of(root, "ras").get("timeouts_count"))
    return RasStatus(ranks=tuple(ranks[:MAX_RANKS]), most=dict(most), num_timeouts=timeouts or 0)


def _ranks(group: str, row: Mapping[str, Any], which: str) -> Iterator[RasRank]:
    for one in _list(row.get(which)):
        cells = mapping_of(one)
        number, gpu = _whole(cells.get("rank")), _whole(cells.get("cuda_dev"))
        host = cells.get("host")
        if number is None or gpu is None or not isinstance(host, str):
            continue
        is_missing = which == "missing_ranks"
        # One that answered and has no such communicator has left it.
        if is_missing and mapping_of(cells, "status").get("unresponsive") is False:
            continue
        counts = mapping_of(cells, "collective_counts").items()
        yield RasRank(
            group=group,
            rank=number,
            host=host[:80],
            gpu=gpu,
            is_missing=is_missing,
            error=_error(mapping_of(cells, "status")),
            counts={what[:40]: n for what, c in counts if (n := _whole(c)) is not None},
        )


def _error(status: Mapping[str, Any]) -> str:
    for key in ("async_error", "init_state"):
        code = _whole(status.get(key))
        if code and code != IN_PROGRESS:
            return _ERRORS.get(code, f"error {code}")
    return ""


def _from_text(text: str) -> RasStatus:
    ranks: list[RasRank] = []
    most: dict[tuple[str, str], int] = defaultdict(int)
    group, word, what, count = "", "", "", 0
    for line in text.split("\n"):
        if section := _SECTION.fullmatch(line.rstrip()):
            group, word, what = section["group"], section["word"], ""
        elif heading := _BEHIND.fullmatch(line.rstrip()):
            what, count = heading["what"], 0
        elif further := _MOST.fullmatch(line.rstrip()):
            count = int(further["count"] or 0)
            most[group, what] = max(most[group, what], count)
        elif group and (row := _RANK.fullmatch(line.rstrip())):
            one = _text_rank(row, group, word, {what: count} if what else {})
            most[group, what] = max(most[group, what], one.counts.get(what, 0))
            ranks.append(one)
    timeouts = re.search(r"Encountered (\d{1,9}) communication timeout", text, re.ASCII)
    return RasStatus(
        ranks=tuple(ranks[:MAX_RANKS]),
        most=dict(most),
        num_timeouts=int(timeouts[1]) if timeouts else 0,
    )


def _text_rank(row: re.Match[str], group: str, word: str, counts: Mapping[str, int]) -> RasRank:
    """Return a rank of a line; *counts* are those of the ranks listed with it."""
    said = row["said"] or ""
    own = _COUNT.fullmatch(said)
    return RasRank(
        group=group,
        rank=int(row["rank"]),
        host=row["host"],
        gpu=int(row["gpu"]),
        is_missing=word == "INCOMPLETE",
        error=said.strip().removeprefix("reported ") if word == "ERROR" else "",
        counts={what: int(own["count"] or 0) if own else counts[what] for what in counts},
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if is_whole else None
