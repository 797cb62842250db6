"""Healing from the open cases of a watch."""

from __future__ import annotations

from dataclasses import replace

from netloom.app.heal.watched import with_cases
from netloom.fabric.part_id import PartId
from netloom.ops.heal.effect import Away, PlanEffect
from netloom.ops.heal.plan import Act, HealPlan
from netloom.ops.heal.policy import decide
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.findings import Finding
from netloom.ops.observe.cases import Case
from netloom.spec.heal import HealPolicy

NOW_S = 1_800_000_000.0
CASE = Case(
    part=PartId.cable(40),
    label="cable:40 (leaf:3->spine:0)",
    kind="loss",
    confidence=0.97,
    magnitude=1e-3,
    evidence=("it lost packets in 40 looks",),
    hurts=8,
    opened_s=NOW_S - 600,
    seen_s=NOW_S - 5,
)
SEEN = Finding(
    part=PartId.cable(40),
    kind="loss",
    magnitude=1e-3,
    confidence=0.8,
    evidence=("seen",),
    hurts=(1, 2),
    predicted_gain=0.1,
)
NONE = Away(share=0.0, uplink_share=0.0, num_ports=0)


def look(*findings: Finding) -> Snapshot:
    return Snapshot(findings=findings, taken_s=NOW_S)


def test_what_only_the_watch_found_is_planned_for_and_asks() -> None:
    sight = with_cases(look(), [CASE], most_age_s=60.0)
    (found,) = sight.findings
    assert (found.part.whole, found.kind, found.confidence) == (CASE.part, "loss", 0.97)
    effect = PlanEffect(healthy_s=1.0, before_s=2.0, after_s=1.0, away_before=NONE, away_after=NONE)
    plan = HealPlan(finding=found, acts=(Act(verb="drain", part=PartId.cable(40)),), effect=effect)
    policy = HealPolicy(by_itself=("drain",))
    judged = decide(plan, sight, policy, now_s=NOW_S, last_act_s={})
    assert (judged.verdict, judged.reasons) == (
        "ask",
        ("the watch has found it, and a fresh look has not",),
    )
    confirmed = decide(plan, look(found), policy, now_s=NOW_S, last_act_s={})
    assert confirmed.verdict == "run"


def test_what_both_found_is_as_sure_as_the_surer_and_keeps_who_is_hurt() -> None:
    (found,) = with_cases(look(SEEN), [CASE], most_age_s=60.0).findings
    assert (found.confidence, found.hurts) == (0.97, (1, 2))


def test_old_and_closed_cases_are_not_acted_on() -> None:
    old = replace(CASE, seen_s=NOW_S - 61)
    over = replace(CASE, closed_s=NOW_S - 1)
    sight = with_cases(look(), [old, over], most_age_s=60.0)
    assert sight.findings == ()
    assert sight.doubts == ("cable:40 (leaf:3->spine:0): loss, which the watch last saw 61 s ago",)
