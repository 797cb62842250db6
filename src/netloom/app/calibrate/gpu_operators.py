"""Measure the operators of a GPU into a file, as far as time allows."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from netloom.app.calibrate.own_file import write_section
from netloom.compute.tables import COLUMNS
from netloom.errors import OutputError, SpecError
from netloom.parts.load import load_catalog
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.calibrate.cluster import is_gpu
from netloom.study.calibrate.gpu import line, plan, remaining
from netloom.study.calibrate.own_catalog import gpu_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.results.progress import OnProgress
    from netloom.study.calibrate.gpu import OperatorTrial

__all__ = ["Calibration", "Stopwatch", "gpu", "measure"]


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
        catalog: The file of parts that names it; None for none.
    """

    file: Path
    measured: int
    left: int
    catalog: Path | None = None

    def table(self) -> Table:
        """Return what it did, in one row."""
        return Table.from_rows([self.to_json()])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "file": str(self.file),
            "measured": self.measured,
            "left": self.left,
            "catalog": "" if self.catalog is None else str(self.catalog),
        }


def gpu(  # noqa: PLR0913  (one option of the command each)
    out: str | os.PathLike[str] = "gpu-calibration.csv",
    *,
    quick: bool = False,
    minutes: float = 10.0,
    catalog: str | os.PathLike[str] | None = None,
    name: str = "",
    device: Stopwatch | None = None,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Measure how long operators take on this machine's GPU, with PyTorch.

    Each result is added to the file as it is made: a second run goes on where the first stopped.

    >>> import netloom as nl
    >>> nl.calibrate.gpu("h100.csv", quick=True).left  # doctest: +SKIP

    Args:
        out: The file to write, or to go on writing.
        quick: Measure a third of the shapes.
        minutes: Stop after this time.
        catalog: A file of parts that is to name *out* as this GPU's; the rest of it stays.
        name: The GPU as the catalogue calls it; default: the one that the driver's name means.
        device: What times operators; default: the GPU that PyTorch finds.
        on_progress: Told how many shapes are done, and how many were left.

    Raises:
        SpecError: the time is not positive, or the GPU's name in the catalogue is not plain.
        LabError: PyTorch or a GPU is missing.
        OutputError: a file cannot be used.
    """
    if not minutes > 0:
        raise SpecError(
            option="--minutes", what=f"{minutes} is not a time", remedy="give a positive number"
        )
    timer = device or _torch_gpu()
    known = "" if catalog is None else _catalogued(name, timer.source, Path(catalog))
    limit_s = 60 * minutes
    found = measure(timer, Path(out), quick=quick, limit_s=limit_s, on_progress=on_progress)
    if catalog is None:
        return found
    own = Path(catalog)
    beside = os.path.relpath(Path(out).resolve(), own.resolve().parent)
    write_section(own, f"gpu {known}", gpu_section(known, beside, timer.source))
    return replace(found, catalog=own)


def _catalogued(name: str, source: str, own: Path) -> str:
    """Return the catalogue's name of the GPU: as given, or the only one that *source* means."""
    known = load_catalog(own if own.exists() else None)
    if name:
        return known.gpu(name).name
    meant = [gpu for gpu in known.gpus if is_gpu(source, gpu)]
    if len(meant) == 1:
        return meant[0]
    raise SpecError(
        option="--gpu",
        what=f"{source!r} does not tell the GPU of the catalogue",
        remedy=f"choose {' or '.join(meant)}" if meant else "'netloom catalog gpus' lists them",
    )


def measure(
    timer: Stopwatch,
    out: Path,
    *,
    quick: bool,
    limit_s: float,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Add what *out* lacks, for *limit_s* at most."""
    trials = _trials(timer, out, quick=quick)
    tried = _measure(timer, trials, out, limit_s=limit_s, on_progress=on_progress)
    return Calibration(file=out, measured=tried, left=len(trials) - tried)


def _torch_gpu() -> Stopwatch:
    from netloom.drivers.torch_gpu import TorchGpu  # noqa: PLC0415  (needs PyTorch)

    return TorchGpu()


def _trials(timer: Stopwatch, out: Path, *, quick: bool) -> Sequence[OperatorTrial]:
    """Return what the file lacks; a file that is not there is begun."""
    try:
        if not out.exists() or out.stat().st_size == 0:
            out.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        lines = out.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(
            file=str(out), what=f"cannot be used ({error})", remedy="name another file"
        ) from error
    return remaining(plan(quick=quick, fp8=timer.has_fp8), lines, where=str(out))


def _measure(
    timer: Stopwatch,
    trials: Sequence[OperatorTrial],
    out: Path,
    *,
    limit_s: float,
    on_progress: OnProgress | None,
) -> int:
    """Measure one trial after another and return how many were tried in time."""
    source, end_s = timer.source, perf_counter() + limit_s
    advance = counter(on_progress, len(trials))
    with out.open("a", encoding="utf-8") as file:
        for number, trial in enumerate(trials):
            if perf_counter() > end_s:
                return number
            time_s = timer.time_s(trial.operator, trial.precision, trial.shape)
            if time_s is not None:
                file.write(line(trial, time_s, source) + "\n")
                file.flush()
            advance()
    return len(trials)
