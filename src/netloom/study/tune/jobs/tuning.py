"""Which offsets and priorities jobs on one fabric get, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import SpecError
from netloom.provenance import Source, Why
from netloom.results.explained import Explained
from netloom.results.interval import mean_interval
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.tune.jobs.circle import best_offsets_s, excess_demand
from netloom.study.tune.jobs.periodic import JobDuty, mean_iterations_s
from netloom.study.tune.verdict import NO_GAIN, Gain
from netloom.study.whatif.share import seated_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.tune.tuning import TuneRequest
    from netloom.study.whatif.tenancy import Seated

__all__ = ["JobSchedule", "TunedJobs", "intensity_order", "tune_jobs"]

SEND_LATER: Final = "start offsets"
PRIORITIES: Final = "priorities by intensity"
PROGRESS: Final = "windows by progress"
_CASSINI: Final = Source(citation="CASSINI, arXiv:2308.00852", confidence="secondary")
_CRUX: Final = Source(citation="Crux, SIGCOMM 2024: I = W / t", confidence="secondary")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSchedule:
    """One job on the link that it shares.

    Attributes:
        offset_s: When it begins, after the first.
        priority: 1 for the highest.
        unscheduled_s: Its iteration in the mean over random starts.
        tuned_s: Its iteration under the best policy.
    """

    duty: JobDuty
    offset_s: float
    priority: int
    unscheduled_s: float
    tuned_s: float

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        duty = self.duty
        return {
            "job": duty.name,
            "alone_s": duty.period_s,
            "send_s": duty.send_s,
            "demand": duty.demand,
            "intensity": duty.intensity,
            "offset_s": self.offset_s,
            "priority": self.priority,
            "unscheduled_s": self.unscheduled_s,
            "tuned_s": self.tuned_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TunedJobs(Tabular, Explained):
    """Jobs that share a link, as they come and under each policy.

    Attributes:
        link: Which is asked for most by all together.
        excess: Demand over it, as a share of it in the mean: at random, and with offsets.
        values: Mean slowdown over alone, of all jobs, by policy.
        runs: The same seed by seed for random starts.
        best: The policy with the least.
        gain: Of the best over random starts.
    """

    scenario: Scenario
    link: str
    excess: tuple[float, float]
    values: dict[str, float]
    runs: tuple[float, ...]
    best: str
    gain: Gain
    jobs: tuple[JobSchedule, ...]
    seeds: tuple[int, ...]

    @property
    def is_better(self) -> bool:
        """Whether the best surely beats random starts."""
        return self.gain.is_sure

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if not self.is_better:
            return f"{NO_GAIN}: jobs that start when they come"
        low, high = self.gain.low or 0.0, self.gain.high or 0.0
        return (
            f"{self.best} make iterations {self.gain.mean:.1%} shorter than random starts "
            f"({low:.1%} to {high:.1%})"
        )

    def table(self) -> Table:
        """Return one row a job."""
        return Table.from_rows(one.to_json() for one in self.jobs)

    def explanations(self) -> dict[str, Why]:
        """Return how the gain came about."""
        return {
            "gain": Why(
                name="gain",
                value=self.gain.mean,
                how="1 - slowdown under the best / slowdown with random starts, over seeds",
                parts=tuple(
                    Why(name=name, value=value, source=_SOURCES.get(name))
                    for name, value in self.values.items()
                ),
            )
        }

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        found = mean_interval(self.runs)
        return {
            "objective": "step",
            "meaning": "iteration over alone, in the mean over jobs",
            "unit": "",
            "verdict": self.verdict,
            "better": self.is_better,
            "default": {
                "name": "random starts",
                "value": found.mean,
                "low": found.low,
                "high": found.high,
            },
            "presets": [
                {"name": name, "value": value, "gain": 1 - value / found.mean}
                for name, value in self.values.items()
            ],
            "best": {"name": self.best, "value": self.values[self.best]},
            "gain": self.gain.mean,
            "gain_low": self.gain.low,
            "gain_high": self.gain.high,
            "trials": len(self.values) + 1,
            "seeds": list(self.seeds),
            "sensitivity": [],
            "link": self.link,
            "excess": self.excess[0],
            "excess_offset": self.excess[1],
            "jobs": [one.to_json() for one in self.jobs],
        }


_SOURCES: Final = {SEND_LATER: _CASSINI, PRIORITIES: _CRUX}


def tune_jobs(scenario: Scenario, catalog: Catalog, request: TuneRequest) -> TunedJobs:
    """Return offsets and priorities of a scenario's jobs on the link that they ask most of.

    Raises:
        NetloomError: there are no jobs, or they share no link.
    """
    seated, names = seated_jobs(scenario, catalog)
    link, shares = _contended(seated)
    jobs = [
        _duty(one, share, names[k])
        for k, (one, share) in enumerate(zip(seated, shares, strict=True))
    ]
    offsets, left = best_offsets_s(jobs)
    order = intensity_order(jobs)
    draws = [_drawn(jobs, seed) for seed in request.seeds]
    random = [mean_iterations_s(jobs, offsets_s=drawn) for drawn in draws]
    tuned = {
        SEND_LATER: mean_iterations_s(jobs, offsets_s=offsets),
        PRIORITIES: _over(jobs, draws, policy="priority", order=order),
        PROGRESS: _over(jobs, draws, policy="progress"),
    }
    values = {name: _slowdown(jobs, found) for name, found in tuned.items()}
    best = min(values, key=lambda name: values[name])
    runs = tuple(_slowdown(jobs, one) for one in random)
    gains = mean_interval([1 - values[best] / one for one in runs])
    means = np.mean(np.array(random), axis=0)
    return TunedJobs(
        scenario=scenario,
        link=link,
        excess=(float(np.mean([excess_demand(jobs, one) for one in draws])), left),
        values=values,
        runs=runs,
        best=best,
        gain=Gain(mean=gains.mean, low=gains.low, high=gains.high),
        jobs=tuple(
            JobSchedule(
                duty=job,
                offset_s=offsets[k],
                priority=order.index(k) + 1,
                unscheduled_s=float(means[k]),
                tuned_s=tuned[best][k],
            )
            for k, job in enumerate(jobs)
        ),
        seeds=request.seeds,
    )


def intensity_order(jobs: Sequence[JobDuty]) -> tuple[int, ...]:
    """Return the jobs by computation for each second of sending, the most first (Crux)."""
    return tuple(sorted(range(len(jobs)), key=lambda k: (-jobs[k].intensity, k)))


def _drawn(jobs: Sequence[JobDuty], seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    return [float(rng.random() * job.period_s) for job in jobs]


def _over(jobs: Sequence[JobDuty], draws: Sequence[Sequence[float]], **how: Any) -> list[float]:
    found = [mean_iterations_s(jobs, offsets_s=one, **how) for one in draws]
    return [float(value) for value in np.mean(np.array(found), axis=0)]


def _slowdown(jobs: Sequence[JobDuty], found: Sequence[float]) -> float:
    return float(np.mean([one / job.period_s for one, job in zip(found, jobs, strict=True)]))


def _contended(seated: Sequence[Seated]) -> tuple[str, list[float]]:
    """Return the link that jobs together ask most of, and what each asks of it at most.

    Raises:
        SpecError: no two of them meet.
    """
    most = []
    for one in seated:
        asked = [press.share for press in one.presses.values()]
        most.append(np.maximum.reduce(asked) if asked else np.zeros(0))
    size = max(len(one) for one in most)
    wide = np.array([np.pad(one, (0, size - len(one))) for one in most])
    meets = (wide > 0).sum(axis=0) > 1
    if not meets.any():
        raise SpecError(
            key="jobs",
            what="no two jobs meet on a link",
            remedy="there is nothing to schedule; see 'netloom share'",
        )
    number = int(np.argmax(np.where(meets, wide.sum(axis=0), 0.0)))
    return f"link {number}", [float(min(one, 1.0)) for one in wide[:, number]]


def _duty(one: Seated, demand: float, name: str) -> JobDuty:
    """Return how a job uses the link: what presses on it sends, all else is silence."""
    step_s = float(one.step.duration_s)
    send_s = min(sum(one.busy_s.values()), step_s) if demand > 0 else 0.0
    duty = JobDuty(
        name=name,
        compute_s=step_s - send_s,
        send_s=max(send_s, 1e-9 * step_s),
        demand=max(demand, 1e-9),
        gpus=one.seat.network.design.num_gpus,
    )
    return replace(duty, flops=float(one.step.model_flops))
