"""Jobs on one link: what is conserved, and what offsets and priorities do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.spec.load import parse
from netloom.study.tune.jobs.circle import best_offsets_s, excess_demand
from netloom.study.tune.jobs.periodic import JobDuty, iterations_s, mean_iterations_s
from netloom.study.tune.jobs.tuning import TunedJobs, intensity_order


def duty(compute_s: float, send_s: float, *, demand: float = 1.0, gpus: int = 1) -> JobDuty:
    return JobDuty(name="j", compute_s=compute_s, send_s=send_s, demand=demand, gpus=gpus)


times = st.floats(0.1, 2.0)


@settings(max_examples=30, deadline=None)
@given(times, times, times, times, st.sampled_from(["fair", "priority", "progress"]))
def test_no_iteration_is_shorter_than_alone_and_none_longer_than_one_after_another(
    one: float, two: float, three: float, four: float, policy: str
) -> None:
    jobs = (duty(one, two), duty(three, four))
    found = iterations_s(jobs, policy=policy, count=6)  # type: ignore[arg-type]
    for job, lengths in zip(jobs, found, strict=True):
        assert lengths.min() >= job.period_s * (1 - 1e-6)
    # Work-conserving: while one waits the other sends, so the first job's iteration is at most
    # its own and, under strict order, exactly its own.
    if policy == "priority":
        assert found[0].max() == pytest.approx(jobs[0].period_s)


def test_jobs_that_ask_for_half_of_a_link_never_meet() -> None:
    jobs = (duty(1.0, 1.0, demand=0.5), duty(0.7, 0.9, demand=0.5))
    assert mean_iterations_s(jobs) == pytest.approx([2.0, 1.6])


def test_offsets_part_jobs_whose_shares_sum_to_one() -> None:
    jobs = (duty(2.0, 1.0), duty(2.0, 1.0), duty(2.0, 1.0))
    offsets, left = best_offsets_s(jobs)
    assert left == 0.0
    assert sorted(round(x, 6) for x in offsets) == pytest.approx([0.0, 1.0, 2.0], abs=0.05)
    # At once, three ask for the link for a third of the circle: 2 of 3 too much.
    assert excess_demand(jobs, (0.0, 0.0, 0.0)) == pytest.approx(2 / 3, rel=0.01)


def test_offsets_know_periods_that_divide_each_other() -> None:
    jobs = (duty(1.5, 0.5), duty(0.75, 0.25))
    _, left = best_offsets_s(jobs)
    assert left == 0.0


def test_the_job_with_most_computation_a_second_of_sending_goes_first() -> None:
    jobs = (duty(1.0, 1.0, gpus=8), duty(1.0, 0.5, gpus=8), duty(0.1, 1.0, gpus=64))
    assert intensity_order(jobs) == (1, 0, 2)  # 16, 8 and 6.4


def test_jobs_of_a_scenario_get_offsets_on_the_link_they_share() -> None:
    job = "{model: llama-3.1-8b, training: {global_batch: 64}, parallel: {tensor: 1, zero: 3}}"
    text = f"""
cluster: {{gpus: 64, node: dgx-h100,
          fabric: {{technology: rocev2-400g, topology:
                   {{kind: fat-tree, tiers: 2, hosts_per_leaf: 32, oversubscription: 2}}}}}}
jobs:
  - {{name: a, nodes: 4, placement: {{kind: random, seed: 1}}, job: {job}}}
  - {{name: b, nodes: 4, placement: {{kind: random, seed: 2}}, job: {job}}}
"""
    found = nl.tune(parse(text, name="jobs.yaml"))
    assert isinstance(found, TunedJobs)
    assert [one.duty.name for one in found.jobs] == ["a", "b"]
    assert all(one.tuned_s >= one.duty.period_s * (1 - 1e-9) for one in found.jobs)
    assert found.excess[1] <= found.excess[0] + 1e-9
    assert (found.gain.low is not None and found.gain.low > 0) == found.is_better
