"""What ``netloom catalog`` shows, as plain rows; printing them is done elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from netloom.errors import CatalogError
from netloom.parts.load import KINDS
from netloom.parts.parts import PortMode
from netloom.units import (
    FLOPS,
    LENGTH,
    MONEY,
    POWER,
    RATE,
    SHARE,
    SIZE,
    TIME,
    Dimension,
    format_quantity,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.load import Catalog
    from netloom.parts.parts import Part

__all__ = ["FieldRow", "KindRow", "find_kind", "find_parts", "kind_rows", "overview", "part_rows"]

_TITLES: Final = {
    "gpus": "Accelerators",
    "scale_ups": "Networks inside a node or rack",
    "nodes": "Machines and racks",
    "nics": "Network cards",
    "switches": "Switches",
    "transceivers": "Pluggable optics",
    "cables": "Copper, active optical and fibre cables",
    "models": "Model shapes",
    "technologies": "Link layer, routing and transport in one",
    "fibres": "Fibre between sites",
    "line_sites": "Amplifiers and regenerators along a route",
    "coherent_optics": "Coherent optics of a wave",
    "edge_switches": "Switches at the end of a span",
}
_COLUMNS: Final = {
    "gpus": ("peak.bf16", "peak.fp8", "memory_bytes", "memory_rate_bps", "power_w", "price_usd"),
    "scale_ups": ("kind", "generation", "rate_bps", "num_links", "num_switches"),
    "nodes": ("gpu", "num_gpus", "nic", "num_nics", "power_w", "price_usd"),
    "nics": ("vendor", "rate_bps", "protocols", "power_w", "price_usd"),
    "switches": ("asic", "modes", "latency_s", "power_w", "price_usd"),
    "transceivers": ("rate_bps", "num_ports", "medium", "reach_m", "power_w", "price_usd"),
    "cables": ("medium", "rates", "reach_m", "power_w", "price_usd", "price_usd_per_m"),
    "models": ("parameters", "num_layers", "hidden", "num_heads", "num_experts", "vocabulary"),
    "technologies": ("transport", "rate_bps", "load_balancing", "switch", "status"),
    "fibres": ("delay_per_km_s", "iru_per_km_range_usd"),
    "line_sites": ("kind", "latency_s", "power_w", "price_range_usd"),
    "coherent_optics": ("rate_bps", "reach_m", "latency_s", "power_w", "price_range_usd"),
    "edge_switches": ("rate_bps", "buffer_bytes", "power_w", "price_range_usd"),
}
_SUFFIXES: Final = (
    ("_usd_per_m", MONEY),
    ("_flops", FLOPS),
    ("_bytes", SIZE),
    ("_bps", RATE),
    ("_usd", MONEY),
    ("_s", TIME),
    ("_m", LENGTH),
    ("_w", POWER),
)
_BY_NAME: Final = {
    "bf16": FLOPS,
    "fp16": FLOPS,
    "fp8": FLOPS,
    "loss": SHARE,
    "path_efficiency": SHARE,
    "rates": RATE,
}
_ABOUT: Final = ("name", "title", "sources", "notes")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """One kind of part: what it is called, what it is, and how many there are."""

    kind: str
    title: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One value of a part and who says so.

    Attributes:
        key: As written in a catalogue file; dotted inside a table.
        value: For people, with its unit.
        number: In base units; None for words.
        unit: The base unit; empty for counts and words.
        source: The citation; empty for words.
        confidence: How far to trust it; empty for words.
        note: What else is claimed.
    """

    key: str
    value: str
    number: float | None
    unit: str
    source: str
    confidence: str
    note: str


def overview(catalog: Catalog) -> tuple[KindRow, ...]:
    """Return a row for each kind of part."""
    return tuple(
        KindRow(kind=_spoken(kind), title=_TITLES[kind], count=len(catalog.parts(kind)))
        for kind in KINDS
    )


def kind_rows(catalog: Catalog, kind: str) -> tuple[dict[str, str], ...]:
    """Return a row for each part of *kind*: its name and what sets it apart, for people."""
    return tuple(_summary(part, _COLUMNS[kind]) for part in catalog.parts(kind).values())


def part_rows(part: Part) -> tuple[FieldRow, ...]:
    """Return every value of *part* that is given, in the order of its model."""
    return tuple(
        _field_row(part, attribute, value)
        for attribute, value in _leaves(part)
        if attribute.partition(".")[0] not in _ABOUT and value is not None
    )


def find_kind(word: str) -> str | None:
    """Return the kind that *word* means: ``switches``, ``switch``, ``scale-ups``; else None."""
    folded = word.casefold().replace("-", "_")
    return next((kind for kind in KINDS if folded in {kind, _singular(kind)}), None)


def find_parts(catalog: Catalog, name: str) -> list[Part]:
    """Return the parts called *name*, of whatever kind.

    Raises:
        CatalogError: there is none; the message has the closest names.
    """
    parts = catalog.search(name)
    if not parts:
        known = {part.casefold(): part for kind in KINDS for part in catalog.parts(kind)}
        known |= {_spoken(kind): _spoken(kind) for kind in KINDS}
        close = [known[hit] for hit in get_close_matches(name.casefold(), known, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        raise CatalogError(
            what=f"{name!r}: no such part or kind",
            remedy=f"{hint}'netloom catalog' lists the kinds",
        )
    return parts


def _spoken(kind: str) -> str:
    return kind.replace("_", "-")


def _singular(kind: str) -> str:
    irregular = {"switches": "switch", "technologies": "technology"}
    return irregular.get(kind, kind.removesuffix("s"))


def _summary(part: Part, columns: tuple[str, ...]) -> dict[str, str]:
    row = {"name": part.name, "title": part.title}
    for attribute in columns:
        row[part.written(attribute)] = _text(_value(part, attribute), attribute)
    return row


def _value(part: Part, attribute: str) -> object:
    value: object = part
    for step in attribute.split("."):
        value = getattr(value, step)
    return value


def _leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    given = (name for name in type(model).model_fields if name in model.model_fields_set)
    for name in given:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        elif isinstance(value, dict):
            yield from ((f"{prefix}{name}.{key}", item) for key, item in value.items())
        else:
            yield f"{prefix}{name}", value


def _field_row(part: Part, attribute: str, value: object) -> FieldRow:
    dimension = _dimension(attribute)
    measured = _is_number(value) or attribute in {"modes", "rates", "price_range_usd"}
    source = part.source(attribute) if measured else None
    return FieldRow(
        key=part.written(attribute),
        value=_text(value, attribute),
        number=value if isinstance(value, (int, float)) and _is_number(value) else None,
        unit=dimension.base if dimension else "",
        source=source.citation if source else "",
        confidence=source.confidence if source else "",
        note=part.note(attribute),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _dimension(attribute: str) -> Dimension | None:
    last = attribute.rpartition(".")[2]
    if last in _BY_NAME:
        return _BY_NAME[last]
    return next((dimension for suffix, dimension in _SUFFIXES if last.endswith(suffix)), None)


def _text(value: object, attribute: str) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(_text(item, attribute) for item in value)
    if isinstance(value, PortMode):
        return f"{value.count}x{_text(value.rate_bps, 'rate_bps')}"
    if not isinstance(value, (int, float)):
        return str(value)
    return _number_text(value, _dimension(attribute))


def _number_text(value: float, dimension: Dimension | None) -> str:
    if dimension is None:
        return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
    return format_quantity(value, dimension, digits=6)
