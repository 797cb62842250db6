"""Plans are judged by the job's own step where the scenario has a job."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from netloom.app.heal.target import step_of
from netloom.fabric import edit
from netloom.fabric.part_id import PartId
from netloom.ops.heal.effect import PlanTrial, trial_of
from netloom.ops.heal.plan import VERBS, HealPlan, plans_of
from netloom.ops.heal.policy import decide
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import Finding
from netloom.parts.load import load_catalog
from netloom.spec.heal import HealPolicy, parse_policy
from netloom.spec.load import parse
from netloom.study.whatif.failure import bench_of

if TYPE_CHECKING:
    from netloom.study.whatif.failure import BaselineJob

SCENARIO = """
cluster:
  nodes: 16
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 128}}
"""
# Half of the capacity may go, so that the time alone decides.
DRAINS = parse_policy(
    "heal: {by_itself: [drain, ticket], most_capacity_away: 50%, most_uplinks_away: 50%}",
    name="policy",
)


@functools.cache
def bench() -> BaselineJob:
    return bench_of(parse(SCENARIO, name="scenario"), load_catalog())


def finding(part: str, kind: str, magnitude: float) -> Finding:
    return Finding(
        part=PartId.parse(part),
        kind=kind,
        magnitude=magnitude,
        confidence=0.99,
        evidence=(),
        hurts=(),
        predicted_gain=0.0,
    )


def trial(one: Finding, *, with_job: bool, gone: tuple[PartId, ...] = ()) -> PlanTrial:
    made = bench()
    step_s = step_of(made) if with_job else None
    return trial_of(made.fabric, made.network.technology, [one], gone, step_s=step_s)


def plan(one: Finding, *, with_job: bool) -> HealPlan:
    (found,) = plans_of(trial(one, with_job=with_job), [one], frozenset(VERBS))
    return found


def verdict(of: HealPlan, policy: HealPolicy = DRAINS) -> str:
    sight = Snapshot(findings=(of.finding,), taken_s=0.0)
    return decide(of, sight, policy, now_s=1.0, last_act_s={}).verdict


# One of two spines is a little slow: without it the other carries all.
SLOW_SPINE = finding("spine:1", FaultKind.SLOW.value, 1.01)


def test_a_drain_that_the_job_does_not_feel_runs_though_the_trial_takes_longer() -> None:
    # In the trial every NIC sends all it can, 5/3 of what one spine carries; the job's step is
    # mostly computation, behind which the rest is hidden.
    judged = plan(SLOW_SPINE, with_job=True)
    assert judged.effect.after_s > 1.5 * judged.effect.before_s
    assert judged.effect.step_before_s is not None
    assert -0.05 < judged.effect.slowdown < 0.05
    assert verdict(judged) == "run"
    assert judged.to_json()["effect"]["step_before_s"] == judged.effect.step_before_s


def test_without_a_job_the_trial_is_what_counts() -> None:
    judged = plan(SLOW_SPINE, with_job=False)
    assert judged.effect.step_before_s is None
    assert judged.effect.slowdown == judged.effect.after_s / judged.effect.before_s - 1 > 0.5
    assert verdict(judged) == "ask"


def test_a_fabric_on_which_the_job_cannot_run_takes_it_for_ever() -> None:
    step_s = step_of(bench())
    assert step_s is not None
    assert step_s(edit.fail(bench().fabric, "leaf:0")) == float("inf")
    assert 0 < step_s(bench().fabric) < 100


def test_a_job_that_fits_on_no_network_is_none() -> None:
    huge = SCENARIO.replace("llama-3.1-8b", "llama-3.1-405b").replace("nodes: 16", "nodes: 1")
    made = bench_of(parse(huge, name="scenario"), load_catalog())
    assert step_of(made) is None


def test_taking_a_cable_into_use_is_never_refused_for_what_is_away() -> None:
    # 16 of 128 cables are down, more than a tenth; one of them only waits for a manager.
    last = bench().fabric.num_links // 2 - 1  # between a leaf and a spine
    one = finding(f"cable:{last}", Trouble.UNUSED.value, 1.0)
    strict = HealPolicy(by_itself=("rebalance",))
    gone = tuple(PartId.cable(number) for number in range(last - 15, last + 1))
    (judged,) = plans_of(trial(one, with_job=False, gone=gone), [one], frozenset(VERBS))
    assert [act.name for act in judged.acts] == [f"rebalance {one.part}"]
    assert judged.effect.away_before.share == 16 / 128 > strict.most_capacity_away
    assert judged.effect.away_after.share == 15 / 128
    assert verdict(judged, strict) == "run"
