"""Runs of healing on a site that is a list of findings: names, second looks, refusals."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from netloom.app.heal import apply, approve, plan, undo, verify
from netloom.app.heal import run as runs
from netloom.app.heal.report import HealOrder, HealTarget
from netloom.app.heal.request import parse_act
from netloom.app.locate.lab import clock_s
from netloom.errors import SpecError
from netloom.fabric.build import build
from netloom.fabric.part_id import PartId
from netloom.ops.heal.act import Check, PlannedAct
from netloom.ops.heal.log import in_force
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.faults import FaultKind
from netloom.ops.locate.findings import Finding
from netloom.parts.load import load_catalog
from netloom.spec.heal import parse_policy
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.ops.heal.actuators import ActContext
    from netloom.ops.heal.log import LogEntry
    from netloom.ops.heal.plan import Act, HealPlan

RUNS = parse_policy("heal: {by_itself: [drain, ticket], most_slowdown: 100%}", name="policy")
WAS = "what devices had before"


@functools.cache
def target() -> HealTarget:
    asked = {"technology": "infiniband-ndr", "topology": {"kind": "fat-tree", "tiers": 2}}
    made = network_of(Cluster.model_validate({"nodes": 16, "fabric": asked}), load_catalog())
    fabric = build(made.design, made.node, made.scale_up)
    return HealTarget(fabric=fabric, technology=made.technology)


def uplink(place: int = 1) -> PartId:
    return PartId.cable(target().fabric.num_links // 2 - place)


def lossy(place: int = 1, magnitude: float = 0.3) -> Finding:
    return Finding(
        part=uplink(place),
        kind=FaultKind.LOSS.value,
        magnitude=magnitude,
        confidence=0.99,
        evidence=("seen",),
        hurts=(),
        predicted_gain=0.5,
    )


@dataclass
class ToySite:
    """What is wrong is an attribute; acts make it right."""

    path: Path
    findings: tuple[Finding, ...] = ()
    away: tuple[PartId, ...] = ()
    age_s: float = 0.0
    again: Snapshot | None = None
    num_looks: int = 0
    num_second: int = 0
    did: list[str] = field(default_factory=list)
    name: str = "toy"
    born_at_s: float = 0.0
    tells_requests: bool = True
    verbs: frozenset[Any] = frozenset({"drain", "shut", "ticket", "reroute"})

    def check(self) -> None:
        self.path.mkdir(exist_ok=True)

    def look(self, _: HealTarget) -> Snapshot:
        self.num_looks += 1
        return Snapshot(findings=self.findings, taken_s=clock_s() - self.age_s, away=self.away)

    def look_again(self, _: HealTarget, plan: HealPlan, sight: Snapshot) -> Snapshot:
        self.num_second += 1
        fresh = replace(sight, findings=(plan.finding,), taken_s=clock_s())
        return self.again or fresh

    def can(self, act: Act) -> bool:
        return bool(act)

    def actuator(self, _: ActContext) -> ToySite:
        return self

    def still_drained(self, drained: Any, _: Snapshot) -> set[PartId]:
        return set(drained)

    def state_of(self, _: LogEntry) -> tuple[str, ...]:
        return ("leaf01 has the old configuration",)

    def plan(self, act: Act, name: str) -> PlannedAct:
        return PlannedAct(requests=(f"{name}: {act.name}",), token=WAS)

    def apply(self, act: Act, token: str) -> tuple[str, str]:
        assert token == WAS
        self.did.append(act.name)
        self.findings = tuple(f for f in self.findings if f.part.whole != act.part)
        return "done", "after"

    def undo(self, act: Act, token: str) -> str:
        self.did.append(f"undo {act.name} by {token}")
        return "undone"

    def verify(self, _: HealPlan) -> Check:
        return Check(helped=True)

    def tenant_isolation(self) -> Mapping[str, str]:
        return {}


@pytest.fixture
def site(tmp_path: Path) -> ToySite:
    return ToySite(path=tmp_path / "site", findings=(lossy(),))


def shown(site: ToySite, **how: Any) -> HealPlan:
    report = plan(target(), site, order=HealOrder(**how))
    return report.steps[0].plan


def test_a_plan_is_carried_out_by_its_name_and_by_that_alone(site: ToySite) -> None:
    site.findings = (lossy(1), lossy(2))
    first, second = plan(target(), site).steps
    assert first.plan.fingerprint != second.plan.fingerprint
    assert site.did == []
    report = apply(target(), second.plan.fingerprint, site, by="Ada", order=HealOrder(policy=RUNS))
    # Policy would let the other one run as well; a person has named this one.
    assert site.did == [f"drain {uplink(2)}", f"ticket {uplink(2)}"]
    assert [step.outcome is not None for step in report.steps] == [False, True]
    assert not report.has_refused
    entries = runs.journal_of(site).entries()
    assert {(e.by, e.plan) for e in entries} == {("Ada", second.plan.fingerprint)}


def test_a_name_stays_while_only_measured_rates_differ(site: ToySite) -> None:
    name = shown(site).fingerprint
    site.findings = (replace(lossy(magnitude=0.2), confidence=0.95, evidence=("again",)),)
    assert shown(site).fingerprint == name


@pytest.mark.parametrize(
    "change",
    [
        lambda s: setattr(s, "findings", (lossy(2),)),
        lambda s: setattr(s, "findings", (replace(lossy(), kind=FaultKind.SLOW.value),)),
        lambda s: setattr(s, "away", (uplink(5),)),
        lambda s: setattr(s, "verbs", frozenset({"ticket"})),
    ],
    ids=["another part", "another kind", "another effect", "other acts"],
)
def test_a_plan_of_another_finding_effect_or_act_is_stale_and_refused(
    site: ToySite, change: Any
) -> None:
    name = shown(site).fingerprint
    change(site)
    report = apply(target(), name, site, by="Ada")
    assert site.did == []
    assert [one.name for one in report.stale] == [name]
    assert report.has_refused


def test_a_plan_whose_finding_is_gone_is_refused_and_not_silently_nothing(site: ToySite) -> None:
    name = shown(site).fingerprint
    site.findings = ()
    report = apply(target(), name, site, by="Ada")
    assert report.has_refused
    assert "does not find" in report.stale[0].says


def test_a_plan_that_costs_more_than_it_was_shown_to_cost_is_refused(site: ToySite) -> None:
    name = shown(site).fingerprint
    path = site.path / "plans" / f"{name}.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**told, "slowdown": told["slowdown"] - 0.02}), encoding="utf-8")
    report = apply(target(), name, site, by="Ada")
    assert site.did == []
    assert "when it was shown" in report.steps[0].decision.reasons[0]
    assert report.has_refused


def test_an_old_look_is_made_up_for_by_a_second_one_at_the_parts_concerned(site: ToySite) -> None:
    site.age_s = 3600.0  # the default policy refuses what is older than a minute
    name = shown(site).fingerprint
    assert site.num_second == 0
    report = apply(target(), name, site, by="Ada")
    assert site.num_second == 1
    assert site.did == [f"drain {uplink()}", f"ticket {uplink()}"]
    assert not report.has_refused


def test_a_fresh_look_needs_no_second_one(site: ToySite) -> None:
    apply(target(), shown(site).fingerprint, site, by="Ada")
    assert site.num_second == 0
    assert site.did


@pytest.mark.parametrize(
    ("again", "why"),
    [
        (Snapshot(findings=(), taken_s=0.0), "does not find it any more"),
        (Snapshot(findings=(lossy(),), taken_s=0.0, away=(uplink(9),)), "more is away"),
        (Snapshot(findings=(lossy(),), taken_s=0.0), "old"),
    ],
)
def test_what_the_second_look_does_not_bear_out_is_refused(
    site: ToySite, again: Snapshot, why: str
) -> None:
    site.age_s, site.again = 3600.0, again
    report = runs.heal(site, target(), HealOrder(policy=RUNS))
    assert site.did == []
    assert why in report.steps[0].decision.reasons[0]
    assert report.has_refused


def test_what_a_person_asks_for_is_a_plan_like_any_other(site: ToySite) -> None:
    site.findings = ()
    asked = (parse_act(f"shut {uplink()}"),)
    one = shown(site, asked=asked)
    assert one.requests == (f"netloom: shut {uplink()}",)
    report = apply(target(), one.fingerprint, site, by="Ada")
    assert not report.has_refused
    assert site.did == [f"shut {uplink()}"]
    (entry,) = in_force(runs.journal_of(site).entries())
    assert undo(entry.act, site=site, by="Bo").says == "undone"
    assert runs.journal_of(site).entries()[-1].by == "Bo"
    assert site.did[-1] == f"undo shut {uplink()} by after"


def test_limits_hold_for_what_a_person_approves(site: ToySite) -> None:
    """Of a leaf's 32 uplinks 16 are away, by whomever: no more may go."""
    fabric = target().fabric
    leaf = fabric.link_source[2 * uplink().index]
    own = [n // 2 for n in range(fabric.num_links) if n % 2 == 0 and fabric.link_source[n] == leaf]
    site.away = tuple(PartId.cable(n) for n in own if n != uplink().index)[:16]
    name = shown(site).fingerprint
    report = apply(target(), name, site, by="Ada")
    assert site.did == []
    assert "uplinks" in " ".join(report.steps[0].decision.reasons)
    assert report.has_refused


def test_verifying_looks_again_at_what_the_plan_is_about(site: ToySite) -> None:
    name = shown(site).fingerprint
    assert not verify(target(), name, site).is_over
    apply(target(), name, site, by="Ada")
    assert verify(target(), name, site).is_over


def test_an_act_that_was_cut_short_says_which_configuration_devices_have(site: ToySite) -> None:
    name = shown(site).fingerprint
    approve(name, site, by="Ada")
    entry = runs.journal_of(site).entries()[-1]
    runs.journal_of(site).write(replace(entry, act=1, phase="before", token=WAS))
    report = plan(target(), site)
    assert "leaf01 has the old configuration" in report.sight.disputes[0].says
    assert report.steps[0].decision.verdict == "refuse"
    undo(1, site=site, by="Ada")
    assert plan(target(), site).sight.disputes == ()


@pytest.mark.parametrize(
    "text", ["", "drain", "drain cable", "restart-job node:1", "reboot leaf:1"]
)
def test_what_is_no_act_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        parse_act(text)
