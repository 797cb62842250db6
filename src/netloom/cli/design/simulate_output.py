"""What ``netloom simulate`` prints and writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from netloom.study.simulate.run import SimulationCase
    from netloom.study.simulate.simulation import Simulation

__all__ = ["announce", "show", "write_all"]

LONG_S: Final = 10.0


def announce(case: SimulationCase, seed: int) -> None:
    """Say on standard error how long a long run will take."""
    from netloom.study.simulate.cost import cost_of  # noqa: PLC0415

    cost = cost_of(case, seed)
    if cost.wall_s > LONG_S:
        print(
            f"netloom: about {cost.count:,} {cost.unit}, {cost.wall_s:,.0f} s or more for each "
            "seed; congestion makes it longer",
            file=sys.stderr,
        )


def write_all(
    found: Simulation,
    *,
    out: Path | None,
    report: Path | None,
    fct: Path | None,
    node: NDArray[np.int64] | None,
) -> None:
    """Write what was asked for: tables, page, completion times.

    Raises:
        OutputError: a file cannot be written.
    """
    from netloom.cli.output import write_atomically  # noqa: PLC0415

    if out is not None:
        _write_tables(found, out)
    if report is not None:
        from netloom.report.simulate.page import simulation_page  # noqa: PLC0415

        write_atomically(report, simulation_page(found))
    if fct is not None:
        import numpy as np  # noqa: PLC0415

        from netloom.formats.simulators.ns3 import write_fct  # noqa: PLC0415

        run = found.first
        text = write_fct(
            run.transfers,
            np.arange(len(found.grid.name)) if node is None else node,
            start_ps=run.delivery.start_ps,
            finish_ps=run.delivery.finish_ps,
            ideal_ps=run.ideal_ps,
        )
        write_atomically(fct, text)


def _write_tables(found: Simulation, folder: Path) -> None:
    from netloom.cli.output import write_atomically  # noqa: PLC0415
    from netloom.errors import OutputError  # noqa: PLC0415
    from netloom.results.export import arrow_bytes  # noqa: PLC0415

    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        message = f"{folder}: cannot be made a folder ({error.strerror}); name another"
        raise OutputError(message) from error
    for name, table in found.tables().items():
        write_atomically(folder / f"{name}.arrow", arrow_bytes(table))


def show(found: Simulation, *, json: bool, report: Path | None) -> None:
    """Print the results."""
    if json:
        from netloom.cli.output import emit_json  # noqa: PLC0415

        emit_json(found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.simulate.text import simulation_text  # noqa: PLC0415

    console = Console()
    console.print(simulation_text(found))
    if report is not None:
        console.print(f"\nReport: {report}", highlight=False, markup=False)
