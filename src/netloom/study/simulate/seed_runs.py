"""One seed's run of a step, told apart from the computations that it was run with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.delivery import Delivery
    from netloom.study.simulate.case import EqualLanes
    from netloom.study.simulate.simulation import SeedRun
    from netloom.study.simulate.step_run import StepRun
    from netloom.workload.transfers import Transfers

__all__ = ["noted", "seed_run"]


def seed_run(
    run: SeedRun,
    step: Callable[[Transfers, Delivery], StepRun] | None,
    lanes: EqualLanes | None = None,
) -> SeedRun:
    """Return *run* without computations, which are no flows, and with the step that it was."""
    if step is None:
        return run
    if lanes is not None:
        run = replace(run, copies=lanes.count, delivery=_of_lanes(run.delivery, lanes))
    ended = not run.delivery.partial
    found = step(run.transfers, run.delivery) if ended else None
    keep = np.flatnonzero(run.transfers.size_bytes > 0)
    return replace(
        run,
        transfers=_only(run.transfers, keep),
        delivery=_delivered(run.delivery, keep),
        ideal_ps=run.ideal_ps[keep],
        step=found,
    )


def noted(run: SeedRun, note: str) -> SeedRun:
    """Return *run* with one more thing that a reader must know."""
    return replace(run, delivery=replace(run.delivery, notes=(note, *run.delivery.notes)))


def _of_lanes(delivery: Delivery, lanes: EqualLanes) -> Delivery:
    note = (
        f"the messages of one lane (GPUs of one place in their nodes) stand for those of "
        f"{lanes.count}, which are equal and share nothing; tables are of that lane"
    )
    return replace(
        delivery,
        link_bytes=delivery.link_bytes[lanes.link],
        simulated_share=delivery.simulated_share / lanes.count,
        notes=(note, *delivery.notes),
    )


def _only(transfers: Transfers, keep: np.ndarray[Any, np.dtype[np.int64]]) -> Transfers:
    """Return the transfers to *keep*, and of their waits those for one another."""
    number = np.full(len(transfers), -1, dtype=np.int64)
    number[keep] = np.arange(len(keep))
    begin, end = transfers.wait_offsets[keep], transfers.wait_offsets[keep + 1]
    owner = np.repeat(np.arange(len(keep)), end - begin)
    waited = number[transfers.waits[spans(begin, end)]]
    known = waited >= 0
    count = np.bincount(owner[known], minlength=len(keep))
    return transfers.rows(keep, count, waited[known])


def _delivered(delivery: Delivery, keep: np.ndarray[Any, np.dtype[np.int64]]) -> Delivery:
    tables = dict(delivery.tables)
    if "arrivals" in tables:
        tables["arrivals"] = {name: cells[keep] for name, cells in tables["arrivals"].items()}
    if "trace" in tables:
        place = np.searchsorted(keep, tables["trace"]["transfer"])
        tables["trace"] = {**tables["trace"], "transfer": place}
    return replace(
        delivery,
        start_ps=delivery.start_ps[keep],
        finish_ps=delivery.finish_ps[keep],
        tables=tables,
    )
