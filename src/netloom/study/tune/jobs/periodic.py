"""Jobs that compute and send in turn, on one link: how long their iterations take.

A fluid model: within a moment every job that sends has a share of the link, by one of three rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["JobDuty", "LinkPolicy", "iterations_s", "mean_iterations_s"]

LinkPolicy = Literal["fair", "priority", "progress"]
# MLTCP (Rajasekaran et al., arXiv:2402.09589): the window grows with the share of the iteration's
# bytes that are sent, 1.75 x share + 0.25 (secondary).
SLOPE: Final = 1.75
INTERCEPT: Final = 0.25
STEPS: Final = 200  # of the shortest period, where shares change all the time
_TINY: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDuty:
    """What a job does in an iteration, alone.

    Attributes:
        name: Of the job.
        compute_s: Silence.
        send_s: Sending, with the link to itself.
        demand: Share of the link that it takes meanwhile.
        gpus: It runs on.
        flops: Of an iteration; 0 where it does not matter.
    """

    name: str
    compute_s: float
    send_s: float
    demand: float = 1.0
    gpus: int = 1
    flops: float = 0.0

    @property
    def period_s(self) -> float:
        """An iteration alone."""
        return self.compute_s + self.send_s

    @property
    def intensity(self) -> float:
        """Computation for each second of sending: Crux's W / t, with W in GPU-seconds."""
        return self.gpus * self.compute_s / max(self.send_s, _TINY)


def iterations_s(
    jobs: Sequence[JobDuty],
    *,
    policy: LinkPolicy = "fair",
    offsets_s: Sequence[float] = (),
    order: Sequence[int] = (),
    count: int = 40,
) -> list[NDArray[np.float64]]:
    """Return the length of each iteration of each job, *count* of the one with the longest period.

    Args:
        jobs: Which share the link.
        policy: ``fair`` (equal shares), ``priority`` (the first of *order* first) or ``progress``
            (shares grow with the bytes of the iteration that are sent).
        offsets_s: When each begins; default: all at once.
        order: Jobs by priority, the first first.
        count: Iterations.
    """
    run = _Link(jobs, policy, tuple(order) or tuple(range(len(jobs))))
    starts = np.array(offsets_s or [0.0] * len(jobs))
    run.idle_until[:] = starts + np.array([job.compute_s for job in jobs])
    run.began[:] = starts
    until_s = count * max(job.period_s for job in jobs) * len(jobs)
    while min(len(done) for done in run.ended) < count and run.now_s < until_s:
        run.advance()
    return [np.array(done) for done in run.ended]


def mean_iterations_s(
    jobs: Sequence[JobDuty],
    *,
    policy: LinkPolicy = "fair",
    offsets_s: Sequence[float] = (),
    order: Sequence[int] = (),
    count: int = 40,
) -> list[float]:
    """Return the mean iteration of each job over the second half of its iterations."""
    found = iterations_s(jobs, policy=policy, offsets_s=offsets_s, order=order, count=count)
    return [float(one[len(one) // 2 :].mean()) for one in found]


class _Link:
    def __init__(self, jobs: Sequence[JobDuty], policy: LinkPolicy, order: tuple[int, ...]) -> None:
        self.jobs, self.policy, self.order = jobs, policy, order
        self.now_s = 0.0
        self.whole = np.array([job.send_s * job.demand for job in jobs])
        self.left = np.zeros(len(jobs))
        self.sends = np.zeros(len(jobs), dtype=np.bool_)
        self.idle_until = np.zeros(len(jobs))
        self.began = np.zeros(len(jobs))
        self.ended: list[list[float]] = [[] for _ in jobs]
        self.most_s = min(job.period_s for job in jobs) / STEPS

    def advance(self) -> None:
        """Go on to the next moment at which a job begins or ends to send."""
        rate = self._rates()
        next_s = np.inf
        if (~self.sends).any():
            next_s = float(self.idle_until[~self.sends].min()) - self.now_s
        moving = self.sends & (rate > _TINY)
        if moving.any():
            next_s = min(next_s, float((self.left[moving] / rate[moving]).min()))
        if self.policy == "progress" and self.sends.sum() > 1:
            next_s = min(next_s, self.most_s)
        next_s = max(next_s, 0.0)
        self.now_s += next_s
        self.left -= rate * next_s
        for k, job in enumerate(self.jobs):
            if self.sends[k] and self.left[k] <= _TINY * max(self.whole[k], 1.0) + _TINY:
                self.sends[k] = False
                self.ended[k].append(self.now_s - float(self.began[k]))
                self.began[k] = self.now_s
                self.idle_until[k] = self.now_s + job.compute_s
            elif not self.sends[k] and self.idle_until[k] <= self.now_s * (1 + 1e-15) + _TINY:
                self.sends[k] = True
                self.left[k] = self.whole[k]

    def _rates(self) -> NDArray[np.float64]:
        """Return the share of the link that each job has now."""
        rate = np.zeros(len(self.jobs))
        active = [k for k in range(len(self.jobs)) if self.sends[k]]
        if self.policy == "priority":
            free = 1.0
            for k in self.order:
                if self.sends[k]:
                    rate[k] = min(free, self.jobs[k].demand)
                    free -= rate[k]
            return rate
        weight = {k: self._weight(k) for k in active}
        free = 1.0
        while active:  # weighted max-min with what each can take at most
            total = sum(weight[k] for k in active)
            full = [k for k in active if self.jobs[k].demand <= free * weight[k] / total + _TINY]
            if not full:
                for k in active:
                    rate[k] = free * weight[k] / total
                break
            for k in full:
                rate[k] = self.jobs[k].demand
            free = max(0.0, free - math.fsum(rate[k] for k in full))
            active = [k for k in active if k not in full]
        return rate

    def _weight(self, k: int) -> float:
        if self.policy != "progress":
            return 1.0
        sent = 1 - self.left[k] / max(self.whole[k], _TINY)
        return SLOPE * float(sent) + INTERCEPT
