"""Strangers, other sites' pages and rebound names are refused; each rule of the guard by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from web_under_test import HOST, OPERATOR_TOKEN, ORIGIN, VIEWER_TOKEN, StoppedClock

from netloom.errors import SpecError
from netloom.web.guard import POLICY
from netloom.web.settings import ServeSettings
from netloom.web.visitors import Key, Sessions, keys_in

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from netloom.web.workbench import Workbench

ME = "/api/v1/me"
CHECK = "/api/v1/check"
BEARER = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}


def _cookie(client: TestClient, workbench: Workbench) -> str:
    token = workbench.sessions.issue_once(name="ada", role="operator")
    reply = client.get(f"/login?token={token}")
    assert reply.status_code == 303
    return str(reply.headers["set-cookie"])


def test_a_request_without_proof_is_told_to_log_in(client: TestClient) -> None:
    reply = client.get(ME)
    assert reply.status_code == 401
    assert reply.json()["error"]["kind"] == "request"


def test_a_wrong_token_opens_nothing(client: TestClient) -> None:
    assert client.get(ME, headers={"Authorization": "Bearer nonsense"}).status_code == 401


def test_a_token_of_the_file_says_who_asks(client: TestClient) -> None:
    assert client.get(ME, headers=BEARER).json()["result"] == {"name": "ada", "role": "operator"}


def test_a_token_in_the_address_works_once(client: TestClient, workbench: Workbench) -> None:
    token = workbench.sessions.issue_once(name="ada", role="operator")
    assert client.get(f"/login?token={token}").status_code == 303
    client.cookies.clear()
    assert client.get(f"/login?token={token}").status_code == 401


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(
    client: TestClient, workbench: Workbench
) -> None:
    cookie = _cookie(client, workbench).lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_a_session_ends_after_thirty_days(
    client: TestClient, workbench: Workbench, clock: StoppedClock
) -> None:
    _cookie(client, workbench)
    assert client.get(ME).status_code == 200
    clock.now_s += 30 * 86400 + 1
    assert client.get(ME).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", f"{HOST}.evil.example", ""])
def test_a_name_that_is_not_ours_is_misdirected(client: TestClient, host: str) -> None:
    assert client.get(ME, headers=BEARER | {"Host": host}).status_code == 421


def test_the_host_is_checked_before_anything_else(client: TestClient) -> None:
    assert client.get("/login?token=x", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_what_changes_something_must_come_from_our_own_page(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    sent = BEARER | {"Content-Type": "application/json"} | headers
    assert client.post(CHECK, content='{"text": "name: x"}', headers=sent).status_code == status


def test_a_browser_must_show_that_our_page_made_the_request(
    client: TestClient, workbench: Workbench
) -> None:
    _cookie(client, workbench)
    assert client.post(CHECK, json={"text": "name: x"}).status_code == 403
    shown = {"X-Netloom-CSRF": "1"}
    assert client.post(CHECK, json={"text": "name: x"}, headers=shown).status_code == 200


def test_a_viewer_may_look_and_ask_but_not_write(client: TestClient) -> None:
    viewer = {"Authorization": f"Bearer {VIEWER_TOKEN}"}
    assert client.post(CHECK, json={"text": "name: x"}, headers=viewer).status_code == 200
    written = client.put("/api/v1/scenarios/mine", json={"text": "name: x"}, headers=viewer)
    assert written.status_code == 403
    assert client.get("/api/v1/audit", headers=viewer).status_code == 403


def test_what_a_viewer_was_refused_is_written_down(
    client: TestClient, workbench: Workbench
) -> None:
    viewer = {"Authorization": f"Bearer {VIEWER_TOKEN}"}
    client.put("/api/v1/scenarios/mine", json={"text": "name: x"}, headers=viewer)
    (line,) = workbench.audit.last()
    assert (line["who"], line["what"]) == ("vic", "refused PUT /api/v1/scenarios/mine")


def test_a_body_over_one_mebibyte_is_refused(operator: TestClient) -> None:
    assert operator.post(CHECK, json={"text": "x" * (1 << 20)}).status_code == 413


def test_the_twenty_first_check_in_a_second_waits(
    operator: TestClient, clock: StoppedClock
) -> None:
    codes = [operator.post(CHECK, json={"text": "name: x"}).status_code for _ in range(21)]
    assert codes == [200] * 20 + [429]
    clock.now_s += 0.06  # over one twentieth of a second gives one more
    assert operator.post(CHECK, json={"text": "name: x"}).status_code == 200


def test_every_answer_carries_the_content_policy(client: TestClient) -> None:
    for path in ("/", ME, "/static/nothing", "/login?token=x"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == f"{POLICY.decode()}'none'"
        assert headers["x-content-type-options"] == "nosniff"
    assert b"unsafe" not in POLICY


def test_an_error_inside_says_nothing_of_itself(
    operator: TestClient, workbench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        message = "secret path /root/.ssh"
        raise RuntimeError(message)

    monkeypatch.setattr(type(workbench.scenarios), "names", broken)
    quiet = type(operator)(operator.app, base_url=ORIGIN, raise_server_exceptions=False)
    reply = quiet.get("/api/v1/scenarios", headers=BEARER)
    assert reply.status_code == 500
    assert "secret" not in reply.text


def test_the_user_that_a_proxy_names_is_a_viewer_unless_listed() -> None:
    rules = ServeSettings(
        listen="0.0.0.0",  # noqa: S104
        behind_proxy=True,
        user_header="X-Forwarded-User",
        operators=("ada",),
        hosts=("net.example",),
    ).rules(8787)
    assert rules.user_header == "x-forwarded-user"
    assert rules.operators == {"ada"}
    assert "https://net.example" in rules.origins


@pytest.mark.parametrize(
    "asked",
    [
        {"listen": "0.0.0.0"},  # noqa: S104
        {"listen": "192.0.2.1"},
        {"user_header": "X-User"},
        {"certificate": "cert.pem"},
    ],
)
def test_a_server_that_would_let_strangers_in_does_not_start(asked: dict[str, str]) -> None:
    with pytest.raises(SpecError):
        ServeSettings(**asked)  # type: ignore[arg-type]


def test_a_token_file_has_a_role_a_name_and_a_long_token() -> None:
    (key,) = keys_in(f"# comment\noperator ada {OPERATOR_TOKEN}\n", file="tokens")
    assert (key.name, key.role) == ("ada", "operator")
    assert Sessions(keys=(key,)).by_token(OPERATOR_TOKEN) is not None
    for wrong in ("admin ada " + OPERATOR_TOKEN, "operator ada short", "operator ada"):
        with pytest.raises(SpecError) as told:
            keys_in(wrong, file="tokens")
        assert OPERATOR_TOKEN not in str(told.value)


def test_tokens_are_kept_as_digests_only() -> None:
    key = Key.of(OPERATOR_TOKEN, name="ada", role="operator")
    assert OPERATOR_TOKEN not in repr(key)
