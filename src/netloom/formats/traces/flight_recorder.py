"""PyTorch's flight recorder: the dump each rank writes, and who holds up the others.

A dump is JSON or a pickle (docs.pytorch.org, "Flight Recorder for Debugging Stuck Jobs"; versions
2.x). A pickle can run anything when it is loaded the usual way; here one that names any class or
function is refused, since a dump holds none.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Dump", "GroupProgress", "Laggard", "Operation", "lagging", "parse_dump", "rank_of"]

MAX_BYTES: Final = 256 * 2**20
MAX_ENTRIES: Final = 1_000_000

_RANK: Final = re.compile(r"(\d{1,9})(?:\.(?:json|pickle|pkl))?$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A collective that a rank has begun.

    Attributes:
        group: Name of its process group.
        sequence: Its number in the group; the same on all ranks.
        name: ``nccl:all_reduce``.
        state: ``scheduled``, ``started`` or ``completed``; gloo leaves it at ``scheduled``.
        created_s: When it was called, seconds since 1970.
        duration_s: Where timing was on; else None.
        is_p2p: Whether it is a send or receive, which the number does not order.
    """

    group: str
    sequence: int
    name: str
    state: str
    created_s: float
    duration_s: float | None
    is_p2p: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """How far a rank is in a process group; -1 where it has not come so far."""

    enqueued: int
    completed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """What one rank recorded.

    Attributes:
        version: Of the format.
        operations: The last ones, oldest first.
        groups: How far the rank is in each group, by the group's name.
    """

    version: str
    operations: tuple[Operation, ...]
    groups: dict[str, GroupProgress]


@dataclass(frozen=True, slots=True, kw_only=True)
class Laggard:
    """A rank that others wait for.

    Attributes:
        group: The process group.
        rank: Who.
        sequence: The first collective it has not called.
        name: What that is, according to the others.
        num_waiting: Ranks that have called it.
    """

    group: str
    rank: int
    sequence: int
    name: str
    num_waiting: int


class _Plain(pickle.Unpickler):
    """Loads dicts, lists, tuples, text and numbers, and nothing that has a name."""

    def find_class(self, module: str, name: str) -> Any:
        message = f"a flight-recorder dump does not hold {module}.{name}"
        raise pickle.UnpicklingError(message)


def rank_of(file_name: str) -> int | None:
    """Return the rank at the end of a dump's name, such as ``nccl_trace_rank_12``."""
    match = _RANK.search(file_name)
    return int(match[1]) if match else None


def parse_dump(data: bytes) -> Dump:
    """Return the dump in *data*, JSON or pickle.

    Raises:
        LabError: it is neither, is too large, or is no dump.
    """
    if len(data) > MAX_BYTES:
        raise LabError(
            what=f"a dump of more than {MAX_BYTES >> 20} MiB", remedy="lower TORCH_FR_BUFFER_SIZE"
        )
    try:
        whole = json.loads(data) if data.lstrip()[:1] == b"{" else _Plain(io.BytesIO(data)).load()
        entries = whole["entries"][:MAX_ENTRIES]
        operations = tuple(_operation(entry) for entry in entries)
        return Dump(
            version=str(whole["version"])[:20],
            operations=operations,
            groups=_groups(entries, operations, whole.get("pg_status") or {}),
        )
    except Exception as error:  # a pickle's opcodes fail in any way they like
        raise LabError(
            what=f"this is no flight-recorder dump ({str(error)[:80]})",
            remedy="give what PyTorch wrote",
        ) from error


def _operation(entry: dict[str, Any]) -> Operation:
    duration_ms = entry.get("duration_ms")
    return Operation(
        group=str(entry["process_group"][0])[:80],
        sequence=int(entry.get("collective_seq_id", entry.get("seq_id", -1))),
        name=str(entry["profiling_name"])[:80],
        state=str(entry["state"])[:20],
        created_s=int(entry["time_created_ns"]) / 1e9,
        duration_s=None if duration_ms is None else float(duration_ms) / 1e3,
        is_p2p=bool(entry.get("is_p2p", False)),
    )


def _groups(
    entries: list[dict[str, Any]],
    operations: tuple[Operation, ...],
    statuses: Mapping[str, Mapping[str, Any]],
) -> dict[str, GroupProgress]:
    """Return how far each group is: by its status, or by its entries where they are further.

    The status goes by number and the entries know both number and name. A completion may stand in
    one of the two only: in the status for gloo, in the entries for NCCL's pickle.
    """
    groups: dict[str, GroupProgress] = {}
    for entry, one in zip(entries, operations, strict=True):
        if one.is_p2p:
            continue
        status = statuses.get(str(entry.get("pg_id")), {})
        known = groups.get(one.group) or GroupProgress(
            enqueued=int(status.get("last_enqueued_collective", -1)),
            completed=int(status.get("last_completed_collective", -1)),
        )
        done = one.sequence if one.state == "completed" else -1
        groups[one.group] = GroupProgress(
            enqueued=max(known.enqueued, one.sequence), completed=max(known.completed, done)
        )
    return groups


def lagging(dumps: Mapping[int, Dump]) -> tuple[Laggard, ...]:
    """Return the ranks that have not called a collective which others of their group have.

    Args:
        dumps: Of one moment, by rank; ranks that wrote none cannot be judged.
    """
    names = {
        (one.group, one.sequence): one.name
        for dump in dumps.values()
        for one in dump.operations
        if not one.is_p2p
    }
    found = []
    for group in sorted({name for dump in dumps.values() for name in dump.groups}):
        reached = {r: d.groups[group].enqueued for r, d in dumps.items() if group in d.groups}
        for rank, last in sorted(reached.items()):
            waiting = sum(other > last for other in reached.values())
            if waiting:
                found.append(
                    Laggard(
                        group=group,
                        rank=rank,
                        sequence=last + 1,
                        name=names.get((group, last + 1), ""),
                        num_waiting=waiting,
                    )
                )
    return tuple(found)
