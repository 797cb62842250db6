"""What a step takes for each way to lay a job over its sites; delays and rates may be arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from netloom.step.across.exchange import (
    bytes_each_way,
    exchange_s,
    exposed_exchange_s,
    local_exposed_s,
    outer_bytes,
)
from netloom.step.across.pipeline import SiteCrossing, extra_in_flight, schedule_s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.study.span.case import CutCase
    from netloom.study.span.reliability import Repair

    Numbers = float | NDArray[np.float64]
    Repairs = Mapping["PlacementKind", Repair]

__all__ = [
    "PLACEMENTS",
    "PlacementKind",
    "SitePlacement",
    "crossed_s",
    "more_in_flight",
    "step_s",
    "table_of",
]

PlacementKind = Literal["data", "pipeline", "both", "local"]
PLACEMENTS: Final[tuple[PlacementKind, ...]] = ("data", "pipeline", "both", "local")


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePlacement:
    """One row of the table of placements.

    Attributes:
        cut: Stages before each crossing; empty where the pipeline stays inside.
        more_in_flight: Micro-batches in flight before the cut beyond those of 1F1B.
        bytes_over_cut: By one direction of the busiest span, a step.
        exposed_s: What the sites add to the step.
        fits: Whether the extra memory does.
        note: What a reader must know.
    """

    placement: PlacementKind
    cut: tuple[int, ...]
    more_in_flight: int
    step_time_s: float
    efficiency: float
    bytes_over_cut: float
    exposed_s: float
    extra_memory_bytes: float
    fits: bool
    note: str


def more_in_flight(case: CutCase, delay_s: float) -> int:
    """Return the micro-batches that hide *delay_s*, as far as memory and the step have them."""
    slowest = max(range(len(case.forward_s)), key=lambda i: case.forward_s[i] + case.backward_s[i])
    most = case.num_in_a_batch
    turn_s = case.forward_s[slowest] + case.backward_s[slowest]
    if delay_s < most * turn_s:
        most = extra_in_flight(delay_s, case.forward_s[slowest], case.backward_s[slowest])
    room = int(max(0.0, case.free_memory_bytes) // max(case.batch_memory_bytes, 1.0))
    # The stage before the last cut has this many in flight already, and no more than all.
    already = len(case.forward_s) - case.cuts[-1] + 1
    return max(0, min(most, room, case.num_in_a_batch - already))


def step_s(
    case: CutCase,
    kind: PlacementKind,
    delay_s: Numbers,
    rate_bps: Numbers,
    *,
    repairs: Repairs,
    more: int = 0,
) -> Numbers:
    """Return the step's time; *more* micro-batches are in flight before the cut.

    *repairs* say how losses are repaired, of gradients, activations and outer updates.
    """
    if kind == "local":
        return case.one_site_s + _local_extra_s(case, delay_s, rate_bps, repairs["local"])
    extra: Numbers = 0.0
    if kind in ("pipeline", "both"):
        extra = extra + _pipeline_extra_s(case, delay_s, rate_bps, repairs["pipeline"], more)
    if kind in ("data", "both"):
        extra = extra + _data_extra_s(case, delay_s, rate_bps, repairs["data"])
    return case.one_site_s + extra


def _data_extra_s(case: CutCase, delay_s: Numbers, rate_bps: Numbers, repair: Repair) -> Numbers:
    sent = bytes_each_way(case.volume_bytes, case.num_sites, case.shape)
    left_bps = rate_bps * repair.rate_share / (1 + repair.line_overhead)
    exposed_s = exposed_exchange_s(
        sent * 8 / left_bps + 2 * delay_s * repair.waits_rtts,
        case.inside_s,
        delays_s=case.hops * delay_s,
        hidden_s=case.hidden_s,
        inside_exposed_s=case.inside_exposed_s,
        chunks=case.sync.chunks,
    )
    gathered = bytes_each_way(case.unhidden_bytes, case.num_sites, case.shape)
    weights_s = gathered * 8 / left_bps + (2 * case.hops * delay_s if gathered else 0.0)
    return exposed_s + weights_s


def crossed_s(case: CutCase, delay_s: Numbers, rate_bps: Numbers, more: int) -> Numbers:
    """Return the event schedule's time with crossings; interleaving is off."""
    delays, rates = np.broadcast_arrays(np.asarray(delay_s, float), np.asarray(rate_bps, float))
    crossings = [
        SiteCrossing(after=cut - 1, delay_s=delays, busy_s=case.activation_bytes * 8 / rates)
        for cut in case.cuts
    ]
    # The first stage ends a batch last, and begins the next one when it has.
    return case.accumulation * schedule_s(
        case.forward_s,
        case.backward_s,
        num_micro_batches=case.num_in_a_batch,
        crossings=crossings,
        more_in_flight=more,
    )


