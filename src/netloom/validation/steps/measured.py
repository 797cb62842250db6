"""Published training steps: what a row of the table says, read once and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MeasuredStep", "read_step"]

_NEEDED = ("row_id", "gpu", "n_gpus", "seq_len", "global_batch", "step_time_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """One measured training step.

    Attributes:
        params_b: Parameters in 1e9 as the row gives them; None where it does not.
        shape: Those of layers, hidden, ffn_hidden, heads, kv_heads, vocab, experts and topk that
            the row gives.
        degrees: Those of tp, pp, vpp, cp, ep, dp, fsdp and micro_batch that it gives.
        texts: Its free text by column: framework, precision, recompute and the like.
        tier: A: time and inputs all stated; B: time derived; C: an input is missing.
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

    def text(self, column: str) -> str:
        """Return free text in lower case; empty where the row is silent."""
        return self.texts.get(column, "").lower()


def read_step(row: Mapping[str, str], *, where: str) -> MeasuredStep:
    """Return one row of a table in the columns of training_steps.csv.

    Raises:
        SpecError: a column that every row needs is missing or not a number.
    """
    at = f"{where}: row {row.get('row_id') or '?'}"
    missing = [name for name in _NEEDED if not (row.get(name) or "").strip()]
    if missing:
        raise SpecError(
            what=f"{at}: has no {', '.join(missing)}",
            remedy=f"every row needs {', '.join(_NEEDED)}",
        )
    shape = _numbers(row, ("layers", "hidden", "ffn_hidden", "heads", "vocab", "experts", "topk"))
    kv_heads = _number(row.get("kv_heads"))
    if kv_heads is not None or "heads" in shape:
        shape["kv_heads"] = int(kv_heads or shape["heads"])
    degrees = ("tp", "pp", "vpp", "cp", "ep", "dp", "fsdp", "micro_batch")
    return MeasuredStep(
        row_id=row["row_id"],
        source=row.get("source") or where,
        model=row.get("model") or "",
        params_b=_number(row.get("params_b")),
        gpu=row["gpu"],
        gpus_per_node=int(_needed(row, "gpus_per_node", at=at) if row.get("gpus_per_node") else 8),
        num_gpus=int(_needed(row, "n_gpus", at=at)),
        sequence=int(_needed(row, "seq_len", at=at)),
        global_batch=int(_needed(row, "global_batch", at=at)),
        measured_s=_needed(row, "step_time_s", at=at),
        shape=shape,
        degrees=_numbers(row, degrees),
        texts={name: value for name, value in row.items() if value},
        tier=(row.get("tier") or "A").strip().upper(),
    )


def _numbers(row: Mapping[str, str], names: tuple[str, ...]) -> dict[str, int]:
    found = {name: _number(row.get(name)) for name in names}
    return {name: int(value) for name, value in found.items() if value}


def _number(text: str | None) -> float | None:
    """Return the number that *text* begins with, if any."""
    found = re.match(r"\s*(\d+(?:\.\d+)?)", text or "")
    return float(found[1]) if found else None


def _needed(row: Mapping[str, str], name: str, *, at: str) -> float:
    found = _number(row[name])
    if not found:
        raise SpecError(what=f"{at}: {name} {row[name]!r} is not a number above 0")
    return found
