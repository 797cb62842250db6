"""What came of a simulation, run by run and over all seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.results.interval import mean_interval
from netloom.results.table import Table
from netloom.results.tabular import Tabular

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.study.simulate.step_run import StepRun
    from netloom.workload.transfers import Transfers

__all__ = ["PERCENTILES", "Grid", "SeedRun", "Simulation"]

PERCENTILES: Final = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
NUM_BUSIEST: Final = 10
NUM_SIZES: Final = 10
_S: Final = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """The links that a simulation ran on, for reports.

    Attributes:
        name: Of each vertex.
        link_source: Vertex each link leaves.
        link_target: Vertex each link enters.
        link_rate_bps: One direction.
    """

    name: tuple[str, ...]
    link_source: NDArray[np.int32]
    link_target: NDArray[np.int32]
    link_rate_bps: NDArray[np.float64]

    def link(self, number: int) -> str:
        """Return what a link is called: ``leaf:3->spine:0``, and a second one beside it ``#2``."""
        ends = f"{self.name[self.link_source[number]]}->{self.name[self.link_target[number]]}"
        turn = int(self._turn[number])
        return f"{ends} #{turn + 1}" if turn else ends

    @cached_property
    def _turn(self) -> NDArray[np.int64]:
        """Which of several links between the same two vertices each one is."""
        pair = self.link_source.astype(np.int64) * len(self.name) + self.link_target
        order = np.argsort(pair, kind="stable")
        turn = np.empty(len(pair), dtype=np.int64)
        turn[order] = np.arange(len(pair)) - np.searchsorted(pair[order], pair[order])
        return turn

    def tiers(self) -> NDArray[np.str_]:
        """Return for each link the kinds of its two ends: ``leaf->spine``."""
        kind = np.array([name.partition(":")[0] for name in self.name])
        joined = np.char.add(np.char.add(kind[self.link_source], "->"), kind[self.link_target])
        return np.asarray(joined)


