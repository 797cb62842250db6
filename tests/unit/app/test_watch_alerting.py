"""When alerts go out, again, and no more; and what maintenance does to what is located."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from netloom.app.records.desk import maintain, time_at, time_since
from netloom.app.watch import alerting, locating
from netloom.app.watch.alerting import HOLD_S, RESEND_S, AlertSender
from netloom.app.watch.locating import Locator
from netloom.cli.operate.designed import designed_at
from netloom.errors import LabError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.cases.alerts import alert_of
from netloom.ops.cases.lease import CaseRecords
from netloom.ops.cases.people import acknowledge, close_case
from netloom.ops.locate.locate import LocatedWindow
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.observe.case_audit import Actor
from netloom.ops.observe.cases import Case, follow_cases, open_cases, write_cases
from netloom.ops.observe.devices import DeviceAccess
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

START_S = 1_800_000_000.0
MONA = Actor(name="mona", login="mona@desk")
SCENARIO = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""


@dataclass
class Clock:
    passed_s: float = 0.0

    def now_s(self) -> float:
        return START_S + self.passed_s

    def ticks_s(self) -> float:
        return self.passed_s

    def wait(self, wait_s: float) -> bool:
        self.passed_s += wait_s
        return False


@dataclass
class Desk:
    """A sender whose Alertmanager is a list, and which fails when told to."""

    store: ObservationStore
    clock: Clock = field(default_factory=Clock)
    posts: list[list[dict[str, Any]]] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    fails: bool = False
    leads: bool = True

    def sender(self) -> AlertSender:
        return AlertSender(
            access=DeviceAccess(name="Alertmanager", address="http://127.0.0.1:1"),
            records=CaseRecords(tables=self.store, leads=lambda: self.leads, fabric="hall-1"),
            cases=lambda: open_cases(self.store),
            clock=self.clock,
            log=lambda event, **_: self.logged.append(event),
        )

    def post(self, _: DeviceAccess, alerts: Sequence[dict[str, Any]]) -> None:
        if self.fails:
            message = "no answer"
            raise LabError(message)
        self.posts.append(list(alerts))

    def find(self, confidence: float) -> None:
        now_s = self.clock.now_s()
        part = PartId.parse("cable:40")
        found = Case(
            part=part,
            label=str(part),
            kind="loss",
            confidence=confidence,
            magnitude=1.0,
            evidence=(),
            hurts=0,
            opened_s=now_s,
            seen_s=now_s,
        )
        write_cases(
            self.store, follow_cases(open_cases(self.store), [found], now_s, may_close=True)
        )


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with ObservationStore(tmp_path / "watch.db") as store:
        one = Desk(store)
        monkeypatch.setattr(alerting, "post_alerts", one.post)
        yield one


def rounds(desk: Desk, sender: AlertSender, count: int, step_s: float = 10.0) -> None:
    for _ in range(count):
        sender(desk.clock.now_s())
        desk.clock.passed_s += step_s


def test_an_alert_is_sent_again_before_it_runs_out_and_not_with_every_look(desk: Desk) -> None:
    sender = desk.sender()
    desk.find(0.9)
    rounds(desk, sender, 31)
    # At 0, 60, ... 300 s; each holds for five minutes.
    assert len(desk.posts) == 1 + 300 // RESEND_S
    assert RESEND_S < HOLD_S / 2


def test_what_was_sure_once_alerts_to_its_end_and_what_never_was_does_not(desk: Desk) -> None:
    sender = desk.sender()
    desk.find(0.7)
    rounds(desk, sender, 3)
    assert desk.posts == []
    desk.find(0.85)
    rounds(desk, sender, 1)
    desk.find(0.6)
    rounds(desk, sender, 12)
    assert len(desk.posts) == 3
    close_case(desk.store, 1, MONA, desk.clock.now_s())
    rounds(desk, sender, 9)
    (last,) = desk.posts[-1]
    assert len(desk.posts) == 4  # told once that it is over
    assert last["endsAt"] < desk.posts[-2][0]["endsAt"]
    assert last["labels"] == desk.posts[0][0]["labels"]


def test_what_a_person_did_is_told_at_once(desk: Desk) -> None:
    sender = desk.sender()
    desk.find(0.9)
    rounds(desk, sender, 2)
    acknowledge(desk.store, 1, MONA, desk.clock.now_s())
    rounds(desk, sender, 2)
    assert [post[0]["annotations"].get("acknowledged_by") for post in desk.posts] == [None, "mona"]


def test_failures_rest_longer_and_longer_and_the_end_is_not_forgotten(desk: Desk) -> None:
    sender = desk.sender()
    desk.find(0.9)
    rounds(desk, sender, 1)
    desk.fails = True
    close_case(desk.store, 1, MONA, desk.clock.now_s())
    rounds(desk, sender, 30, step_s=5.0)
    assert desk.logged == ["alertmanager-failed"]
    desk.fails = False
    rounds(desk, sender, 13, step_s=5.0)
    assert desk.logged == ["alertmanager-failed", "alertmanager-back"]
    assert len(desk.posts) == 2


def test_a_new_leader_ends_what_the_old_one_alerted_and_a_follower_says_nothing(
    desk: Desk,
) -> None:
    old, new = desk.sender(), desk.sender()
    desk.find(0.9)
    rounds(desk, old, 1)
    close_case(desk.store, 1, MONA, desk.clock.now_s())
    desk.leads = False
    rounds(desk, new, 3)
    assert len(desk.posts) == 1
    desk.leads = True
    rounds(desk, new, 3)
    assert [post[0]["labels"]["case"] for post in desk.posts] == ["1", "1"]


def test_one_that_leads_again_much_later_ends_nothing_that_is_long_over(desk: Desk) -> None:
    sender = desk.sender()
    desk.find(0.9)
    rounds(desk, sender, 1)
    desk.leads = False
    close_case(desk.store, 1, MONA, desk.clock.now_s())
    rounds(desk, sender, 1, step_s=HOLD_S + 60)
    desk.leads = True
    rounds(desk, sender, 3)
    assert len(desk.posts) == 1


def test_a_declared_drain_is_expected_and_other_maintenance_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "eth.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    designed = designed_at(path)
    planned: list[frozenset[int]] = []

    def located(*given: Any) -> LocatedWindow:
        planned.append(given[-1])
        return LocatedWindow(findings=())

    monkeypatch.setattr(locating, "locate_window", located)
    store_path, clock = tmp_path / "watch.db", Clock()
    with ObservationStore(store_path) as store:
        locator = Locator(
            store=store,
            network=DesignedNetwork(
                fabric=designed.fabric,
                plant=designed.plant,
                rate_bps=lambda cable: cable.rate_bps,
            ),
            technology=designed.network.technology,
            collectors=(),
            clock=clock,
            log=lambda *_, **__: None,
            say=lambda _: None,
            planned=lambda: frozenset({3}),
        )
        locator(START_S)
        for part, drained in (("nic:5", True), ("cable:9", False), ("node:1", True)):
            more = {"drained": drained, "end": "+1h", "why": "x", "by": "mona"}
            maintain(store_path, part, now_s=START_S, **more)  # type: ignore[arg-type]
            locator(START_S + 1)
        locator(START_S + 3601)
    (of_nic,) = (cable.number for cable in designed.plant.find("nic:5"))
    of_node = {cable.number for n in range(8, 16) for cable in designed.plant.find(f"nic:{n}")}
    assert planned == [
        {3},
        {3, of_nic},
        {3, of_nic},
        {3, of_nic} | of_node,
        {3},
    ]


def test_times_are_given_in_three_ways() -> None:
    assert time_at("now", START_S, option="--to") == START_S
    assert time_at("+2h", START_S, option="--to") == START_S + 7200
    assert time_at("2027-01-15T08:00", START_S, option="--to") == START_S
    assert time_at("2027-01-15T09:00+01:00", 0.0, option="--to") == START_S
    assert time_since("1d", START_S) == START_S - 86400
    assert time_since("2027-01-15T08:00", 0.0) == START_S
    for text in ("", "soon", "+", "+x", "99999-01-01"):
        with pytest.raises(SpecError):
            time_at(text, START_S, option="--to")


def test_a_case_that_closes_in_the_same_second_still_ends_after_it_began(desk: Desk) -> None:
    desk.find(0.9)
    (case,) = open_cases(desk.store)
    alert = alert_of(replace(case, opened_s=START_S), "x", ends_s=START_S)
    assert alert["endsAt"] > alert["startsAt"]
