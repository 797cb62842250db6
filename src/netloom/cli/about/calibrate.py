"""``netloom calibrate gpu``: measure the operators of a GPU."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from netloom.cli.progress import progress
from netloom.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.calibrate.gpu import OperatorTrial

__all__ = ["calibrate"]


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


def calibrate(
    what: str = "gpu",
    *,
    out: Path = Path("gpu-calibration.csv"),
    quick: bool = False,
    minutes: float = 10.0,
) -> None:
    """Measure how long operators take on this machine's GPU, with PyTorch.

    Each result is added to the file as it is made: stop it whenever you like and start it again
    to go on. Name the file as ``calibration`` of a GPU in a file of your own parts.

    Args:
        what: What to measure: ``gpu``.
        out: Where to write, or to go on writing.
        quick: Measure a third of the shapes.
        minutes: Stop after so long.
    """
    if what != "gpu":
        message = f"calibrate: {what!r} is unknown; write 'netloom calibrate gpu'"
        raise SpecError(message)
    if not minutes > 0:
        message = f"--minutes: {minutes} is not a time; give a positive number"
        raise SpecError(message)
    from netloom.drivers.torch_gpu import TorchGpu  # noqa: PLC0415  (only this needs it)

    done, left = measure(TorchGpu(), out, quick=quick, limit_s=60 * minutes)
    rest = f"; {left} shapes are left: run it again to go on" if left else ""
    print(f"{done} operators measured into {out}{rest}")


def measure(gpu: Stopwatch, out: Path, *, quick: bool, limit_s: float) -> tuple[int, int]:
    """Add what *out* lacks, for *limit_s* at most; return how many were measured and are left."""
    from netloom.compute.tables import COLUMNS  # noqa: PLC0415
    from netloom.study.calibrate.gpu import plan, remaining  # noqa: PLC0415

    head = ",".join(COLUMNS) + "\n"
    try:
        if not out.exists() or out.stat().st_size == 0:
            out.write_text(head, encoding="utf-8")
        lines = out.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{out}: cannot be used ({error}); name another file"
        raise OutputError(message) from error
    trials = remaining(plan(quick=quick, fp8=gpu.has_fp8), lines, where=str(out))
    tried = _run(gpu, trials, out, limit_s)
    return tried, len(trials) - tried


def _run(gpu: Stopwatch, trials: Sequence[OperatorTrial], out: Path, limit_s: float) -> int:
    """Measure one trial after another and return how many were tried in time."""
    from netloom.study.calibrate.gpu import line  # noqa: PLC0415

    source, end = gpu.source, time.perf_counter() + limit_s
    with progress("measuring", len(trials)) as advance, out.open("a", encoding="utf-8") as file:
        for number, trial in enumerate(trials):
            if time.perf_counter() > end:
                return number
            time_s = gpu.time_s(trial.operator, trial.precision, trial.shape)
            if time_s is not None:
                file.write(line(trial, time_s, source) + "\n")
                file.flush()
            advance()
    return len(trials)
