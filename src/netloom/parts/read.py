"""Turn TOML tables into parts, with errors that say file, table, key, value and remedy."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from netloom.errors import CatalogError, SpecError
from netloom.parts.parts import Part
from netloom.provenance import Source
from netloom.spec.files import read_text
from netloom.spec.problems import plainly

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["own_file", "part", "sources"]

MAX_FILE_BYTES = 4 * 2**20
MAX_DEPTH = 7  # kind, name, key and what stands in it: lists of tables within a table
MAX_SHOWN = 80

P = TypeVar("P", bound=Part)

_SOURCE = TypeAdapter(Source)


def own_file(path: Path, kinds: Iterable[str]) -> dict[str, Any]:
    """Return the tables of a user's file, checked only as far as ``kind.name`` goes.

    Raises:
        CatalogError: it cannot be read, is too large, is not TOML, or has an unknown kind.
    """
    tables = _toml(_text(path), where=str(path))
    _check_depth(tables, where=str(path))
    known = [*kinds, "sources", "price_source"]
    for key, value in tables.items():
        if key not in known:
            raise CatalogError(
                file=str(path), what=f"[{key}] is not a kind of part", remedy=_choices(key, known)
            )
        if key == "price_source":
            _check_price_source(value, where=str(path))
        elif not _is_table_of_tables(value):
            raise CatalogError(
                file=str(path),
                what=f"[{key}] holds no parts",
                remedy=f"write one table a part: [{key}.NAME]",
            )
    return tables


def _text(path: Path) -> str:
    try:
        return read_text(path, max_bytes=MAX_FILE_BYTES, wanted="a TOML file of parts")
    except SpecError as error:
        raise CatalogError.of(*error.problems) from error


def _toml(text: str, *, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(
            file=where,
            what=f"not TOML: {error}",
            remedy="the format is described in docs/catalogue.md",
        ) from error
    except RecursionError as error:
        raise _too_deep(where) from error


def _check_depth(tables: dict[str, Any], *, where: str) -> None:
    level: list[Any] = [tables]
    for _ in range(MAX_DEPTH):
        level = [child for value in level for child in _children(value)]
    if level:
        raise _too_deep(where)


def _children(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep(file: str) -> CatalogError:
    return CatalogError(
        file=file,
        what="nested too deeply to be a catalogue",
        remedy="a part is [kind.NAME] with keys in it",
    )


def _is_table_of_tables(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, dict) for item in value.values())


def _check_price_source(value: object, *, where: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise CatalogError(
            file=where, what=f"price_source = {_shown(value)}: write who gave the prices, in quotes"
        )


def sources(
    tables: Mapping[str, Any], known: Mapping[str, Source], *, where: str
) -> dict[str, Source]:
    """Return *known* with the sources that *tables* define added.

    Raises:
        CatalogError: one has no citation, a confidence that does not exist, or a known name:
            what shipped numbers cite must not change.
    """
    registry = dict(known)
    for key, table in tables.items():
        if key in known:
            raise CatalogError(
                file=where,
                what=f"[sources.{key}] is a shipped source",
                remedy="choose another name",
            )
        try:
            registry[key] = _SOURCE.validate_python(table)
        except ValidationError as error:
            first = f"[sources.{key}] {_first(error, fields=Source.__slots__)}"
            raise CatalogError(first, file=where) from error
    return registry


def part(
    model: type[P],
    name: str,
    table: Mapping[str, Any],
    registry: Mapping[str, Source],
    *,
    where: str,
) -> P:
    """Return the part that *table* describes.

    Args:
        model: The kind of part.
        name: Its name.
        table: As read from TOML; ``sources`` maps keys to names in *registry*.
        registry: Every known source.
        where: The table in its file, for messages.

    Raises:
        CatalogError: a key is unknown or missing, a value wrong, or a source not defined.
    """
    fields = {key: _frozen(value) for key, value in table.items()}
    keys = [field.alias or key for key, field in model.model_fields.items() if key != "name"]
    _check_keys(table, keys, where=where)
    fields["sources"] = _resolved(table.get("sources", {}), registry, where=where)
    try:
        return model.model_validate({**fields, "name": name})
    except ValidationError as error:
        first = f"{where} {_first(error, fields=keys)}"
        raise CatalogError(first) from error


def _resolved(named: object, registry: Mapping[str, Source], *, where: str) -> dict[str, Source]:
    if not isinstance(named, dict):
        raise CatalogError(
            what=f'{where} sources = {_shown(named)}: write a table, such as {{ "*" = "my-quote" }}'
        )
    for key, name in named.items():
        if not isinstance(name, str) or name not in registry:
            raise CatalogError(
                what=f"{where} sources.{key} = {_shown(name)}: no such source",
                remedy=f"{_choices(str(name), registry)} or define it as [sources.{name}]",
            )
    return {key: registry[name] for key, name in named.items()}


def _check_keys(table: Mapping[str, Any], keys: list[str], *, where: str) -> None:
    for key, value in table.items():
        if key not in keys:
            raise CatalogError(
                what=f"{where} {key} = {_shown(value)}: unknown key", remedy=_choices(key, keys)
            )
    for about in ("sources", "notes"):
        said = table.get(about, {})
        for path in said if isinstance(said, dict) else ():
            _check_about(path, table, keys, where=f"{where} {about}.{path}")


def _check_about(path: str, table: Mapping[str, Any], keys: list[str], *, where: str) -> None:
    """Refuse a source or a note on a key that the part does not have: it would say nothing."""
    first, _, inner = path.partition(".")
    if path != "*" and first not in keys:
        raise CatalogError(what=f"{where}: no such key", remedy=_choices(first, keys))
    under = table.get(first)
    if inner and not (isinstance(under, dict) and inner in under):
        raise CatalogError(what=f"{where}: {first!r} has no {inner!r}", remedy="leave it out")


def _frozen(value: Any) -> Any:
    """Return *value* with its lists as tuples, which is what the frozen models take."""
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value


def _first(error: ValidationError, *, fields: Iterable[str]) -> str:
    """Return the first complaint of *error* as ``key = value: what is wrong; remedy``."""
    found = error.errors(include_url=False)[0]
    path = ".".join(str(step) for step in found["loc"])
    key = str(found["loc"][0]) if found["loc"] else ""
    if found["type"] == "missing":
        return f"{path}: missing; every such part needs it"
    if found["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        hint = _choices(key, fields) if len(found["loc"]) == 1 else "leave it out"
        return f"{path} = {_shown(found['input'])}: unknown key; {hint}"
    reason = plainly(found)
    return f"{path} = {_shown(found['input'])}: {reason}" if path else reason


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _choices(word: str, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(word, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    few = 12
    shown = ", ".join(names[:few]) + (", ..." if len(names) > few else "")
    return f"known are {shown}"
