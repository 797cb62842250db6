from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import LabError, SpecError
from netloom.fabric import edit
from netloom.fabric.build import build
from netloom.fabric.part_id import Direction, PartId
from netloom.ops.heal.act import Check, PlannedAct, carry_out
from netloom.ops.heal.effect import Away, PlanEffect, PlanTrial, away, trial_of
from netloom.ops.heal.log import (
    LogEntry,
    in_force,
    last_acts,
    parse_entries,
    render_entry,
    unfinished,
)
from netloom.ops.heal.plan import VERBS, Act, HealPlan, plans_of
from netloom.ops.heal.policy import decide
from netloom.ops.heal.snapshot import Dispute, Snapshot
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import Finding
from netloom.parts.load import load_catalog
from netloom.spec.heal import HealPolicy, parse_policy
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.fabric.network import Network

# 128 NIC ports on 4 leaves of 64 ports: 32 uplinks each, 16 to each of 2 spines; 128 cables.
UPLINKS, CABLES = 32, 128
ABLE = frozenset(VERBS)


@functools.cache
def network() -> Network:
    asked = {"technology": "infiniband-ndr", "topology": {"kind": "fat-tree", "tiers": 2}}
    return network_of(Cluster.model_validate({"nodes": 16, "fabric": asked}), load_catalog())


@functools.cache
def trial(*findings: Finding) -> PlanTrial:
    made = network()
    fabric = build(made.design, made.node, made.scale_up)
    return trial_of(fabric, made.technology, findings, ())


def spine_cable() -> str:
    return f"cable:{trial().designed.num_links // 2 - 1}"


def finding(part: str, kind: str, magnitude: float = 1.0, **more: Any) -> Finding:
    given = {"confidence": 0.99, "evidence": ("seen",), "hurts": (), "predicted_gain": 0.5, **more}
    return Finding(part=PartId.parse(part), kind=kind, magnitude=magnitude, **given)


def plan_for(one: Finding, able: frozenset[Any] = ABLE) -> HealPlan:
    (plan,) = plans_of(trial(one), [one], able)
    return plan


def names(plan: HealPlan) -> list[str]:
    return [act.name for act in plan.acts]


def test_a_cable_that_loses_packets_is_drained_and_the_trial_gets_faster() -> None:
    cable = spine_cable()
    plan = plan_for(finding(cable, FaultKind.LOSS, 0.3))
    assert names(plan) == [f"drain {cable}", f"ticket {cable}"]
    # Of a third of all packets the last of a message is among the lost, which costs a time-out
    # of 4.096 us x 2^20 = 4.29 s; without the cable another carries double, in milliseconds.
    assert plan.effect.before_s > 4.0
    assert plan.effect.after_s < 0.1
    assert plan.effect.away_after == Away(share=1 / CABLES, uplink_share=1 / UPLINKS, num_ports=0)


def test_a_cable_that_is_gone_is_routed_around_and_takes_nothing_more_away() -> None:
    plan = plan_for(finding(spine_cable(), Trouble.MISSING))
    assert names(plan) == [f"reroute {spine_cable()}", f"ticket {spine_cable()}"]
    assert plan.effect.away_before == plan.effect.away_after
    assert plan.effect.before_s == plan.effect.after_s >= plan.effect.healthy_s


def test_a_cable_that_loses_large_packets_by_its_mtu_is_drained_and_a_switch_is_not() -> None:
    assert names(plan_for(finding(spine_cable(), "wrong MTU"))) == [
        f"drain {spine_cable()}",
        f"ticket {spine_cable()}",
    ]
    assert names(plan_for(finding("leaf:0", "wrong MTU"))) == ["ticket leaf:0"]


def test_draining_a_spine_takes_half_of_the_capacity() -> None:
    plan = plan_for(finding("spine:1", FaultKind.BLACK_HOLE, 0.3))
    assert math.isinf(plan.effect.before_s)
    # Each of a leaf's 32 ports sends to nodes 8, 4 and 2 further on. With 4 nodes on a leaf all of
    # the first two leave it and half of the last: 80 transfers over 16 uplinks are 5 for each,
    # where a port has 3 to send. They need not spread evenly: 5/3 is the least.
    assert 5 / 3 <= plan.effect.after_s / plan.effect.healthy_s < 2
    assert plan.effect.away_after.share == 0.5


