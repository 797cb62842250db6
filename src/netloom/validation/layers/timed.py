"""Measured times of layers, blocks and steps on one GPU: tables, read once and checked."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING, Final, Literal

from netloom.errors import SpecError, Where
from netloom.spec.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["Timed", "TimedKind", "TimedSuite", "is_count", "read_timed", "shipped_timed"]

TimedSuite = Literal["layers", "gpu-steps"]
TimedKind = Literal["gpt_layer_shard", "llama_layer_shard", "gpt_step", "moe_block", "dit_block"]
_TABLES: Final = {
    "layers": (
        "h200_gpt_layer_shard_bf16.csv",
        "h200_llama_layer_shard_bf16.csv",
        "h200_moe_blocks_bf16.csv",
        "h200_dit_blocks_bf16.csv",
    ),
    "gpu-steps": ("h200_gpt_step_bf16.csv",),
}
_LARGEST_FILE_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One measured time: a row of a table, and which of its columns.

    Attributes:
        row_id: Of the row, as its file has it, or its number in the file, from 1.
    """

    row_id: str
    number: int
    kind: TimedKind
    column: str
    values: Mapping[str, str]
    measured_s: float


def shipped_timed(suite: TimedSuite) -> tuple[Timed, ...]:
    """Return the measurements of *suite* that netloom ships; ids are kind and number."""
    found: list[Timed] = []
    for name in _TABLES[suite]:
        text = (
            resources.files("netloom.validation.layers").joinpath("data", name).read_text("utf-8")
        )
        found += [
            replace(row, row_id=f"{row.kind}-{row.row_id}")
            for row in _parse(text.splitlines(), where=name)
        ]
    return tuple(found)


def read_timed(path: Path, suite: TimedSuite) -> tuple[Timed, ...]:
    """Return the measurements of a CSV file in the columns of the shipped tables.

    Raises:
        SpecError: the file cannot be read, belongs to another suite, or a row is wrong.
    """
    text = read_text(path, max_bytes=_LARGEST_FILE_BYTES, wanted="a CSV table of results")
    found = tuple(_parse(text.splitlines(), where=path.name))
    if not found:
        raise SpecError(
            file=str(path),
            what="has no rows",
            remedy="the first line names the columns, then one row a result",
        )
    other = "gpu-steps" if suite == "layers" else "layers"
    if (found[0].kind == "gpt_step") != (suite == "gpu-steps"):
        raise SpecError(
            file=str(path),
            what=f"its columns are those of suite {other!r}",
            remedy="name that suite",
        )
    return found


_KINDS: Final[Mapping[TimedKind, tuple[str, ...]]] = {
    "moe_block": ("part", "impl", "mode", "hidden", "ffn", "experts", "top_k"),
    "dit_block": (
        *("kind", "mode", "hidden", "heads", "ffn", "text_tokens", "micro_batch", "tokens"),
    ),
    "gpt_step": ("layers", "hidden", "heads", "seq", "micro_batch", "accumulate", "vocab"),
    "llama_layer_shard": ("mode", "hidden", "heads", "kv_heads", "ffn", "tp", "micro_batch", "seq"),
    "gpt_layer_shard": ("hidden", "heads", "tp", "micro_batch", "seq"),
}
_TIMES: Final[Mapping[TimedKind, tuple[str, ...]]] = {
    "moe_block": ("fwd_ms", "fwd_bwd_ms"),
    "dit_block": ("fwd_ms", "fwd_bwd_ms", "fwd_bwd_recompute_ms"),
    "gpt_step": ("ms",),
    "llama_layer_shard": ("fwd_ms", "fwd_bwd_ms", "fwd_bwd_recompute_ms"),
    "gpt_layer_shard": ("fwd_ms", "bwd_ms"),
}


def _parse(lines: Iterable[str], *, where: str) -> Iterator[Timed]:
    reader = csv.DictReader(lines)
    names = set(reader.fieldnames or ())
    kind = next(
        (k for k, needed in _KINDS.items() if names >= {*needed, *_TIMES[k][:1]}),
        None,
    )
    if kind is None:
        raise SpecError(
            file=where,
            what="its columns are those of no suite",
            remedy=(
                "the first line is such as "
                f"{','.join((*_KINDS['gpt_layer_shard'], *_TIMES['gpt_layer_shard']))}"
            ),
        )
    for number, values in enumerate(reader, start=1):
        place = Where(file=where, line=number + 1)
        _check(values, kind, place)
        for column in _TIMES[kind]:
            measured_s = _time_s(values.get(column), replace(place, key=column))
            if measured_s is not None:
                yield Timed(
                    row_id=(values.get("row_id") or "").strip() or str(number),
                    number=number,
                    kind=kind,
                    column=column,
                    values=values,
                    measured_s=measured_s,
                )


_WORDS: Final = {"part", "impl", "kind"}
_MODES: Final = {
    "moe_block": ("eager", "compiled", "graph"),
    "dit_block": ("eager", "compiled"),
    "llama_layer_shard": ("eager", "compiled"),
}
_MAY_BE_NONE: Final = {"text_tokens"}


def _check(values: Mapping[str, str], kind: TimedKind, place: Where) -> None:
    for name in _KINDS[kind]:
        text = (values.get(name) or "").strip()
        where = replace(place, key=name)
        if name == "mode":
            if text not in _MODES[kind]:
                raise SpecError(
                    where=where,
                    what=f"{text!r} is unknown",
                    remedy=f"write {' or '.join(_MODES[kind])}",
                )
        elif name in _WORDS:
            if not text:
                raise SpecError(where=where, what="is empty", remedy="say which")
        elif not is_count(text, least=0 if name in _MAY_BE_NONE else 1):
            raise SpecError(
                where=where,
                what=f"{text!r} is not a whole number of 1 and more",
                remedy="correct it",
            )
    if kind == "moe_block":
        return
    tensor = int(values.get("tp") or 1)
    if int(values["heads"]) % tensor:
        raise SpecError(
            where=replace(place, key="tp"),
            what=f"{values['heads']} heads do not divide by {tensor}",
            remedy="correct one",
        )


def is_count(text: str, *, least: int = 1) -> bool:
    """Return whether *text* is a whole number from *least* on."""
    return text.isascii() and text.isdigit() and least <= int(text) < 2**31


def _time_s(text: str | None, where: Where) -> float | None:
    """Return a time in seconds; None where nothing was measured."""
    if text is None or text.strip().lower() in {"", "nan"}:
        return None
    try:
        time_ms = float(text)
    except ValueError:
        time_ms = math.nan
    if not (math.isfinite(time_ms) and time_ms > 0):
        raise SpecError(
            where=where,
            what=f"{text!r} is not a positive number of milliseconds",
            remedy="correct it",
        )
    return time_ms * 1e-3
