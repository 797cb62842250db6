"""``netloom catalog``: show the known parts and who says what about them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netloom.cli.output import emit_json
from netloom.parts import show
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.parts import Part

__all__ = ["catalog"]


def catalog(what: str | None = None, *, json: bool = False, own: Path | None = None) -> None:
    """Show the catalogue: its kinds, the parts of a kind, or one part with its sources.

    Args:
        what: A kind (``switches``) or the name of a part (``QM9700``); all kinds when left out.
        json: Print JSON instead of tables.
        own: A TOML file of your own parts, laid over the shipped ones.
    """
    known = load_catalog(own)
    kind = show.find_kind(what) if what else None
    if what is None:
        _print("kinds", [asdict(row) for row in show.overview(known)], json=json)
    elif kind is not None:
        _print(kind, list(show.kind_rows(known, kind)), json=json)
        if not json:
            print("'netloom catalog NAME' shows every number of a part with its source.")
    else:
        _print_parts(show.find_parts(known, what), json=json)


def _print_parts(parts: Sequence[Part], *, json: bool) -> None:
    fields = [[asdict(row) for row in show.part_rows(part)] for part in parts]
    if json:
        found = [
            {"name": part.name, "title": part.title, "fields": rows}
            for part, rows in zip(parts, fields, strict=True)
        ]
        emit_json({"parts": found})
        return
    for part, rows in zip(parts, fields, strict=True):
        _table(f"{part.name}: {part.title}", [_told(row) for row in rows])


def _told(row: dict[str, Any]) -> dict[str, str]:
    said = "\n".join(text for text in (row["source"], row["note"]) if text)
    return {"key": row["key"], "value": row["value"], "trust": row["confidence"], "source": said}


def _print(name: str, rows: list[dict[str, Any]], *, json: bool) -> None:
    if json:
        emit_json({name: rows})
    else:
        shown = [
            {key: row[key] for key in row if key != "title" or name == "kinds"} for row in rows
        ]
        _table(name.replace("_", "-"), shown)


def _table(title: str, rows: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415  (kept out of the start-up time)
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for index, column in enumerate(rows[0] if rows else ()):
        table.add_column(column.replace("_", " "), no_wrap=index == 0, overflow="fold")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console(markup=False, highlight=False).print(table)
