"""Maintenance: times in which trouble with a part is planned, recorded, and alerts no one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.observe.case_audit import Actor, AuditEntry, add_audit, shown
from netloom.ops.observe.store import MICRO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from netloom.ops.observe.case_tables import CaseTables

__all__ = ["MaintenanceWindow", "all_windows", "covered", "declare", "drained_cables", "end_window"]

MAX_S: Final = 90 * 86400.0  # longer than that is no maintenance but another design
CABLE: Final = "cable"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindow:
    """A part that people work on.

    Attributes:
        part: Which; a device stands for its cables too, a node for what hangs on its NICs.
        start_s: From when.
        end_s: Until when.
        by: Who declared it.
        why: In words.
        is_drained: Whether traffic was taken off it: then sessions that are down are no findings.
        number: By which it is ended.
    """

    part: PartId
    start_s: float
    end_s: float
    by: str
    why: str
    is_drained: bool = False
    number: int = 0

    def is_on(self, now_s: float) -> bool:
        """Return whether it holds now."""
        return self.start_s <= now_s < self.end_s

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {
            "window": self.number,
            "part": str(self.part),
            "from_s": self.start_s,
            "to_s": self.end_s,
            "by": self.by,
            "why": self.why,
            "drained": self.is_drained,
        }


def declare(
    store: CaseTables, window: MaintenanceWindow, by: Actor, now_s: float
) -> MaintenanceWindow:
    """Write a window, and return it with its number.

    Raises:
        SpecError: it ends before it begins or before now, lasts too long, or has no reason.
        OutputError: the store cannot be written.
    """
    if not window.start_s < window.end_s or window.end_s <= now_s:
        raise SpecError(
            option="--to", what="it ends before it begins, or is over", remedy="give a later time"
        )
    if window.end_s - window.start_s > MAX_S:
        raise SpecError(
            option="--to",
            what=f"it lasts longer than {MAX_S / 86400:.0f} days",
            remedy="give an earlier time, or change the design",
        )
    if not window.why.strip():
        raise SpecError(option="--reason", what="no reason", remedy="say what is done there")
    with store.changing() as file:
        add_audit(file, _line("maintain", window, by, now_s))
        rows = file.execute(
            "INSERT INTO maintenance (part, start_us, end_us, drained, who, why) "
            "VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            (
                str(window.part),
                round(window.start_s * MICRO),
                round(window.end_s * MICRO),
                int(window.is_drained),
                by.name,
                shown(window.why),
            ),
        ).fetchall()
    return replace(window, by=by.name, number=int(rows[0][0]))


def end_window(store: CaseTables, number: int, by: Actor, now_s: float) -> MaintenanceWindow:
    """Let a window end now, and return it.

    Raises:
        SpecError: there is none of that number that is not over.
        OutputError: the store cannot be written.
    """
    found = next((one for one in all_windows(store) if one.number == number), None)
    if found is None or found.end_s <= now_s:
        raise SpecError(
            what=f"there is no window {number} that is not over",
            remedy="'netloom cases list' shows their numbers",
        )
    ended = replace(found, start_s=min(found.start_s, now_s), end_s=now_s)
    with store.changing() as file:
        add_audit(file, _line("maintain-end", ended, by, now_s))
        file.execute(
            "UPDATE maintenance SET start_us = ?, end_us = ? WHERE id = ?",
            (round(ended.start_s * MICRO), round(now_s * MICRO), number),
        )
    return ended


def all_windows(store: CaseTables) -> tuple[MaintenanceWindow, ...]:
    """Return every window that is kept, by its end."""
    query = "SELECT id, part, start_us, end_us, drained, who, why FROM maintenance ORDER BY end_us"
    with store.reading() as file:
        rows = file.execute(query).fetchall()
    return tuple(
        MaintenanceWindow(
            number=number,
            part=PartId.parse(part),
            start_s=start_us / MICRO,
            end_s=end_us / MICRO,
            is_drained=bool(drained),
            by=who,
            why=why,
        )
        for number, part, start_us, end_us, drained, who, why in rows
    )


def covered(
    windows: Iterable[MaintenanceWindow],
    now_s: float,
    parts_of: Callable[[PartId], Iterable[PartId]],
) -> dict[PartId, str]:
    """Return the parts that maintenance explains now, each with by whom and why.

    Args:
        windows: All of them.
        now_s: The time.
        parts_of: The cables of a device; the NIC ports of a node, and theirs.
    """
    return {
        part: f"{one.why} ({one.by}, window {one.number})"
        for one in windows
        if one.is_on(now_s)
        for part in (one.part.whole, *parts_of(one.part))
    }


def drained_cables(
    windows: Iterable[MaintenanceWindow],
    now_s: float,
    parts_of: Callable[[PartId], Iterable[PartId]],
) -> frozenset[int]:
    """Return the numbers of the cables that are declared drained now."""
    some: Mapping[PartId, str] = covered(
        (one for one in windows if one.is_drained), now_s, parts_of
    )
    return frozenset(part.index for part in some if part.kind == CABLE)


def _line(act: str, window: MaintenanceWindow, by: Actor, now_s: float) -> AuditEntry:
    return AuditEntry(
        time_s=now_s,
        who=by.name,
        login=by.login,
        act=act,
        part=str(window.part),
        text=window.why,
        detail=window.to_json(),
    )
