"""Published training steps: what a row of the table says, read once and checked."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MeasuredStep", "read_step", "read_steps"]

_NEEDED = ("gpu", "n_gpus", "seq_len", "global_batch")

_NUMBER = re.compile(r"\s*(\d{1,3}(?:,\d{3})+(?![\d,])|\d+(?:\.\d+)?(?![.,]?\d))")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """One measured training step.

    Attributes:
        row_id: As the file has it, or the row's number in it, from 1.
        params_b: Parameters in 1e9 as the row gives them; None where it does not.
        shape: Those of layers, hidden, ffn_hidden, heads, kv_heads, vocab, experts and topk that
            the row gives.
        degrees: Those of tp, pp, vpp, cp, ep, dp, fsdp and micro_batch that it gives.
        texts: Its free text by column: framework, precision, recompute and the like.
        tier: A: time and inputs all stated; B: time derived; C: an input is missing.
        unread: Why the row cannot be run; of its numbers only the measured one then counts.
    """

    row_id: str
    source: str
    model: str
    params_b: float | None
    gpu: str
    gpus_per_node: int
    num_gpus: int
    sequence: int
    global_batch: int
    measured_s: float
    shape: Mapping[str, int]
    degrees: Mapping[str, int]
    texts: Mapping[str, str]
    tier: str
    unread: str = ""

    def text(self, column: str) -> str:
        """Return free text in lower case; empty where the row is silent."""
        return self.texts.get(column, "").lower()

    @property
    def spread_pct(self) -> float | None:
        """How far apart the run's own steps are: 95 over 5 % quantile, less 1, in percent."""
        low, high = (_number(self.texts.get(name)) for name in ("step_p5_s", "step_p95_s"))
        return 100 * (high / low - 1) if low and high and high >= low else None

    @property
    def divides_weights(self) -> bool:
        """Whether ranks divide the weights (FSDP); in Megatron-Bridge's tables 1 is yes, too."""
        flags = {"yes", "true", "1"} if "bridge" in self.text("framework") else {"yes", "true"}
        return self.degrees.get("fsdp", 0) > 1 or self.text("fsdp").strip() in flags


def read_steps(lines: Iterable[str], *, where: str) -> tuple[MeasuredStep, ...]:
    """Return the rows of a table in the columns of training_steps.csv.

    A row that lacks something is kept, and says so, as long as it has a measured time.

    Raises:
        SpecError: a row has no measured time.
    """
    reader = csv.DictReader(lines)
    return tuple(_read_or_keep(row, where, number) for number, row in enumerate(reader, start=1))


def _read_or_keep(row: Mapping[str, str], where: str, number: int) -> MeasuredStep:
    try:
        return read_step(row, where=where, number=number)
    except SpecError as error:
        if not _number(row.get("step_time_s")):
            raise
        plain = {"gpu": "?", "gpus_per_node": "", "n_gpus": "1", "seq_len": "1"}
        kept = {**row, **plain, "global_batch": "1", "gpu": row.get("gpu") or "?"}
        return replace(read_step(kept, where=where, number=number), unread=str(error))


def read_step(
    row: Mapping[str, str], *, where: str, number: int = 1, timed: bool = True
) -> MeasuredStep:
    """Return one row of a table in the columns of training_steps.csv.

    Args:
        row: Text by column.
        where: The file's name, for errors.
        number: Of the row in its file, from 1.
        timed: Whether it must have a measured time; without, that is 0.

    Raises:
        SpecError: a column that every row needs is missing or not a number.
    """
    row_id = (row.get("row_id") or "").strip() or str(number)
    at = f"{where}: row {row_id}"
    needed = (*_NEEDED, "step_time_s") if timed else _NEEDED
    missing = [name for name in needed if not (row.get(name) or "").strip()]
    if missing:
        raise SpecError(
            what=f"{at}: has no {', '.join(missing)}",
            remedy=f"every row needs {', '.join(needed)}",
        )
    shape = _numbers(row, ("layers", "hidden", "ffn_hidden", "heads", "vocab", "experts", "topk"))
    kv_heads = _number(row.get("kv_heads"))
    if kv_heads is not None or "heads" in shape:
        shape["kv_heads"] = int(kv_heads or shape["heads"])
    degrees = ("tp", "pp", "vpp", "cp", "ep", "dp", "fsdp", "micro_batch")
    return MeasuredStep(
        row_id=row_id,
        source=row.get("source") or where,
        model=row.get("model") or "",
        params_b=_number(row.get("params_b")),
        gpu=row["gpu"],
        gpus_per_node=int(_needed(row, "gpus_per_node", at=at) if row.get("gpus_per_node") else 8),
        num_gpus=int(_needed(row, "n_gpus", at=at)),
        sequence=int(_needed(row, "seq_len", at=at)),
        global_batch=int(_needed(row, "global_batch", at=at)),
        measured_s=_time_s(row, at=at) if timed else 0.0,
        shape=shape,
        degrees=_numbers(row, degrees),
        texts={name: value for name, value in row.items() if value},
        tier=(row.get("tier") or "A").strip().upper(),
    )


def _numbers(row: Mapping[str, str], names: tuple[str, ...]) -> dict[str, int]:
    found = {name: _number(row.get(name)) for name in names}
    return {name: int(value) for name, value in found.items() if value}


def _number(text: str | None) -> float | None:
    """Return the number that *text* begins with, if any: ``64 (8 x 8)``, ``4,608``."""
    found = _NUMBER.match(text or "")
    return float(found[1].replace(",", "")) if found else None


def _time_s(row: Mapping[str, str], *, at: str) -> float:
    """Return the measured time; a comma in it could be a decimal point or part thousands."""
    if "," in row["step_time_s"]:
        raise SpecError(
            what=f"{at}: step_time_s {row['step_time_s']!r} has a comma",
            remedy="write seconds with a decimal point and nothing between thousands",
        )
    return _needed(row, "step_time_s", at=at)


def _needed(row: Mapping[str, str], name: str, *, at: str) -> float:
    found = _number(row[name])
    if not found:
        raise SpecError(what=f"{at}: {name} {row[name]!r} is not a number above 0")
    return found
