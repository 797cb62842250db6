"""``netloom calibrate gpu``: measure the operators of a GPU."""

from __future__ import annotations

from pathlib import Path

from netloom.app.calibrate import calibrate as calibrate_gpu
from netloom.cli.options import Output
from netloom.cli.progress import reporting
from netloom.cli.show import show
from netloom.errors import SpecError

__all__ = ["calibrate"]


def calibrate(
    what: str = "gpu",
    *,
    out: Path = Path("gpu-calibration.csv"),
    quick: bool = False,
    minutes: float = 10.0,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Measure how long operators take on this machine's GPU, with PyTorch.

    Each result is added to the file as it is made: stop it whenever you like and start it again
    to go on. Name the file as ``calibration`` of a GPU in a file of your own parts.

    Args:
        what: What to measure: ``gpu``.
        out: Where to write, or to go on writing.
        quick: Measure a third of the shapes.
        minutes: Stop after this time.
    """
    if what != "gpu":
        raise SpecError(
            key="calibrate", what=f"{what!r} is unknown", remedy="write 'netloom calibrate gpu'"
        )
    with reporting("measuring") as told:
        found = calibrate_gpu(out, quick=quick, minutes=minutes, on_progress=told)
    rest = f"; {found.left} shapes are left: run it again to go on" if found.left else ""
    return show(found, output, lambda: f"{found.measured} operators measured into {out}{rest}")
