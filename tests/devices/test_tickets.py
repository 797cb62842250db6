"""Cases told to a webhook: the receiver of the documentation, and receivers that misbehave."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from alerts_under_test import (
    BreakableFabric,
    Receiver,
    breakable_fabric,
    cases,
    receiver,
    running_watch,
    until,
)
from devices_under_test import answers, daemon, free_port

from netloom.ops.cases.tickets import TICKET_SCHEMA, signature

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lab
PAGE = Path(__file__).parents[2] / "docs" / "operate" / "alerts.md"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[BreakableFabric]:
    with breakable_fabric(tmp_path) as one:
        yield one


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as one:
        yield one


def secret_file(folder: Path) -> Path:
    path = folder / "tickets.secret"
    path.write_text("blue-horse\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def test_the_receiver_of_the_documentation_makes_one_ticket_of_a_case(
    fabric: BreakableFabric, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "receiver.py").write_text(program, encoding="utf-8")
    monkeypatch.setenv("TICKETS_SECRET", "blue-horse")
    port, database, store = free_port(), tmp_path / "tickets.db", tmp_path / "watch.db"
    argv = [sys.executable, "receiver.py", str(port), str(database)]
    options = ["--tickets", f"http://127.0.0.1:{port}/netloom", "--fabric", "hall-1"]
    options += ["--tickets-secret", str(secret_file(tmp_path))]

    def events() -> list[tuple[str, str, str]]:
        with closing(sqlite3.connect(database)) as file:
            return file.execute("SELECT ticket, event, by FROM event ORDER BY rowid").fetchall()

    def bodies() -> list[dict[str, Any]]:
        with closing(sqlite3.connect(database)) as file:
            return [json.loads(body) for (body,) in file.execute("SELECT body FROM event")]

    with (
        daemon(argv, tmp_path, lambda: answers(port)),
        running_watch(fabric, store, *options) as watch,
    ):
        assert until(lambda: bool(watch.events("round")))
        fabric.put(fabric.uplink())
        assert until(lambda: len(events()) == 1), watch.log.read_text()
        cases(store, capsys, "ack", "1", "--by", "mona")
        cases(store, capsys, "comment", "1", 'a "quoted"\n<b>line</b>', "--by", "mona")
        assert until(lambda: len(events()) == 3), watch.log.read_text()
        fabric.put()
        assert until(lambda: len(events()) == 4), watch.log.read_text()
    assert events() == [
        ("hall-1/1", "opened", "netloom"),
        ("hall-1/1", "acknowledged", "mona"),
        ("hall-1/1", "commented", "mona"),
        ("hall-1/1", "closed", "netloom"),
    ]
    for body in bodies():
        jsonschema.validate(body, TICKET_SCHEMA)
    assert bodies()[2]["text"] == 'a "quoted" <b>line</b>'


def test_what_fails_is_sent_again_in_order_and_what_is_refused_is_passed_over(
    fabric: BreakableFabric, hook: Receiver, tmp_path: Path, capsys: Capture
) -> None:
    store = tmp_path / "watch.db"

    def moody(count: int) -> tuple[int, bytes]:
        # The first try fails with a huge answer, the second event is refused for good.
        return {1: (503, b"y" * 5_000_000), 3: (422, b"no")}.get(count, (200, b""))

    hook.answer = moody
    fabric.put(fabric.uplink())
    with running_watch(fabric, store, "--tickets", hook.url) as watch:
        assert until(lambda: bool(watch.events("finding-opened")))
        cases(store, capsys, "ack", "1", "--by", "mona")
        cases(store, capsys, "assign", "1", "ravi", "--by", "mona")
        assert until(lambda: len(hook.got) == 4), watch.log.read_text()
        assert until(lambda: bool(watch.events("ticket-refused")))
        acts = [line["act"] for line in cases(store, capsys, "audit")["audit"]]
    told = [one.body["event"] for one in hook.got]
    assert told == ["opened", "opened", "acknowledged", "assigned"]
    keys = [one.headers["Idempotency-Key"] for one in hook.got]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert hook.got[0].headers["raw"] == hook.got[1].headers["raw"]
    assert acts == ["open", "acknowledge", "assign", "ticket-refused"]
    assert len(watch.events("tickets-failed")) == 1


def test_a_watch_that_starts_again_sends_nothing_twice(
    fabric: BreakableFabric, hook: Receiver, tmp_path: Path
) -> None:
    store = tmp_path / "watch.db"
    fabric.put(fabric.uplink())
    for _ in range(3):
        with running_watch(fabric, store, "--tickets", hook.url) as watch:
            assert until(lambda w=watch: len(w.events("round")) > 3)  # type: ignore[misc]
    assert [one.body["event"] for one in hook.got] == ["opened"]


def test_a_signature_is_of_time_and_body() -> None:
    # printf '2026-01-01T00:00:00Z.{}' | openssl dgst -sha256 -hmac blue-horse
    assert signature("blue-horse", "2026-01-01T00:00:00Z", b"{}") == (
        "sha256=8512ec4ce83bcb054467e202310417b7fb31e7794cd7f8114988d0dc0193ef2e"
    )
    assert signature("x", "a", b"bc") != signature("x", "ab", b"c")