def test_a_kernel_that_gets_its_paths_back_is_as_fast_as_designed() -> None:
    plan = plan_for(finding("leaf:2", FaultKind.LOST_PATHS, 16.0, predicted_gain=0.5))
    assert names(plan) == ["repair-fib leaf:2"]
    assert plan.effect.before_s > plan.effect.after_s == plan.effect.healthy_s


@pytest.mark.parametrize("kind", [FaultKind.LOSS, FaultKind.PAUSE_STORM, Trouble.MISSING])
def test_a_machine_with_a_sick_nic_is_left_by_jobs(kind: str) -> None:
    # NIC ports 16 to 23 are those of the third machine.
    plan = plan_for(finding("nic:17", kind, 0.1))
    assert names(plan) == ["cordon node:2", "restart-job node:2", "ticket nic:17"]
    assert plan.effect.num_nodes == 1


def test_where_no_scheduler_can_be_called_a_ticket_is_left() -> None:
    one = finding("nic:17", FaultKind.LOSS, 0.1)
    assert names(plan_for(one, frozenset({"drain", "ticket"}))) == ["ticket nic:17"]
    unused = finding(spine_cable(), Trouble.UNUSED)
    assert names(plan_for(unused, frozenset({"drain"}))) == [f"ticket {spine_cable()}"]


@pytest.mark.parametrize(
    ("part", "kind", "wanted"),
    [
        ("opensm-0.0", Trouble.NO_MANAGER, ["fail-over opensm-0.0"]),
        ("cable:140", Trouble.UNUSED, ["rebalance cable:140"]),
        ("cable:140", Trouble.MISWIRED, ["ticket cable:140"]),
        ("spine:0", FaultKind.PAUSE_STORM, ["ticket spine:0"]),
    ],
)
def test_what_does_not_change_capacity_predicts_no_change(
    part: str, kind: str, wanted: list[str]
) -> None:
    plan = plan_for(finding(part, kind, predicted_gain=0.0))
    assert names(plan) == wanted
    assert plan.effect.slowdown == 0
    assert not plan.effect.cuts_off


def test_away_counts_nic_ports_that_are_cut_off() -> None:
    fabric = trial().designed
    assert away(fabric) == Away(share=0.0, uplink_share=0.0, num_ports=0)
    # Draining a leaf: its 32 hosts, and all of its own uplinks, a quarter of them all.
    found = away(edit.drain(fabric, "leaf:0"))
    assert found == Away(share=0.25, uplink_share=1.0, num_ports=32)


# Policy.

EFFECT = PlanEffect(
    healthy_s=1.0,
    before_s=2.0,
    after_s=1.0,
    away_before=Away(share=0.0, uplink_share=0.0, num_ports=0),
    away_after=Away(share=0.05, uplink_share=0.1, num_ports=0),
)
ONE_WAY = PartId("cable", 140, Direction.UP, ends=("leaf:0", "spine:0"))
OTHER_WAY = replace(ONE_WAY, direction=Direction.DOWN)
DRAIN = HealPlan(
    finding=replace(finding("cable:140", FaultKind.LOSS), part=ONE_WAY),
    acts=(Act(verb="drain", part=PartId.cable(140)),),
    effect=EFFECT,
)
SIGHT = Snapshot(findings=(DRAIN.finding,), taken_s=1000.0)
ALLOWS = HealPolicy(by_itself=("drain",))


def verdict(
    plan: HealPlan = DRAIN,
    sight: Snapshot = SIGHT,
    policy: HealPolicy = ALLOWS,
    *,
    now_s: float = 1010.0,
    last: Mapping[PartId, float] | None = None,
) -> str:
    return decide(plan, sight, policy, now_s=now_s, last_act_s=last or {}).verdict


def test_what_policy_lists_runs_and_everything_else_asks() -> None:
    assert verdict() == "run"
    assert verdict(policy=HealPolicy()) == "ask"


@pytest.mark.parametrize("now_s", [1061.0, 999.0])
def test_data_that_are_stale_or_from_the_future_are_not_acted_on(now_s: float) -> None:
    assert verdict(now_s=now_s) == "refuse"


def test_sources_that_disagree_on_the_part_stop_the_act_and_no_other() -> None:
    for part, wanted in (("cable:140", "refuse"), ("cable:141", "run")):
        dispute = Dispute(part=PartId.parse(part), says=("up", "down"))
        assert verdict(sight=replace(SIGHT, disputes=(dispute,))) == wanted