@dataclass(frozen=True, kw_only=True, eq=False)
class SeedRun:
    """One seed's run.

    Attributes:
        ideal_ps: How long each transfer would take alone on the empty network.
        wall_s: Real time it took; None where it was not timed.
        cut_off: Whether it was stopped: what it shows is no draw of what it would have been.
        step: What came of the step that the transfers are; None where they are none, or it did not
            end.
        copies: How many equal sets of transfers those here stand for, themselves included.
    """

    seed: int
    transfers: Transfers
    delivery: Delivery
    ideal_ps: NDArray[np.int64]
    wall_s: float | None
    cut_off: bool = False
    step: StepRun | None = None
    copies: int = 1

    @cached_property
    def done(self) -> NDArray[np.int64]:
        """The transfers that ended."""
        return np.flatnonzero(self.delivery.finish_ps >= 0)

    @cached_property
    def fct_s(self) -> NDArray[np.float64]:
        """Completion time of each of them, from its own start."""
        span_ps = self.delivery.finish_ps[self.done] - self.delivery.start_ps[self.done]
        return np.asarray(span_ps * _S, dtype=np.float64)

    @cached_property
    def slowdown(self) -> NDArray[np.float64]:
        """Completion time over that on an empty network."""
        return self.fct_s / (np.maximum(self.ideal_ps[self.done], 1) * _S)

    @property
    def span_s(self) -> float:
        """From the first start to the last end, or to where the run was stopped."""
        started = self.delivery.start_ps[self.delivery.start_ps >= 0]
        if not len(started):
            return 0.0
        partial = self.delivery.partial or not len(self.done)
        end = self.delivery.simulated_ps if partial else self.delivery.finish_ps[self.done].max()
        return max(float(end - started.min()), 0.0) * _S

    @property
    def goodput_bps(self) -> float:
        """Payload that arrived over that time; of a stopped run, as far as the engine counts it."""
        ended = int(self.transfers.size_bytes[self.done].sum())
        counted = self.delivery.counters.get("delivered_bytes", 0) if self.delivery.partial else 0
        return float(max(ended, counted)) * self.copies * 8 / (self.span_s or np.inf)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers of this run as plain values."""
        return {
            "seed": self.seed,
            "flows": len(self.transfers) * self.copies,
            "flows_finished": len(self.done) * self.copies,
            "partial": self.delivery.partial,
            "simulated_s": self.delivery.simulated_ps * _S,
            "span_s": self.span_s,
            "wall_s": self.wall_s,
            "simulated_share": self.delivery.simulated_share,
            "goodput_bps": self.goodput_bps,
            "fct_s": summary(self.fct_s),
            "slowdown": summary(self.slowdown),
            **{
                name: int(count)
                for name, count in self.delivery.counters.items()
                if name != "flows"
            },
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation(Tabular):
    """A case run with one or more seeds.

    Attributes:
        title: What was run.
        engine: ``flow`` or ``packet``.
        technology: Its name.
        choices: What was chosen: congestion control, load balancing and so on.
        runs: One for each seed, in order.
        jobs: The name of each piece of traffic.
        wall_s: Real time from the first run's beginning to the last one's end, however many ran at
            once; None where it was not timed.
        peak_rss_bytes: The most memory the process held; None where it was not asked for.
        notes: What a reader must know to trust the numbers.
    """

    title: str
    engine: str
    technology: str
    choices: Mapping[str, str]
    grid: Grid
    runs: tuple[SeedRun, ...]
    jobs: tuple[str, ...]
    wall_s: float | None = None
    peak_rss_bytes: int | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def first(self) -> SeedRun:
        """The run that tables and plots show."""
        return self.runs[0]

    @property
    def partial(self) -> bool:
        """Whether any run was stopped before its end."""
        return any(run.delivery.partial for run in self.runs)

    def flows(self) -> Table:
        """Return the transfers of the first run, a row each."""
        run = self.first
        ended = run.delivery.finish_ps >= 0
        fct_s = np.where(ended, (run.delivery.finish_ps - run.delivery.start_ps) * _S, np.nan)
        return Table.from_columns(
            {
                "source": run.transfers.source,
                "target": run.transfers.target,
                "size_bytes": run.transfers.size_bytes,
                "priority": run.transfers.priority,
                "job": run.transfers.job,
                "start_ps": run.delivery.start_ps,
                "finish_ps": run.delivery.finish_ps,
                "fct_s": fct_s,
                "ideal_s": run.ideal_ps * _S,
                "slowdown": fct_s / (np.maximum(run.ideal_ps, 1) * _S),
            }
        )

    def links(self) -> Table:
        """Return the links of the first run, a row each."""
        run, grid = self.first, self.grid
        return Table.from_columns(
            {
                "link": [grid.link(number) for number in range(len(grid.link_source))],
                "rate_bps": grid.link_rate_bps,
                "carried_bytes": run.delivery.link_bytes,
                "utilisation": self.utilisation(),
            }
        )

    def counters(self) -> Table:
        """Return what the engine counted in every run, a row a seed and counter."""
        rows = [
            (run.seed, name, int(count))
            for run in self.runs
            for name, count in run.delivery.counters.items()
        ]
        seeds, names, counts = zip(*rows, strict=True) if rows else ((), (), ())
        return Table.from_columns(
            {
                "seed": np.array(seeds, dtype=np.int64),
                "counter": list(names),
                "count": np.array(counts, dtype=np.int64),
            }
        )

    def tables(self) -> dict[str, Table]:
        """Return everything observed in the first run, by name; the counters of all."""
        own = {
            name: Table.from_columns(columns)
            for name, columns in self.first.delivery.tables.items()
        }
        common = {"flows": self.flows(), "links": self.links(), "counters": self.counters()}
        return common | own

    def utilisation(self) -> NDArray[np.float64]:
        """Return what each link carried in the first run over what it could have."""
        could = self.grid.link_rate_bps * max(self.first.span_s, _S)
        return self.first.delivery.link_bytes * 8 / could

    def busiest(self) -> list[dict[str, Any]]:
        """Return the links with the highest utilisation, the busiest first."""
        share = self.utilisation()
        order = np.argsort(-share, kind="stable")[:NUM_BUSIEST]
        return [
            {"link": self.grid.link(number), "utilisation": float(share[number])}
            for number in order.tolist()
            if share[number] > 0
        ]

    def by_size(self) -> list[dict[str, Any]]:
        """Return the slowdown by flow size, all runs together but for those that were cut off.

        A class for each size, or up to ten of about as many flows each where there are more.
        """
        runs = self.whole or self.runs
        size = np.concatenate([run.transfers.size_bytes[run.done] for run in runs])
        slowdown = np.concatenate([run.slowdown for run in runs])
        copies = np.concatenate([np.full(len(run.done), run.copies) for run in runs])
        if not len(size):
            return []
        edges = np.unique(np.quantile(size, _deciles(), method="higher"))
        if len(np.unique(size)) <= NUM_SIZES:
            edges = np.unique(size)
        number = np.searchsorted(edges, size)
        parts = [np.flatnonzero(number == one) for one in range(len(edges))]
        return [
            {
                "up_to_bytes": int(size[part].max()),
                "flows": int(copies[part].sum()),
                **summary(slowdown[part]),
            }
            for part in parts
            if len(part)
        ]

    def by_job(self) -> list[dict[str, Any]]:
        """Return each piece of traffic in the first run: how much of it ended, and when."""
        run = self.first
        found = []
        for number, name in enumerate(self.jobs):
            mine = run.transfers.job[run.done] == number
            ends = run.delivery.finish_ps[run.done][mine]
            found.append(
                {
                    "job": name,
                    "flows": int(np.count_nonzero(run.transfers.job == number)) * run.copies,
                    "flows_finished": int(np.count_nonzero(mine)) * run.copies,
                    "finish_s": float(ends.max()) * _S if len(ends) else None,
                    "fct_s": summary(run.fct_s[mine]),
                    "slowdown": summary(run.slowdown[mine]),
                }
            )
        return found

    @property
    def whole(self) -> tuple[SeedRun, ...]:
        """The runs that were not stopped."""
        return tuple(run for run in self.runs if not run.cut_off)

    def over_seeds(self) -> dict[str, dict[str, float | None]]:
        """Return mean and 95 % confidence interval of the main numbers over the seeds.

        A run that was cut off has none of these numbers: it is left out, and where no run is left
        there is nothing to tell.
        """
        runs = self.whole
        steps = [run.step.duration_s for run in runs if run.step is not None]
        return {
            **({"step_time_s": _interval(steps)} if steps else {}),
            "span_s": _interval([run.span_s for run in runs]),
            "goodput_bps": _interval([run.goodput_bps for run in runs]),
            **{
                f"{what}_{name}": _interval([_at(getattr(run, what), name) for run in runs])
                for what in ("fct_s", "slowdown")
                for name in ("mean", "p50", "p99")
            },
        }

    def table(self) -> Table:
        """Return the transfers of the first run, a row each."""
        return self.flows()

    def to_json(self) -> dict[str, Any]:
        """Return everything but the tables as plain values; keys are in docs/json.md."""
        head = {
            "title": self.title,
            "engine": self.engine,
            "technology": self.technology,
            "settings": dict(self.choices),
        }
        totals = self.first.to_json()
        totals["wall_s"] = self.wall_s
        totals["partial"] = self.partial
        several = {} if len(self.runs) == 1 else {"over_seeds": self.over_seeds()}
        step = self.first.step
        several |= {} if step is None else {"step": step.to_json()}
        return {
            **head,
            **totals,
            "peak_rss_bytes": self.peak_rss_bytes,
            "busiest_links": self.busiest(),
            "slowdown_by_size": self.by_size(),
            "jobs": self.by_job(),
            **several,
            "runs": [run.to_json() for run in self.runs],
            "notes": list(self.notes),
        }


def _deciles() -> NDArray[np.float64]:
    return np.arange(1, NUM_SIZES + 1) / NUM_SIZES


def _interval(values: Sequence[float | None]) -> dict[str, float | None]:
    """Return the interval of *values*; of nothing where a seed has none, or there is no seed."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return {"low": None, "mean": None, "high": None}
    found = mean_interval(known)
    return {"low": found.low, "mean": found.mean, "high": found.high}


def _at(values: NDArray[np.float64], name: str) -> float | None:
    return summary(values).get(name)


def summary(values: NDArray[np.float64] | Sequence[float]) -> dict[str, float]:
    """Return least, mean, percentiles and most of *values*; nothing of none."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        return {}
    middle = dict(
        zip(PERCENTILES, np.percentile(array, list(PERCENTILES.values())).tolist(), strict=True)
    )
    return {
        "min": float(array.min()),
        "mean": float(array.mean()),
        **middle,
        "max": float(array.max()),
    }
