"""Published completion times other than curves: UET, NDP, IRN and a victim of an incast.

Cases stand in data/fct_cases.csv and, where they take minutes, fct_long_cases.csv; the networks and
settings that they name in `validate_fct_setups`, and what is more than a last completion in
`validate_fct_measures`.
"""

from __future__ import annotations

import csv
from importlib import resources
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.validation.fct.case import FctCase
from netloom.validation.fct.matrices import MATRICES
from netloom.validation.fct.measures import MEASURES, RunContext
from netloom.validation.fct.setups import network_of, settings_of_case
from netloom.workload import patterns
from netloom.workload.dag import Label, to_transfers

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.packet import Progress

__all__ = ["FctCase", "long_cases", "run_case", "shipped_cases"]

_US: Final = 1_000_000
_SHORT_BYTES: Final = 50_000_000


def shipped_cases() -> tuple[FctCase, ...]:
    """Return the cases that netloom ships and that take seconds."""
    return _read("fct_cases.csv")


def long_cases() -> tuple[FctCase, ...]:
    """Return those that take many minutes each."""
    return _read("fct_long_cases.csv")


def _read(name: str) -> tuple[FctCase, ...]:
    text = resources.files("netloom.validation.fct").joinpath("data", name).read_text("utf-8")
    return tuple(_case(row) for row in csv.DictReader(text.splitlines()))


def _case(row: dict[str, Any]) -> FctCase:
    whole = {name: int(row[name]) for name in ("num_flows", "size_bytes", "num_paths")}
    real = ("published", "tolerance_pct", "bound_pct", "core_min")
    return FctCase(**{**row, **whole, **{name: float(row[name]) for name in real if name in row}})


def run_case(
    case: FctCase, *, seed: int, on_progress: Callable[[Progress], bool] | None = None
) -> float:
    """Return the case's number, in its unit: of what is one draw the median of several."""
    wiring = network_of(case.fabric)
    measure = {**MEASURES, **MATRICES}.get(case.pattern, _synthetic)

    def drawn(draw: int) -> float:
        bench = RunContext(wiring=wiring, seed=draw, on_progress=on_progress)
        return measure(case, bench, np.random.default_rng(draw))

    return median(drawn(seed + k) for k in range(_num_draws(case)))


def _num_draws(case: FctCase) -> int:
    """Return how often a slowest flow or a count, which is one draw, is drawn if it is to be met.

    Three times, and completions nine times where a run takes no second.
    """
    is_draw = case.pattern in {"permutation", "incast", *MATRICES} and case.compare == "near"
    if not is_draw or case.core_min:
        return 1
    is_short = case.num_flows * case.size_bytes <= _SHORT_BYTES and case.unit == "us"
    return 9 if is_short else 3


def _synthetic(case: FctCase, bench: RunContext, rng: np.random.Generator) -> float:
    """Return the last completion in us, packets sent again, or the mean rate in percent of line."""
    hosts = np.arange(bench.wiring.num_endpoints)
    if case.pattern == "permutation":
        dag = patterns.permutation(hosts, case.size_bytes, rng=rng)
    else:
        apart = max(1, min(64, (len(hosts) - 1) // case.num_flows))  # one a leaf, while there are
        senders = hosts[apart::apart][: case.num_flows]
        dag = patterns.incast(senders, 0, case.size_bytes)
    transfers = to_transfers([dag], [Label(priority=0, job=0)], rng=rng)
    delivery = bench.run(transfers, settings_of_case(case, bench.wiring))
    took_ps = delivery.finish_ps
    if case.unit == "us":
        return float(took_ps.max()) / _US
    if case.unit == "packets again":
        return float(delivery.counters["retransmissions"])
    rate_bps = case.size_bytes * 8e12 / took_ps
    return float(100 * rate_bps.mean() / bench.wiring.link_rate_bps[0])
