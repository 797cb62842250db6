"""One's own file of parts, of which each calibration replaces its own section alone."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.errors import CatalogError, OutputError, Where
from netloom.parts.load import load_catalog
from netloom.results.write import write_atomically
from netloom.study.calibrate.own_catalog import with_section, without_section

if TYPE_CHECKING:
    from netloom.parts.load import Catalog

__all__ = ["catalog_without", "write_section"]


def catalog_without(own: Path | None, name: str) -> Catalog:
    """Return the parts, those of *own* included but for what the calibration *name* wrote.

    Raises:
        CatalogError: the file is wrong.
    """
    if own is None or not own.exists():
        return load_catalog()
    return _loaded(without_section(_text(own), name), own)


def write_section(own: Path, name: str, section: str) -> None:
    """Put *section* into the file as the calibration *name*; everything else stays as it is.

    Raises:
        CatalogError: the file has such parts by hand already, or would not be read any more.
        OutputError: it cannot be written.
    """
    text = with_section(_text(own) if own.exists() else "", name, section, file=str(own))
    _loaded(text, own)
    write_atomically(own, text)


def _text(own: Path) -> str:
    try:
        return own.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(
            file=str(own), what=f"cannot be used ({error})", remedy="name another file"
        ) from error


def _loaded(text: str, own: Path) -> Catalog:
    """Return the catalogue that *own* would be with *text* in it, and refuse what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / own.name
        draft.write_text(text, encoding="utf-8")
        try:
            return load_catalog(draft)
        except CatalogError as error:
            where = Where(file=str(own))
            raise CatalogError.of(*(replace(one, where=where) for one in error.problems)) from error