def _pipeline_extra_s(
    case: CutCase, delay_s: Numbers, rate_bps: Numbers, repair: Repair, more: int
) -> Numbers:
    """Return what crossings add over the pipeline of the one-site step.

    What repairs losses takes its share of the line, and each micro-batch waits for its own.
    """
    waited_s = delay_s * (1 + 2 * repair.waits_rtts)
    left_bps = rate_bps * repair.rate_share / (1 + repair.line_overhead)
    return np.maximum(0.0, crossed_s(case, waited_s, left_bps, more) - case.pipeline_s)


def _local_extra_s(case: CutCase, delay_s: Numbers, rate_bps: Numbers, repair: Repair) -> Numbers:
    sync = case.sync
    sent = bytes_each_way(outer_bytes(case.parameters, sync.bits), case.num_sites, case.shape)
    sync_s = exchange_s(
        sent * (1 + repair.line_overhead), rate_bps * repair.rate_share, delay_s, hops=case.hops
    )
    return local_exposed_s(
        sync_s + 2 * delay_s * repair.waits_rtts,
        case.one_site_s,
        every=sync.every,
        fragments=sync.fragments,
        slack_steps=sync.slack_steps,
    )


def _bytes_over_cut(case: CutCase, kind: PlacementKind) -> float:
    if kind == "local":
        outer = outer_bytes(case.parameters, case.sync.bits)
        return bytes_each_way(outer, case.num_sites, case.shape) / case.sync.every
    gradients = bytes_each_way(case.volume_bytes + case.unhidden_bytes, case.num_sites, case.shape)
    activations = case.activation_bytes * case.num_micro_batches
    counted = {"data": gradients, "pipeline": activations, "both": gradients + activations}
    return counted[kind]


def _placed(case: CutCase, kind: PlacementKind, more: int, repairs: Repairs) -> SitePlacement:
    time_s = float(step_s(case, kind, case.delay_s, case.rate_bps, repairs=repairs, more=more))
    crosses = kind in ("pipeline", "both")
    memory = more * case.batch_memory_bytes
    return SitePlacement(
        placement=kind,
        cut=case.cuts if crosses else (),
        more_in_flight=more,
        step_time_s=time_s,
        efficiency=case.one_site_s / time_s,
        bytes_over_cut=_bytes_over_cut(case, kind),
        exposed_s=time_s - case.one_site_s,
        extra_memory_bytes=memory,
        fits=memory <= max(0.0, case.free_memory_bytes),
        note=_note(kind, more),
    )


def _note(kind: PlacementKind, more: int) -> str:
    if kind == "local":
        return "another algorithm: its loss differs from that of a step-by-step exchange"
    if kind == "data":
        return "copies of the model at every site; gradients cross"
    ahead = (
        f"{more} more micro-batch{'' if more == 1 else 'es'} in flight"
        if more
        else "plain 1F1B, a delay a micro-batch"
    )
    if kind == "pipeline":
        return f"stages at both sides; activations cross; {ahead}; no interleaving"
    return f"half the copies run the other way round, so both cross; {ahead}"


def table_of(case: CutCase, repairs: Repairs) -> tuple[SitePlacement, ...]:
    """Return every placement, the fastest first and another algorithm last."""
    rows = []
    if case.whole_copies:
        rows += [_placed(case, kind, 0, repairs) for kind in ("data", "local")]
    if case.cuts:
        ahead = more_in_flight(case, case.delay_s)
        for kind in ("pipeline", "both"):
            rows += [_placed(case, kind, more, repairs) for more in dict.fromkeys((ahead, 0))]
    return tuple(sorted(rows, key=lambda row: (row.placement == "local", row.step_time_s)))
