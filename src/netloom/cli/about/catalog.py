"""``netloom catalog``: show the known parts and who says what about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from netloom.cli.exits import Exit
from netloom.cli.options import Output, OwnParts
from netloom.cli.output import emit_json
from netloom.cli.show import verdict
from netloom.study.catalogue import CatalogView
from netloom.study.catalogue import catalog as view_catalog

__all__ = ["catalog"]


def catalog(
    what: str | None = None,
    *,
    own: OwnParts = None,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Show the catalogue: its kinds, the parts of a kind, or one part with its sources.

    Args:
        what: A kind (``switches``) or the name of a part (``QM9700``); default: all kinds.
    """
    found = view_catalog(what, own)
    code = verdict(output, found.to_json()) if output.fail_if else Exit.OK
    if output.json:
        emit_json(found.to_json())
    else:
        console = Console(markup=False, highlight=False)
        for table in _tables(found):
            console.print(table)
        if found.name not in ("kinds", "parts"):
            print("'netloom catalog NAME' shows every number of a part with its source.")
    return code


def _tables(found: CatalogView) -> Iterator[Table]:
    for part in found.parts:
        yield _table(f"{part.name}: {part.title}", [_said(row) for row in part.fields])
    if found.name != "parts":
        hidden = () if found.name == "kinds" else ("title",)
        rows = [{key: row[key] for key in row if key not in hidden} for row in found.rows]
        yield _table(found.name.replace("_", "-"), rows)


def _said(row: dict[str, Any]) -> dict[str, str]:
    source = "\n".join(text for text in (row["source"], row["note"]) if text)
    return {"key": row["key"], "value": row["value"], "trust": row["confidence"], "source": source}


def _table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for index, column in enumerate(rows[0] if rows else ()):
        table.add_column(column.replace("_", " "), no_wrap=index == 0, overflow="fold")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    return table
