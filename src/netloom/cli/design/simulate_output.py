"""What ``netloom simulate`` says before it runs, and writes after."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.simulate import fct_text
from netloom.errors import OutputError
from netloom.results.export import arrow_bytes
from netloom.results.write import write_atomically
from netloom.study.simulate.cost import cost_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from netloom.study.simulate.run import SimulationCase
    from netloom.study.simulate.simulation import Simulation

__all__ = ["announce", "write_all"]

LONG_S: Final = 10.0


def announce(case: SimulationCase, seed: int) -> None:
    """Say on standard error how long a long run will take."""
    cost = cost_of(case, seed)
    if cost.wall_s <= LONG_S:
        return
    took = f"{cost.count:,} {cost.unit}, {cost.wall_s:,.0f} s"
    if getattr(case.runner, "skips", False):
        line = f"at most about {took} for each seed and round; what meets no other is not moved"
    else:
        line = f"about {took} or more for each seed; congestion makes it longer"
    print(f"netloom: {line}", file=sys.stderr)


def write_all(
    found: Simulation,
    *,
    out: Path | None,
    fct: Path | None,
    node: NDArray[np.int64] | None,
) -> None:
    """Write what was asked for: tables, completion times.

    Raises:
        OutputError: a file cannot be written.
    """
    if out is not None:
        _write_tables(found, out)
    if fct is not None:
        write_atomically(fct, fct_text(found, node))


def _write_tables(found: Simulation, folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(
            file=str(folder),
            what=f"cannot be made a folder ({error.strerror})",
            remedy="name another",
        ) from error
    for name, table in found.tables().items():
        write_atomically(folder / f"{name}.arrow", arrow_bytes(table))
