"""Lay a user's table over a shipped one, key by key, keeping track of who says what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.provenance import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MergedTable", "Voice", "lay_over"]

_ABOUT: Final = frozenset({"title", "sources", "notes", "operations"})
_FILE: Final = "\0file"
_PRICES: Final = "\0prices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """Who speaks in a user's file where it does not say so itself.

    Attributes:
        file: The file's name.
        price_source: Who gave the prices in it, if the file says.
    """

    file: str
    price_source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedTable:
    """A merged table, and the sources that its ``sources`` may name."""

    table: dict[str, Any]
    registry: dict[str, Source]


def lay_over(
    below: Mapping[str, Any],
    own: Mapping[str, Any],
    *,
    registry: Mapping[str, Source],
    voice: Voice,
) -> MergedTable:
    """Return *own* over *below*: tables key by key, everything else replaced.

    Each number that *own* sets gets the source that *own* names for it, or else the file itself
    as an assumption; the shipped sources stay with the shipped numbers. A shipped note on a
    replaced value gives way to a note of what was replaced. A price that *own* sets is the only
    one: the shipped range of prices goes with the shipped price.
    """
    below = _without_stale(below, own)
    table = _deep(below, own)
    named = own.get("sources", {})
    if not (isinstance(named, dict) and isinstance(own.get("notes", {}), dict)):
        return MergedTable(
            table=table, registry=dict(registry)
        )  # the reader refuses it with its place
    set_here = [path for path in _paths(own) if path.partition(".")[0] not in _ABOUT]
    table["sources"] = {
        **below.get("sources", {}),
        **{path: _speaker(path, named, voice) for path in set_here},
        **{key: name for key, name in named.items() if key != "*" or not below},
    }
    table["notes"] = _notes(below, own, set_here)
    own_voice = {
        _FILE: Source(citation=f"your file {voice.file}", confidence="assumed"),
        _PRICES: Source(citation=voice.price_source or "", confidence="published"),
    }
    return MergedTable(table=table, registry={**registry, **own_voice})


def _without_stale(below: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *below* without the range of prices, where *own* names another price alone."""
    if "price" not in own or "price_range" in own or "price_range" not in below:
        return below
    kept = {key: value for key, value in below.items() if key != "price_range"}
    about = {
        key: {path: said for path, said in below[key].items() if path != "price_range"}
        for key in ("sources", "notes")
        if isinstance(below.get(key), dict)
    }
    return {**kept, **about}


def _deep(below: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in own.items():
        under = below.get(key)
        if isinstance(value, dict) and isinstance(under, dict):
            merged[key] = _deep(under, value)
        else:
            merged[key] = value
    return merged


def _paths(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted key of every value that is not itself a table."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _speaker(path: str, named: Mapping[str, Any], voice: Voice) -> Any:
    for key in (path, path.partition(".")[0]):
        if key in named:
            return named[key]
    if path.startswith("price") and voice.price_source:
        return _PRICES
    return named.get("*", _FILE)


def _notes(below: Mapping[str, Any], own: Mapping[str, Any], set_here: list[str]) -> dict[str, str]:
    notes = {key: note for key, note in below.get("notes", {}).items() if key not in set_here}
    for path in set_here:
        shipped = _at(below, path)
        if shipped is not None:
            notes[path] = f"Instead of the shipped {shipped}"
    return {**notes, **own.get("notes", {})}


def _at(table: Mapping[str, Any], path: str) -> Any:
    first, _, rest = path.partition(".")
    value = table.get(first)
    if not rest:
        return value
    return _at(value, rest) if isinstance(value, dict) else None
