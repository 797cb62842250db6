"""Routes answer with the command line's envelope and error object."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.spec.example import example_text

if TYPE_CHECKING:
    from starlette.testclient import TestClient
    from web_under_test import StoppedClock

    from netloom.web.workbench import Workbench

EXAMPLE = "gpt3-175b-1k"
NUM_MUTATED = int(os.environ.get("NETLOOM_MUTATED_REQUESTS", "500"))  # make long: 10,000


def test_a_wrong_key_is_told_with_line_column_and_remedy(operator: TestClient) -> None:
    text = example_text(EXAMPLE).replace("technology:", "technologyx:")
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "technologyx" in row)
    found = operator.post("/api/v1/check", json={"text": text}).json()["result"]
    assert not found["ok"]
    assert line in {one["where"]["line"] for one in found["problems"]}


def test_predict_answers_as_the_command_does(operator: TestClient) -> None:
    text = example_text(EXAMPLE)
    found = operator.post("/api/v1/answers/predict", json={"text": text}).json()
    assert found["command"] == "predict"
    assert found["result"]["gpus"] == 1024
    assert found["result"]["step_time_s"] > 0


def test_a_scenario_that_cannot_be_is_a_422_with_its_problems(operator: TestClient) -> None:
    text = example_text(EXAMPLE).replace("tensor: 8", "tensor: 3")
    assert text != example_text(EXAMPLE)
    reply = operator.post("/api/v1/answers/predict", json={"text": text})
    assert reply.status_code in {400, 422}
    assert reply.json()["error"]["problems"]


def test_the_layout_has_a_cell_for_each_of_3424_cables(operator: TestClient) -> None:
    """1,024 NIC cables, 1,120 of leaves and 1,280 of spines, as `netloom size` counts them."""
    reply = operator.post("/api/v1/answers/layout", json={"text": example_text(EXAMPLE)})
    assert reply.json()["result"]["num_cells"] == 3424


@pytest.mark.parametrize("kind", ["compare", "watch", "__class__", "../jobs"])
def test_only_short_questions_are_answered_at_once(operator: TestClient, kind: str) -> None:
    reply = operator.post(f"/api/v1/answers/{kind}", json={"text": ""})
    assert reply.status_code in {400, 404}


def test_a_scenario_is_written_only_over_what_the_page_had(operator: TestClient) -> None:
    first = operator.put("/api/v1/scenarios/mine", json={"text": "name: a"})
    etag = first.json()["result"]["etag"]
    second = operator.put(
        "/api/v1/scenarios/mine", json={"text": "name: b"}, headers={"If-Match": f'"{etag}"'}
    )
    assert second.status_code == 200
    stale = operator.put(
        "/api/v1/scenarios/mine", json={"text": "name: c"}, headers={"If-Match": f'"{etag}"'}
    )
    assert stale.status_code == 409
    assert operator.get("/api/v1/scenarios/mine").json()["result"]["text"] == "name: b"


@pytest.mark.parametrize("name", ["..%2Fetc%2Fpasswd", "a%00b", ".hidden", "a/b", "x" * 200])
def test_a_name_cannot_leave_the_folder(operator: TestClient, name: str) -> None:
    assert operator.get(f"/api/v1/scenarios/{name}").status_code in {400, 404}


def test_a_link_in_the_folder_is_not_followed(operator: TestClient, workbench: Workbench) -> None:
    assert workbench.scenarios.folder is not None
    (workbench.scenarios.folder / "link.yaml").symlink_to("/etc/passwd")
    assert "link" not in operator.get("/api/v1/scenarios").json()["result"]["own"]
    assert operator.get("/api/v1/scenarios/link").status_code == 400


def test_a_job_waits_with_a_name_and_can_be_stopped(operator: TestClient) -> None:
    asked = {"kind": "compare", "text": example_text(EXAMPLE)}
    reply = operator.post("/api/v1/jobs", json=asked)
    assert reply.status_code == 202
    job = reply.json()["result"]
    assert (job["state"], job["by"]) == ("waiting", "ada")
    assert operator.delete(f"/api/v1/jobs/{job['job']}").json()["result"]["stopping"]
    assert operator.get(f"/api/v1/jobs/{job['job']}").json()["result"]["state"] == "stopped"


def test_a_later_edit_replaces_the_job_that_waits(operator: TestClient) -> None:
    asked = {"kind": "compare", "text": "x", "replaces": "design"}
    first, second = (operator.post("/api/v1/jobs", json=asked).json()["result"] for _ in "ab")
    assert operator.get(f"/api/v1/jobs/{first['job']}").json()["result"]["state"] == "stopped"
    assert operator.get(f"/api/v1/jobs/{second['job']}").json()["result"]["state"] == "waiting"


def test_the_hundred_and_first_waiting_job_is_refused(
    operator: TestClient, clock: StoppedClock
) -> None:
    codes = []
    for _ in range(101):
        clock.now_s += 2  # within the rate of a visitor
        codes.append(operator.post("/api/v1/jobs", json={"kind": "size", "text": "x"}).status_code)
    assert codes == [202] * 100 + [422]


@pytest.mark.parametrize(
    "options", [{"enginex": "flow"}, {"engine": "magic"}, {"seed": -1}, {"seed": "1"}, [], "x"]
)
def test_wrong_options_are_named_before_a_job_waits(operator: TestClient, options: object) -> None:
    asked = {"kind": "compare", "text": "x", "options": options}
    assert operator.post("/api/v1/jobs", json=asked).status_code == 400


def test_there_is_no_fabric_without_a_watch(operator: TestClient) -> None:
    reply = operator.get("/api/v1/live")
    assert reply.status_code == 404
    assert "--example" in reply.json()["error"]["message"]


def test_mutated_requests_are_never_a_500(operator: TestClient, clock: StoppedClock) -> None:
    rng = np.random.default_rng(7)
    paths = ["check", "answers/size", "scenarios/x", "jobs", "jobs/abc", "live/state", "events2"]
    bodies = ['{"text": "name: x"}', '{"kind": "size", "text": ""}', '{"options": {}}', "[]", ""]
    for _ in range(NUM_MUTATED):
        clock.now_s += 10
        path = _mutated(rng, _one(rng, paths))
        body = _mutated(rng, _one(rng, bodies)).encode("utf-8", "surrogatepass")
        method = _one(rng, ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"])
        headers = {"Content-Type": "application/json", "If-Match": _mutated(rng, '"abc"')}
        query = _one(rng, ["", "?at=1e999", "?at=nan", "?after=%00", "?from=-1&to=x"])
        safe = "".join(c for c in path if 32 < ord(c) < 127 and c not in "#?\\%")
        reply = operator.request(method, f"/api/v1/{safe}{query}", content=body, headers=headers)
        assert reply.status_code != 500, (method, safe, body)


def _one(rng: np.random.Generator, words: list[str]) -> str:
    return words[int(rng.integers(len(words)))]


def _mutated(rng: np.random.Generator, text: str) -> str:
    letters = list(text)
    for _ in range(int(rng.integers(3))):
        at = int(rng.integers(len(letters) + 1))
        letters[at : at + int(rng.integers(2))] = [_one(rng, list('"{}[]:,\\\x010-/.'))]
    return "".join(letters)
