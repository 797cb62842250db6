"""Measure the operators of a GPU into a file, as far as time allows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from netloom.compute.tables import COLUMNS
from netloom.errors import OutputError, SpecError
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.calibrate.gpu import line, plan, remaining

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from netloom.results.progress import OnProgress
    from netloom.study.calibrate.gpu import OperatorTrial

__all__ = ["Calibration", "Stopwatch", "calibrate", "measure"]


class Stopwatch(Protocol):
    """Whatever times operators."""

    @property
    def source(self) -> str:
        """What the table names as its source."""

    @property
    def has_fp8(self) -> bool:
        """Whether it multiplies in fp8."""

    def time_s(self, operator: str, precision: str, shape: tuple[int, ...]) -> float | None:
        """Return the time of one run; None where it cannot run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(Tabular):
    """What a run of ``calibrate`` measured.

    Attributes:
        file: Where the times are.
        measured: Operators that were tried in this run.
        left: Shapes that time did not suffice for.
    """

    file: Path
    measured: int
    left: int

    def table(self) -> Table:
        """Return what it did, in one row."""
        return Table.from_rows([self.to_json()])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {"file": str(self.file), "measured": self.measured, "left": self.left}


def calibrate(
    out: str | os.PathLike[str] = "gpu-calibration.csv",
    *,
    quick: bool = False,
    minutes: float = 10.0,
    gpu: Stopwatch | None = None,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Measure how long operators take on this machine's GPU, with PyTorch.

    Each result is added to the file as it is made: a second run goes on where the first stopped.

    >>> import netloom as nl
    >>> nl.calibrate("h100.csv", quick=True).left  # doctest: +SKIP

    Args:
        out: The file to write, or to go on writing.
        quick: Measure a third of the shapes.
        minutes: Stop after this time.
        gpu: What times operators; default: the GPU that PyTorch finds.
        on_progress: Told how many shapes are done, and how many were left.

    Raises:
        SpecError: the time is not positive.
        LabError: PyTorch or a GPU is missing.
        OutputError: the file cannot be used.
    """
    if not minutes > 0:
        raise SpecError(
            option="--minutes", what=f"{minutes} is not a time", remedy="give a positive number"
        )
    return measure(
        gpu or _torch_gpu(), Path(out), quick=quick, limit_s=60 * minutes, on_progress=on_progress
    )


def measure(
    gpu: Stopwatch,
    out: Path,
    *,
    quick: bool,
    limit_s: float,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Add what *out* lacks, for *limit_s* at most."""
    trials = _trials(gpu, out, quick=quick)
    tried = _measure(gpu, trials, out, limit_s=limit_s, on_progress=on_progress)
    return Calibration(file=out, measured=tried, left=len(trials) - tried)


def _torch_gpu() -> Stopwatch:
    from netloom.drivers.torch_gpu import TorchGpu  # noqa: PLC0415  (needs PyTorch)

    return TorchGpu()


def _trials(gpu: Stopwatch, out: Path, *, quick: bool) -> Sequence[OperatorTrial]:
    """Return what the file lacks; a file that is not there is begun."""
    try:
        if not out.exists() or out.stat().st_size == 0:
            out.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        lines = out.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(
            file=str(out), what=f"cannot be used ({error})", remedy="name another file"
        ) from error
    return remaining(plan(quick=quick, fp8=gpu.has_fp8), lines, where=str(out))


def _measure(
    gpu: Stopwatch,
    trials: Sequence[OperatorTrial],
    out: Path,
    *,
    limit_s: float,
    on_progress: OnProgress | None,
) -> int:
    """Measure one trial after another and return how many were tried in time."""
    source, end_s = gpu.source, perf_counter() + limit_s
    advance = counter(on_progress, len(trials))
    with out.open("a", encoding="utf-8") as file:
        for number, trial in enumerate(trials):
            if perf_counter() > end_s:
                return number
            time_s = gpu.time_s(trial.operator, trial.precision, trial.shape)
            if time_s is not None:
                file.write(line(trial, time_s, source) + "\n")
                file.flush()
            advance()
    return len(trials)