@pytest.mark.parametrize(
    "after",
    [
        Away(share=0.11, uplink_share=0.1, num_ports=0),  # 10 % may be away
        Away(share=0.05, uplink_share=0.51, num_ports=0),  # 50 % of a switch's own
        Away(share=0.05, uplink_share=0.1, num_ports=1),  # nobody may be cut off
    ],
)
def test_too_much_capacity_away_is_refused_whoever_says_yes(after: Away) -> None:
    assert verdict(replace(DRAIN, effect=replace(EFFECT, away_after=after))) == "refuse"


def test_what_takes_nothing_away_is_not_held_up_by_what_is_away_already() -> None:
    gone = Away(share=0.4, uplink_share=1.0, num_ports=3)
    effect = replace(EFFECT, away_before=gone, away_after=gone)
    assert verdict(replace(DRAIN, effect=effect)) == "run"


def test_a_costly_plan_asks() -> None:
    assert verdict(replace(DRAIN, effect=replace(EFFECT, after_s=2.09))) == "run"
    assert verdict(replace(DRAIN, effect=replace(EFFECT, after_s=2.11))) == "ask"
    assert verdict(replace(DRAIN, effect=replace(EFFECT, num_nodes=2))) == "ask"


def test_a_ticket_for_what_stalls_the_job_is_left_without_asking() -> None:
    stalled = replace(EFFECT, before_s=math.inf, after_s=math.inf)
    ticket = (Act(verb="ticket", part=PartId.cable(140)),)
    policy = HealPolicy(by_itself=("ticket", "drain"))
    assert verdict(replace(DRAIN, acts=ticket, effect=stalled), policy=policy) == "run"
    drain = decide(replace(DRAIN, effect=stalled), SIGHT, policy, now_s=1010.0, last_act_s={})
    assert drain.reasons == ("trial flows would not end",)


def test_doubt_asks_but_both_directions_of_a_cable_are_one_part() -> None:
    doubted = replace(DRAIN.finding, confidence=0.85)
    assert verdict(replace(DRAIN, finding=doubted)) == "ask"
    sure = replace(doubted, rivals=((OTHER_WAY, 0.1), (PartId("leaf", 0), 0.05)))
    assert verdict(replace(DRAIN, finding=sure)) == "run"
    assert verdict(sight=replace(SIGHT, doubts=("leaf:3: no answer",))) == "ask"


def test_a_part_that_was_just_acted_on_asks() -> None:
    assert verdict(last={PartId.cable(140): 420.0}) == "ask"  # 590 s ago, and 600 are quiet
    assert verdict(last={PartId.cable(140): 400.0, PartId.cable(141): 1000.0}) == "run"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("heal: {by_itself: [explode]}", "x:1:"),
        ("heal: {most_capacity_away: 120%}", "most_capacity_away"),
        ("heal: {most_age: 5}", "has no unit"),
        ("heal: {most_ages: 5s}", "most_ages"),
        ("other: 1", "no section 'heal'"),
        ("heal: [", "x:1"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=re.escape(told)):
        parse_policy(text, name="x")


def test_a_policy_is_read_as_written() -> None:
    text = "heal: {by_itself: [drain], quiet: 5min, commands: {cordon: [scontrol, 'n{node}']}}"
    policy = parse_policy(text, name="x")
    assert (policy.by_itself, policy.quiet_s) == (("drain",), 300.0)
    assert policy.commands["cordon"] == ("scontrol", "n{node}")


# Acting.


@dataclass
class Memory:
    """A journal in memory."""

    written: list[LogEntry] = field(default_factory=list)

    def entries(self) -> Sequence[LogEntry]:
        return self.written

    def write(self, entry: LogEntry) -> None:
        self.written.append(entry)


@dataclass
class Puppet:
    """Hands that do as told, and remember in what order."""

    journal: Memory
    helped: bool = True
    fails: str = ""
    sticks: str = ""
    keys: list[str] = field(default_factory=lambda: ["0x8001", "0x8001"])
    did: list[str] = field(default_factory=list)

    def plan(self, act: Act, name: str) -> PlannedAct:
        assert name.startswith(f"netloom-{BOTH.fingerprint}-")
        return PlannedAct(requests=(act.name,))

    def apply(self, act: Act, token: str) -> tuple[str, str]:
        assert token == ""
        assert self.journal.written[-1].phase == "before"
        self.did.append(act.name)
        if act.verb == self.fails:
            message = "no answer"
            raise LabError(message)
        return f"did {act.name}", f"token of {act.part}"

    def undo(self, act: Act, token: str) -> str:
        if act.verb == self.sticks:
            message = "no answer"
            raise LabError(message)
        self.did.append(f"undo {act.name} with {token!r}")
        return f"undid {act.name}"

    def verify(self, plan: HealPlan) -> Check:
        return Check(helped=self.helped)

    def tenant_isolation(self) -> Mapping[str, str]:
        return {"keys": self.keys.pop(0)}


