"""Start offsets by the circle method: jobs' sending laid so that it meets as little as it can.

Rajasekaran et al., CASSINI, arXiv:2308.00852 (secondary): a job's iterations are wrapped around a
circle; jobs of different periods share one whose circumference both periods divide. Turning a
job's circle is starting it later.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.study.tune.jobs.periodic import JobDuty

__all__ = ["best_offsets_s", "excess_demand"]

ANGLES: Final = 720  # of the circle
TURNS: Final = 72  # offsets that are tried for each job
MAX_TURNS: Final = 64  # iterations of the shortest period on the circle
MAX_EXHAUSTIVE: Final = 3  # jobs whose every offset is tried against every other


def best_offsets_s(jobs: Sequence[JobDuty]) -> tuple[tuple[float, ...], float]:
    """Return when each job begins so that demand over the link is least, and what is left of it.

    Of several that are as good, the one whose sending is farthest apart. The first job begins at
    0. Up to three jobs are tried all against all; further ones one by one.
    """
    circle_s = _circumference_s([job.period_s for job in jobs])
    wanted = [_demand(job, circle_s) for job in jobs]
    offsets = [0] * len(jobs)
    head = min(len(jobs), MAX_EXHAUSTIVE)
    steps = [_steps(job, circle_s) for job in jobs]
    best = (np.inf, np.inf)
    for turn in product(*steps[1:head]):
        asked = wanted[0] + sum(
            (np.roll(wanted[k + 1], shift) for k, shift in enumerate(turn)), np.zeros(ANGLES)
        )
        score = _score(asked)
        if score < best:
            best, offsets[1:head] = score, list(turn)
    for k in range(head, len(jobs)):
        base = sum((np.roll(wanted[j], offsets[j]) for j in range(k)), np.zeros(ANGLES))
        offsets[k] = min(steps[k], key=lambda shift: _score(base + np.roll(wanted[k], shift)))
    asked = sum((np.roll(wanted[k], offsets[k]) for k in range(len(jobs))), np.zeros(ANGLES))
    found = tuple(circle_s * shift / ANGLES for shift in offsets)
    return found, float(np.maximum(asked - 1, 0).mean())


def excess_demand(jobs: Sequence[JobDuty], offsets_s: Sequence[float]) -> float:
    """Return the demand over the link in the mean over the circle, as a share of the link."""
    circle_s = _circumference_s([job.period_s for job in jobs])
    asked = np.zeros(ANGLES)
    for job, offset in zip(jobs, offsets_s, strict=True):
        asked += np.roll(_demand(job, circle_s), round(ANGLES * offset / circle_s))
    return float(np.maximum(asked - 1, 0).mean())


def _score(asked: NDArray[np.float64]) -> tuple[float, float]:
    """Return demand over the link, and then how unevenly it is spread."""
    return float(np.maximum(asked - 1, 0).sum()), float((asked**2).sum())


def _steps(job: JobDuty, circle_s: float) -> list[int]:
    """Return offsets within one of the job's iterations, in angles; the rest repeat."""
    angles = ANGLES * job.period_s / circle_s
    count = min(TURNS, max(1, round(angles)))
    return sorted({round(k * angles / count) for k in range(count)})


def _demand(job: JobDuty, circle_s: float) -> NDArray[np.float64]:
    """Return what the job asks of the link at each angle, sending after its computation."""
    at_s = (np.arange(ANGLES) + 0.5) * circle_s / ANGLES
    return np.where(np.mod(at_s, job.period_s) >= job.compute_s, job.demand, 0.0)


def _circumference_s(periods_s: Sequence[float]) -> float:
    """Return a time in which every job has about a whole number of iterations."""
    longest = max(periods_s)
    best, least = longest, np.inf
    for turns in range(1, MAX_TURNS + 1):
        circle = turns * longest
        if circle / min(periods_s) > MAX_TURNS:
            break
        off = max(abs(circle / period - round(circle / period)) for period in periods_s)
        if off < least - 1e-9:
            best, least = circle, off
        if least < 1e-3:
            break
    return best
