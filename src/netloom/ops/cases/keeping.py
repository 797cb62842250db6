"""What is kept of cases and their records, and what the store is called by others."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.ops.observe.store import MICRO

if TYPE_CHECKING:
    from netloom.ops.observe.case_tables import CaseTables

__all__ = ["check_fabric", "forget_old", "mark_alerted", "store_id"]


def forget_old(store: CaseTables, now_s: float, *, cases_s: float, audit_s: float) -> None:
    """Remove closed cases older than *cases_s*, and lines of the audit older than *audit_s*.

    Lines of a case that is open stay, whatever their age; so do windows until their time is over
    for as long as a case.

    Raises:
        OutputError: the store cannot be written.
    """
    old_us, audit_us = round((now_s - cases_s) * MICRO), round((now_s - audit_s) * MICRO)
    with store.changing() as file:
        file.execute("DELETE FROM finding WHERE closed_us < ?", (old_us,))
        file.execute("DELETE FROM maintenance WHERE end_us < ?", (old_us,))
        file.execute("DELETE FROM case_state WHERE case_id NOT IN (SELECT id FROM finding)")
        file.execute(
            "DELETE FROM audit WHERE time_us < ? AND (case_id IS NULL OR case_id NOT IN "
            "(SELECT id FROM finding WHERE closed_us IS NULL))",
            (audit_us,),
        )


def store_id(store: CaseTables) -> str:
    """Return what tells this store from all others, made when first asked for.

    Raises:
        OutputError: the store cannot be written.
    """
    return _kept(store, "id", uuid.uuid4().hex[:16])


def check_fabric(store: CaseTables, fabric: str) -> None:
    """Refuse a store that is another fabric's.

    Raises:
        SpecError: it is.
        OutputError: the store cannot be written.
    """
    known = _kept(store, "fabric", fabric)
    if known != fabric:
        raise SpecError(
            option="--store",
            what=f"its cases are of the fabric {known!r}, not of {fabric!r}",
            remedy="give each fabric a database of its own, or name it with --fabric",
        )


def mark_alerted(store: CaseTables, numbers: list[int], now_s: float) -> None:
    """Remember that these cases went to Alertmanager: they do until they are over.

    Raises:
        OutputError: the store cannot be written.
    """
    with store.changing() as file:
        for number in numbers:
            file.execute(
                "INSERT INTO case_state (case_id, alerted_us) VALUES (?, ?) "
                "ON CONFLICT (case_id) DO UPDATE SET alerted_us = excluded.alerted_us",
                (number, round(now_s * MICRO)),
            )


def _kept(store: CaseTables, name: str, value: str) -> str:
    with store.reading() as file:
        rows = file.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchall()
    if rows:
        return str(rows[0][0])
    with store.changing() as file:
        file.execute(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
            (name, value),
        )
        rows = file.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchall()
    return str(rows[0][0])
