"""Acting by the page: who may, on what, how often, and what is on disk before it is done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient
from web_under_test import HOST, OPERATOR_TOKEN, ORIGIN, VIEWER_TOKEN

from netloom.app.heal.site import LabSite
from netloom.app.jobs.heal_kinds import HEAL_APPLY, HealPlaceOptions
from netloom.app.jobs.kind import checked_options, job_kind, job_kinds
from netloom.app.lab.store import LabFolder
from netloom.app.live.healing import LiveHealing
from netloom.app.live.tour import tour_twin
from netloom.app.live.twin import case_name
from netloom.app.locate.lab import clock_s
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.log import LogEntry, render_entry
from netloom.web.guard import GuardRules
from netloom.web.settings import ServeSettings
from netloom.web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.app.jobs.job import JobRequest
    from netloom.app.live.twin import LiveTwin
    from netloom.ops.observe.cases import Case
    from netloom.web.workbench import Workbench

NAME = "0123456789ab"


class QuickUnderTest:
    """Answers with the plans that a test wants, and counts how often it was asked."""

    def __init__(self) -> None:
        self.plans: list[dict[str, Any]] = []
        self.num_asked = 0

    def ask(self, request: JobRequest) -> dict[str, Any]:
        checked_options(job_kind(request.kind), request.options)
        self.num_asked += 1
        return {"result": {"taken_s": clock_s(), "plans": self.plans}}


def plan(
    case: Case, name: str = NAME, verdict: str = "ask", verb: str = "reroute"
) -> dict[str, Any]:
    part = str(case.part.whole)
    return {
        "fingerprint": name,
        "by_request": False,
        "finding": {"part": case.label, "kind": case.kind},
        "requests": ["leaf-3: shutdown"],
        "acts": [{"verb": verb, "part": part}],
        "effect": {
            "step_before_s": 2.0,
            "step_after_s": 1.5,
            "capacity_away_after": {"share": 0.25},
        },
        "verdict": verdict,
        "reasons": ["policy asks before drain"],
    }


@pytest.fixture
def twin(tmp_path: Path) -> LiveTwin:
    return tour_twin(tmp_path / "tour")


@pytest.fixture
def case(twin: LiveTwin) -> Case:
    (found,) = [one for one in twin.open_at(twin.now()) if one.kind == "missing cable"]
    return found


@pytest.fixture
def quick(case: Case) -> QuickUnderTest:
    found = QuickUnderTest()
    found.plans = [plan(case)]
    return found


@pytest.fixture
def healing(tmp_path: Path, twin: LiveTwin, quick: QuickUnderTest) -> LiveHealing:
    place = LabFolder.of("one", tmp_path / "labs")
    place.path.mkdir(parents=True)
    return LiveHealing(
        place=HealPlaceOptions(scenario="a.yaml", lab="one"),
        site=LabSite(place=place),
        twin=twin,
        quick=quick,  # type: ignore[arg-type]
        tell=lambda *_: None,
    )


@pytest.fixture
def acting(workbench: Workbench, twin: LiveTwin, healing: LiveHealing) -> Iterator[TestClient]:
    bench = replace(workbench, twin=twin, healing=healing)
    rules = GuardRules(hosts=frozenset({HOST}), origins=frozenset({ORIGIN}))
    with TestClient(site_of(bench, rules), base_url=ORIGIN) as found:
        found.headers["Authorization"] = f"Bearer {OPERATOR_TOKEN}"
        yield found


def approve(client: TestClient, case: Case, name: str = NAME) -> tuple[int, dict[str, Any]]:
    reply = client.post(f"/api/v1/cases/{case_name(case)}/apply", json={"fingerprint": name})
    return reply.status_code, reply.json()


def audit(bench: Workbench) -> list[dict[str, Any]]:
    return list(reversed(bench.audit.last()))


def test_an_approval_becomes_a_job_and_a_line_of_the_audit(
    acting: TestClient, case: Case, workbench: Workbench
) -> None:
    status, told = approve(acting, case)
    assert status == 202
    assert told["result"]["kind"] == "heal-apply"
    assert told["result"]["by"] == told["result"]["options"]["by"] == "ada"
    assert told["result"]["options"]["fingerprint"] == NAME
    (line,) = audit(workbench)
    assert (line["who"], line["what"], line["fingerprint"]) == ("ada", "apply", NAME)
    assert (line["case"], line["part"]) == (case_name(case), case.label)
    assert line["address"]


def test_a_stale_plan_is_refused_with_the_new_one(
    acting: TestClient, case: Case, quick: QuickUnderTest, workbench: Workbench
) -> None:
    quick.plans = [plan(case, "fedcba987654")]
    status, told = approve(acting, case)
    assert status == 409
    assert "stale" in told["error"]["message"]
    assert [one["fingerprint"] for one in told["result"]["plans"]] == ["fedcba987654"]
    assert workbench.pool.newest() == []
    assert [one["what"] for one in audit(workbench)] == ["apply", "apply refused: stale"]


def test_a_plan_that_policy_refuses_is_not_carried_out(
    acting: TestClient, case: Case, quick: QuickUnderTest, workbench: Workbench
) -> None:
    quick.plans = [plan(case, verdict="refuse")]
    assert approve(acting, case)[0] == 409
    assert workbench.pool.newest() == []


def test_a_viewer_cannot_act_and_that_is_written_down(
    acting: TestClient, case: Case, workbench: Workbench
) -> None:
    acting.headers["Authorization"] = f"Bearer {VIEWER_TOKEN}"
    assert approve(acting, case)[0] == 403
    assert acting.post("/api/v1/acts/1/undo", json={}).status_code == 403
    for word in ("ack", "assign", "comment", "close", "maintain"):
        path = f"/api/v1/cases/{case_name(case)}/{word}"
        assert acting.post(path, json={}).status_code == 403, word
    assert {one["who"] for one in audit(workbench)} == {"vic"}
    assert workbench.pool.newest() == []


def test_the_seventh_act_of_a_minute_waits(acting: TestClient, case: Case) -> None:
    assert [approve(acting, case)[0] for _ in range(7)] == [202] * 6 + [429]


def test_a_server_that_only_shows_does_not_act(operator: TestClient) -> None:
    reply = operator.post("/api/v1/cases/0/apply", json={"fingerprint": NAME})
    assert reply.status_code == 409
    assert "--lab" in reply.json()["error"]["message"]


def test_plans_are_shown_as_they_are_known_and_a_look_is_not_waited_for(
    acting: TestClient, case: Case, healing: LiveHealing, quick: QuickUnderTest
) -> None:
    path = f"/api/v1/cases/{case_name(case)}/plan"
    assert acting.get(path).json()["result"]["looking"] is True
    healing.look()
    found = acting.get(path).json()["result"]
    assert found["looking"] is False
    (shown,) = found["plans"]
    assert shown["requests"] == ["leaf-3: shutdown"]
    assert (shown["step_before_s"], shown["step_after_s"]) == (2.0, 1.5)
    assert (shown["verdict"], shown["capacity_away"]) == ("ask", 0.25)
    assert quick.num_asked == 1


def test_an_approval_is_compared_with_a_look_of_the_last_seconds(
    acting: TestClient, case: Case, quick: QuickUnderTest
) -> None:
    approve(acting, case)
    approve(acting, case)
    assert quick.num_asked == 1  # the second is within five seconds of the first


def test_a_drain_by_request_is_not_shown_beside_the_same_drain(
    case: Case, healing: LiveHealing, quick: QuickUnderTest
) -> None:
    asked = plan(case, "fedcba987654", verb="drain")
    asked |= {"by_request": True, "finding": {"part": case.label, "kind": "by request"}}
    quick.plans = [plan(case), asked]
    healing.look()
    assert len(healing.plans_of(case)["plans"]) == 2
    quick.plans = [plan(case, verb="drain"), asked]
    healing.look()
    assert [one["fingerprint"] for one in healing.plans_of(case)["plans"]] == [NAME]


def write_log(healing: LiveHealing, case: Case, *phases: str) -> None:
    text = "".join(
        render_entry(
            LogEntry(
                at_s=case.opened_s + 10 + place,
                act=1,
                phase=phase,  # type: ignore[arg-type]
                verb="drain",
                part=PartId.parse(str(case.part.whole)),
                says=("helped",),
                by="ada",
            )
        )
        for place, phase in enumerate(phases)
    )
    (healing.site.path / "heal.jsonl").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("phases", "phase", "undoable"),
    [
        (("before",), "begun", False),
        (("before", "after"), "done", True),
        (("before", "after", "verified"), "verified", True),
        (("before", "after", "verified", "undoing", "undone"), "undone", False),
    ],
)
def test_acts_of_a_case_say_how_far_they_are(
    acting: TestClient,
    case: Case,
    healing: LiveHealing,
    phases: tuple[str, ...],
    phase: str,
    undoable: bool,  # noqa: FBT001
) -> None:
    write_log(healing, case, *phases)
    (act,) = acting.get(f"/api/v1/cases/{case_name(case)}").json()["result"]["acts"]
    assert (act["number"], act["by"], act["phase"]) == (1, "ada", phase)
    assert act["undoable"] is undoable
    assert act["time_s"] == case.opened_s + 10
    assert acting.post("/api/v1/acts/1/undo", json={}).status_code == (202 if undoable else 400)


def test_acts_of_other_parts_and_earlier_ones_are_not_of_the_case(
    case: Case, healing: LiveHealing
) -> None:
    write_log(healing, replace(case, opened_s=case.opened_s - 1000), "before", "after")
    assert healing.acts_of(case) == []
    write_log(healing, replace(case, part=PartId.parse("spine:0")), "before", "after")
    assert healing.acts_of(case) == []


def test_an_approval_that_waited_over_a_minute_is_not_carried_out() -> None:
    """A server that is killed leaves jobs that wait; the next one must not act on them."""
    options = {
        "scenario": "a.yaml",
        "lab": "one",
        "fingerprint": NAME,
        "by": "ada",
        "asked_s": clock_s() - 61,
    }
    with pytest.raises(InfeasibleError, match="approve it again"):
        HEAL_APPLY.result(None, checked_options(HEAL_APPLY, options), lambda *_: False)  # type: ignore[arg-type]


def test_no_page_asks_for_healing_by_its_kind(operator: TestClient) -> None:
    assert not [kind for kind in job_kinds() if kind.startswith("heal")]
    for kind in ("heal-plan", "heal-apply", "heal-undo"):
        body = {"kind": kind, "text": "", "options": {"scenario": "/etc/passwd"}}
        assert operator.post("/api/v1/jobs", json=body).status_code == 400
        assert operator.post(f"/api/v1/answers/{kind}", json=body).status_code == 404


def test_people_acknowledge_assign_comment_and_declare_maintenance(
    acting: TestClient, case: Case
) -> None:
    path = f"/api/v1/cases/{case_name(case)}"
    said = {
        "ack": {"text": "mine"},
        "assign": {"to": "ravi"},
        "comment": {"text": "<b>optic</b> ordered"},
        "maintain": {"lasts": "2h", "reason": "new optic"},
    }
    for word, body in said.items():
        assert acting.post(f"{path}/{word}", json=body).status_code == 200, word
    people = acting.get(path).json()["result"]["people"]
    assert (people["acknowledged_by"], people["assigned_to"]) == ("ada", "ravi")
    assert "<b>optic</b> ordered" in [one["text"] for one in people["audit"]]
    silence = acting.post(f"{path}/silence", json={"lasts": "2h", "reason": "known"})
    assert silence.status_code == 409
    assert "--alertmanager" in silence.json()["error"]["message"]


def test_a_scenario_without_what_is_watched_is_refused() -> None:
    with pytest.raises(SpecError, match="--store FILE, --lab NAME or --inventory FILE"):
        ServeSettings(scenario=Path("a.yaml"))
    with pytest.raises(SpecError, match="--scenario"):
        ServeSettings(lab="one")
    with pytest.raises(SpecError, match="--watch"):
        ServeSettings(scenario=Path("a.yaml"), store=Path("a.db"), watch=True)
    with pytest.raises(SpecError, match="either on a lab"):
        ServeSettings(scenario=Path("a.yaml"), lab="one", inventory=Path("b.yaml"))


def test_urgent_jobs_wait_for_no_others(workbench: Workbench, healing: LiveHealing) -> None:
    table = workbench.pool.table
    asked = workbench.pool.ask(healing.apply_request("", NAME, by="ada"))
    assert table.begin_next(without=("heal-apply",)) is None
    begun = table.begin_next(kinds=("heal-apply", "heal-undo"))
    assert begun is not None
    assert begun.id == asked.id