BOTH = replace(DRAIN, acts=(*DRAIN.acts, Act(verb="ticket", part=PartId.cable(140))))


def carried(**how: Any) -> tuple[str, Puppet]:
    journal = Memory()
    hands = Puppet(journal=journal, **how)
    outcome = carry_out(BOTH, hands, journal, lambda: 5.0, first=7)
    return outcome.result, hands


def phases(hands: Puppet) -> list[tuple[int, str]]:
    return [(entry.act, entry.phase) for entry in hands.journal.written]


def test_an_act_is_on_record_before_it_is_done_and_after() -> None:
    result, hands = carried()
    assert result == "healed"
    done = [(7, "before"), (7, "after"), (8, "before"), (8, "after")]
    assert phases(hands) == [*done, (7, "verified"), (8, "verified")]
    assert hands.journal.written[0].detail["before_s"] == 2.0


def test_acts_that_did_not_help_are_undone_last_first() -> None:
    result, hands = carried(helped=False)
    assert result == "undone"
    assert hands.did[2:] == [
        "undo ticket cable:140 with 'token of cable:140'",
        "undo drain cable:140 with 'token of cable:140'",
    ]
    assert in_force(hands.journal.written) == unfinished(hands.journal.written) == ()


def test_an_act_that_failed_half_way_is_undone_without_a_token() -> None:
    result, hands = carried(fails="ticket")
    assert result == "undone"
    assert hands.did[2:] == [
        "undo ticket cable:140 with ''",
        "undo drain cable:140 with 'token of cable:140'",
    ]


def test_tenants_that_are_no_longer_apart_undo_the_act() -> None:
    assert carried(keys=["0x8001", "0xffff"])[0] == "undone"


def test_what_cannot_be_undone_is_said_and_the_rest_is_undone_all_the_same() -> None:
    result, hands = carried(helped=False, sticks="ticket")
    assert result == "stuck"
    assert hands.did[-1].startswith("undo drain")
    assert [entry.act for entry in in_force(hands.journal.written)] == [8]


# The log.

ENTRIES = st.builds(
    LogEntry,
    at_s=st.floats(0, 1e10),
    act=st.integers(1, 5),
    phase=st.sampled_from(["before", "after", "failed", "verified", "undoing", "undone"]),
    verb=st.sampled_from(["drain", "ticket"]),
    part=st.builds(PartId, st.sampled_from(["cable", "leaf", "scale-up"]), st.integers(0, 10**9)),
    says=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    token=st.text(max_size=5),
)


@given(st.lists(ENTRIES, max_size=8))
def test_what_is_written_is_what_is_read(entries: list[LogEntry]) -> None:
    assert parse_entries("".join(map(render_entry, entries))) == tuple(entries)


@given(st.lists(ENTRIES, min_size=1, max_size=4), st.integers(1, 500))
def test_a_line_that_was_cut_short_loses_only_itself(entries: list[LogEntry], cut: int) -> None:
    lines = [render_entry(entry) for entry in entries]
    text = "".join(lines[:-1]) + lines[-1][: -1 - cut % (len(lines[-1]) - 1)]
    assert parse_entries(text)[: len(entries) - 1] == tuple(entries[:-1])


@given(st.text(max_size=200))
def test_any_text_is_a_log_or_nothing(text: str) -> None:
    parse_entries(text)


def test_an_act_without_an_end_is_unfinished() -> None:
    begun = LogEntry(at_s=1.0, act=1, phase="before", verb="drain", part=PartId.cable(1))
    assert unfinished([begun]) == (begun,)
    assert unfinished([begun, replace(begun, phase="after")]) == ()
    undoing = replace(begun, phase="undoing")
    assert unfinished([begun, replace(begun, phase="after"), undoing]) == (undoing,)
    assert last_acts([begun, replace(begun, at_s=3.0, verb="ticket")]) == {PartId.cable(1): 1.0}
