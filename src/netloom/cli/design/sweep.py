"""``netloom sweep``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netloom.app.sweep.run import run_plan, runner_for
from netloom.cli.arguments import OptionalWhole
from netloom.cli.exits import Exit
from netloom.cli.options import PageOutput
from netloom.cli.output import write_atomically
from netloom.cli.progress import reporting
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.report.sweep.page import sweep_page, sweep_text
from netloom.results.export import arrow_bytes, csv_text
from netloom.study.sweep.plan import plan_sweep
from netloom.study.sweep.questions import QUESTIONS
from netloom.study.sweep.result import Sweep

__all__ = ["sweep"]


def sweep(
    file: Path,
    /,
    *,
    store: Path = Path("netloom-sweep.db"),
    workers: OptionalWhole = None,
    dask: str | None = None,
    out: Path | None = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Put one question to many scenarios; each answer is kept the moment it is there.

    Every point is checked before any is computed. A point that fails is reported and tried again
    the next time; the exit code is then 1. Ctrl-C, or worse, loses only what was running. Keys of
    the JSON are documented in docs/models/sweep.md.

    Args:
        file: A sweep, YAML or JSON; 'netloom example sweep' prints one.
        store: The file that keeps answers; what it has is not computed again.
        workers: Processes to compute in; default: as many as cores.
        dask: Compute on the Dask cluster with this scheduler address; 'local' starts one.
        out: Write the table of results to this file, .csv or .arrow.
    """
    _check_suffix(out)
    plan = plan_sweep(file, questions=QUESTIONS)
    runner = runner_for(workers=workers, dask=dask)
    with _farewell(store), reporting(f"asking {plan.question_name}") as told:
        found = run_plan(plan, store=store, runner=runner, on_progress=told)
    if out is not None:
        write_atomically(out, _exported(found, out))
    code = show(found, output, lambda: sweep_text(found), page=lambda: sweep_page(found))
    return Exit.VERDICT if found.failed else code


@contextmanager
def _farewell(store: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print(f"{store} has what is done; the same command goes on from there", file=sys.stderr)
        raise


def _check_suffix(out: Path | None) -> None:
    if out is not None and out.suffix not in {".csv", ".arrow"}:
        raise SpecError(
            key="out",
            what=f"{str(out)!r} ends in neither .csv nor .arrow",
            remedy="name such a file",
        )


def _exported(found: Sweep, out: Path) -> str | bytes:
    return csv_text(found.table()) if out.suffix == ".csv" else arrow_bytes(found.table())
