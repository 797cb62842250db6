"""A whole step with collisions and DCQCN: what is skipped leaves the distribution as it is.

A disturbed run has no single true answer: some microseconds decide between outcomes that are a
tenth apart. Steps with and without skips are therefore compared over draws of the phases in which
nodes begin, and of the hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import netloom as nl
from netloom.parts.load import load_catalog
from netloom.study.packet_step.case import step_case
from netloom.study.simulate.jitter import jittered
from netloom.study.simulate.run import run_case

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.study.simulate.simulation import Simulation

pytestmark = pytest.mark.validation

PHASE_S = 5e-6
JOB: dict[str, Any] = {
    "cluster": {
        "gpus": 64,
        "node": "dgx-h100",
        "fabric": {
            "technology": "rocev2-400g",
            "topology": {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16},
        },
    },
    "job": {
        "model": "llama-3.2-1b",
        "training": {"sequence": 512, "global_batch": 8, "precision": "bf16"},
        "parallel": {"tensor": 8, "pipeline": 2, "data": 4},
    },
}


def over_phases(num_phases: int, *, skips: bool) -> Simulation:
    case = step_case(nl.load(JOB), load_catalog(), folds=skips, skips=skips)
    return run_case(jittered(case, PHASE_S), seeds=range(num_phases))


def step_s(found: Simulation) -> NDArray[np.float64]:
    steps = [run.step for run in found.runs]
    return np.array([step.duration_s for step in steps if step is not None])


def message_s(found: Simulation) -> NDArray[np.float64]:
    """Return the mean completion of a message in each run."""
    return np.array([run.fct_s.mean() for run in found.runs])


def same_distribution_p(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the p of the two-sample Kolmogorov-Smirnov test.

    Press et al., Numerical Recipes (2007), section 14.3.3 (recalled).
    """
    both = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(x), both, side="right") / len(x) for x in (one, other)]
    root = np.sqrt(len(one) * len(other) / len(both))
    scaled = (root + 0.12 + 0.11 / root) * np.abs(shares[0] - shares[1]).max()
    k = np.arange(1, 101)
    return float(np.clip(2 * ((-1.0) ** (k - 1) * np.exp(-2 * (k * scaled) ** 2)).sum(), 0, 1))


def test_the_p_value_tells_distributions_apart() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(2, 64))
    assert same_distribution_p(drawn[0], drawn[1]) > 0.05
    assert same_distribution_p(drawn[0], drawn[1] + 1) < 0.001


def test_a_phase_with_skips_is_about_as_long_as_without() -> None:
    # Of 64 phases no two steps of equal draws were further apart than 16 %.
    skipped, full = over_phases(1, skips=True), over_phases(1, skips=False)
    assert skipped.first.delivery.simulated_share < 0.9
    assert full.first.delivery.counters["marks"] > 100
    assert step_s(skipped) == pytest.approx(step_s(full), rel=0.2)


@pytest.mark.long
def test_64_phases_with_skips_are_not_told_from_those_without() -> None:
    skipped, full = over_phases(64, skips=True), over_phases(64, skips=False)
    for what in (step_s, message_s):
        one, other = what(skipped), what(full)
        error_s = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 64)
        assert abs(one.mean() - other.mean()) < 2 * error_s
        assert same_distribution_p(one, other) > 0.05
