"""The catalogue as people read it: its kinds, the parts of a kind, or one part."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netloom.parts import show
from netloom.parts.load import Catalog, load_catalog
from netloom.results.table import Table
from netloom.results.tabular import Tabular

if TYPE_CHECKING:
    import os

__all__ = ["CatalogPart", "CatalogView", "catalog"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPart:
    """One part, a row for each of its values."""

    name: str
    title: str
    fields: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogView(Tabular):
    """What the catalogue says.

    Attributes:
        name: ``kinds``, the name of a kind, or ``parts``.
        rows: Of kinds, or of the parts of a kind.
        parts: Where parts were asked for by name.
    """

    name: str
    rows: tuple[dict[str, Any], ...] = ()
    parts: tuple[CatalogPart, ...] = ()

    def table(self) -> Table:
        """Return the rows; of parts, each value with its source."""
        named = [{"part": part.name, **row} for part in self.parts for row in part.fields]
        return Table.from_rows(named or self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        if self.name != "parts":
            return {self.name: list(self.rows)}
        return {"parts": [asdict(part) | {"fields": list(part.fields)} for part in self.parts]}


def catalog(
    what: str | None = None, own: Catalog | str | os.PathLike[str] | None = None
) -> CatalogView:
    """Return the kinds of part, the parts of a kind, or one part with its sources.

    >>> import netloom as nl
    >>> nl.catalog("QM9700").parts[0].name
    'QM9700'

    Args:
        what: A kind (``switches``) or the name of a part; default: all kinds.
        own: A TOML file of your own parts, laid over the shipped ones, or a catalogue.

    Raises:
        CatalogError: there is no such part or kind.
    """
    known = own if isinstance(own, Catalog) else load_catalog(None if own is None else Path(own))
    if what is None:
        return CatalogView(name="kinds", rows=tuple(map(asdict, show.overview(known))))
    kind = show.find_kind(what)
    if kind is not None:
        return CatalogView(name=kind, rows=tuple(show.kind_rows(known, kind)))
    return CatalogView(
        name="parts",
        parts=tuple(
            CatalogPart(
                name=part.name, title=part.title, fields=tuple(map(asdict, show.part_rows(part)))
            )
            for part in show.find_parts(known, what)
        ),
    )
