"""``netloom sweep``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.study.sweep.result import Sweep

from netloom.cli.arguments import OptionalWhole
from netloom.cli.exits import Exit

__all__ = ["sweep"]


def sweep(  # noqa: PLR0913  (one option of the command each)
    file: Path,
    /,
    *,
    store: Path = Path("netloom-sweep.db"),
    workers: OptionalWhole = None,
    dask: str | None = None,
    json: bool = False,
    out: Path | None = None,
    report: Path | None = None,
) -> int:
    """Put one question to many scenarios; each answer is kept the moment it is there.

    Every point is checked before any is computed. A point that fails is reported and tried again
    the next time; the exit code is then 1. Ctrl-C, or worse, loses only what was running.

    Args:
        file: A sweep, YAML or JSON; 'netloom example sweep' prints one.
        store: The file that keeps answers; what it has is not computed again.
        workers: Processes to compute in; as many as cores without.
        dask: Compute on the Dask cluster with this scheduler address; 'local' starts one.
        json: Print JSON; keys are documented in docs/models/sweep.md.
        out: Write the table of results to this file, .csv or .arrow.
        report: Write a self-contained HTML page to this file.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.app.sweep.run import run_plan, runner_for  # noqa: PLC0415
    from netloom.cli.output import emit_json, write_atomically  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.study.sweep.plan import plan_sweep  # noqa: PLC0415
    from netloom.study.sweep.questions import QUESTIONS  # noqa: PLC0415

    _check_suffix(out)
    plan = plan_sweep(file, questions=QUESTIONS)
    runner = runner_for(workers=workers, dask=dask)
    num_keys = len({point.key for point in plan.points})
    with _farewell(store), progress(f"asking {plan.question_name}", num_keys) as advance:
        found = run_plan(plan, store=store, runner=runner, advance=advance)
    if out is not None:
        write_atomically(out, _exported(found, out))
    if report is not None:
        from netloom.report.sweep.page import sweep_page  # noqa: PLC0415

        write_atomically(report, sweep_page(found))
    if json:
        emit_json(found.to_json())
    else:
        from rich.console import Console  # noqa: PLC0415

        from netloom.report.sweep.page import sweep_text  # noqa: PLC0415

        Console().print(sweep_text(found))
    return Exit.VERDICT if found.failed else 0


@contextmanager
def _farewell(store: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print(f"{store} has what is done; the same command goes on from there", file=sys.stderr)
        raise


def _check_suffix(out: Path | None) -> None:
    from netloom.errors import SpecError  # noqa: PLC0415

    if out is not None and out.suffix not in {".csv", ".arrow"}:
        message = f"out: {str(out)!r} ends in neither .csv nor .arrow; name such a file"
        raise SpecError(message)


def _exported(found: Sweep, out: Path) -> str | bytes:
    from netloom.results.export import arrow_bytes, csv_text  # noqa: PLC0415

    return csv_text(found.table()) if out.suffix == ".csv" else arrow_bytes(found.table())
