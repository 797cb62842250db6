"""Measured memory: what rows of the tables say, read once and checked."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.spec.files import read_text
from netloom.validation.steps.measured import read_step
from netloom.validation.steps.suite import shipped_step_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["LocalStep", "LoggedPeak", "MeasuredMemory", "read_memory_rows", "shipped_memory_rows"]

_LARGEST_FILE_BYTES: Final = 64 * 2**20
_WHOLE: Final = (
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "layers",
    "vocab",
    "micro_batch",
    "seq",
)
_QUANTITIES: Final = ("static_bytes", "forward_end_bytes", "peak_allocated_bytes")
_GIB: Final = 2**30
# What SimuMax's rows of the table of steps say of memory.
_PEAK_NOTE: Final = re.compile(r"peak alloc ([\d.]+) GiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalStep:
    """A whole step on one GPU, and what its allocator showed.

    Attributes:
        shape: Whole numbers by column; ``experts`` and ``top_k`` are 0 for dense models.
        texts: ``model``, ``precision``, ``recompute`` and ``mode``.
        measured_bytes: By quantity: those of static, end of forward and peak that the row gives.
    """

    row_id: str
    shape: Mapping[str, int]
    texts: Mapping[str, str]
    measured_bytes: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedPeak:
    """The peak that a training run logged.

    Attributes:
        peak_bytes: Of the GPU that wrote the log.
        first_stage: Whether that is one of the first stage; else the fullest.
        assumed: What the row does not say of its unit and its GPU.
    """

    step: MeasuredStep
    peak_bytes: float
    first_stage: bool
    assumed: str

    @property
    def row_id(self) -> str:
        """Of the step."""
        return self.step.row_id


MeasuredMemory = LocalStep | LoggedPeak


def shipped_memory_rows() -> tuple[MeasuredMemory, ...]:
    """Return what netloom ships: steps on one H200, and peaks of published runs."""
    found: list[MeasuredMemory] = []
    folder = resources.files("netloom.validation.memory").joinpath("data")
    name = "h200_step_memory.csv"
    found += _parse(folder.joinpath(name).read_text("utf-8").splitlines(), where=name)
    found += (peak for row in shipped_step_rows() if (peak := _logged(row, where="")) is not None)
    return tuple(found)


def read_memory_rows(path: Path) -> tuple[MeasuredMemory, ...]:
    """Return the rows of a CSV file in the columns of one of the shipped tables.

    Raises:
        SpecError: the file cannot be read, has other columns, or a row is wrong.
    """
    text = read_text(path, max_bytes=_LARGEST_FILE_BYTES, wanted="a CSV table of memory")
    rows = tuple(_parse(text.splitlines(), where=path.name))
    if not rows:
        raise SpecError(
            file=str(path),
            what="has no row with a measured memory",
            remedy="fill static_bytes, forward_end_bytes and peak_allocated_bytes, or "
            "peak_memory_gb",
        )
    return rows


def _parse(lines: Iterable[str], *, where: str) -> Iterator[MeasuredMemory]:
    reader = csv.DictReader(lines)
    names = set(reader.fieldnames or ())
    if names >= {*_WHOLE, "precision", "recompute"} and names & set(_QUANTITIES):
        for number, row in enumerate(reader, start=1):
            yield _local(row, number, where=f"{where}:{number + 1}")
        return
    if "peak_memory_gb" not in names:
        raise SpecError(
            what=f"{where}: its columns are not those of memory",
            remedy=f"name {','.join((*_WHOLE, 'precision', 'recompute', *_QUANTITIES))}, or the "
            "columns of a table of steps with peak_memory_gb",
        )
    for number, row in enumerate(reader, start=1):
        if (row.get("peak_memory_gb") or "").strip():
            step = read_step(row, where=where, number=number, timed=False)
            found = _logged(step, where=where)
            if found is not None:
                yield found


def _local(row: Mapping[str, str | None], number: int, *, where: str) -> LocalStep:
    shape = {name: _whole(row.get(name), f"{where}: {name}") for name in _WHOLE}
    for name in ("experts", "top_k"):
        text = (row.get(name) or "0").strip()
        shape[name] = 0 if text == "0" else _whole(text, f"{where}: {name}")
    if shape["heads"] % shape["kv_heads"]:
        raise SpecError(
            what=f"{where}: kv_heads: {shape['kv_heads']} do not divide {shape['heads']} heads",
            remedy="correct one",
        )
    measured = {name: _bytes(row.get(name), f"{where}: {name}") for name in _QUANTITIES}
    return LocalStep(
        row_id=(row.get("row_id") or "").strip() or str(number),
        shape=shape,
        texts={
            name: (row.get(name) or "").strip().lower()
            for name in ("model", "precision", "recompute", "mode")
        },
        measured_bytes={name: size for name, size in measured.items() if size is not None},
    )


def _logged(step: MeasuredStep, *, where: str) -> LoggedPeak | None:
    """Return the peak of *step*; None where it has none.

    MLPerf's logs do not name the unit of max_memory_usage. Over four runs of one plan it falls
    with the data-parallel degree by 67.5 units for a whole copy of the optimizer's states; these
    are 12 bytes of 6.24e9 parameters, 69.7 GiB or 74.9 GB: so it is GiB. The first rank logs.
    """
    noted = _PEAK_NOTE.search(step.texts.get("notes", ""))
    text = step.texts.get("peak_memory_gb", "")
    if text:
        size = _bytes(text, f"{where}: row {step.row_id}: peak_memory_gb")
        mlperf = "mlcommons" in step.text("source") or "mlperf" in step.text("framework")
        unit, said = (_GIB, "GiB, of the first stage") if mlperf else (10**9, "GB, of the fullest")
        return LoggedPeak(
            step=step,
            peak_bytes=(size or 0.0) * unit,
            first_stage=mlperf,
            assumed=f"peak_memory_gb is taken as {said}.",
        )
    if not noted:
        return None
    return LoggedPeak(step=step, peak_bytes=float(noted[1]) * _GIB, first_stage=False, assumed="")


def _whole(text: str | None, where: str) -> int:
    clean = (text or "").strip()
    if not (clean.isascii() and clean.isdigit() and 0 < int(clean) < 2**31):
        raise SpecError(
            what=f"{where}: {clean!r} is not a whole number of 1 and more", remedy="correct it"
        )
    return int(clean)


def _bytes(text: str | None, where: str) -> float | None:
    clean = (text or "").strip().lower()
    if clean in {"", "nan"}:
        return None
    try:
        size = float(clean)
    except ValueError:
        size = math.nan
    if not (math.isfinite(size) and size > 0):
        raise SpecError(what=f"{where}: {text!r} is not a positive number", remedy="correct it")
    return size
