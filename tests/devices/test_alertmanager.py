"""Cases told to a real Alertmanager, which tells a webhook."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from alerts_under_test import (
    BreakableFabric,
    Receiver,
    alertmanager,
    breakable_fabric,
    cases,
    posted_alerts,
    receiver,
    running_watch,
    until,
)

from netloom.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.lab
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[BreakableFabric]:
    with breakable_fabric(tmp_path) as one:
        yield one


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as one:
        yield one


def test_a_case_pages_once_is_acknowledged_silenced_and_resolved(
    fabric: BreakableFabric, hook: Receiver, tmp_path: Path, capsys: Capture
) -> None:
    store, cable = tmp_path / "watch.db", fabric.uplink()
    with (
        alertmanager(tmp_path, hook.url) as url,
        running_watch(fabric, store, "--alertmanager", url, "--fabric", "hall-1") as watch,
    ):
        assert until(lambda: bool(watch.events("round")))
        assert posted_alerts(url) == []
        fabric.put(cable)
        assert until(lambda: bool(hook.alerts("firing"))), watch.log.read_text()
        (page,) = hook.alerts("firing")
        assert hook.got[0].path == "/page"
        assert page["labels"] == {
            "alertname": "NetloomCase",
            "fabric": "hall-1",
            "part": f"cable:{cable}",
            "kind": "missing cable",
            "severity": "page",
            "case": "1",
        }
        assert "reseat the cable" in page["annotations"]["remedy"]
        assert page["annotations"]["hurts"] == "0 GPUs"
        # A person takes it: the labels stay, so it is the same alert.
        cases(store, capsys, "ack", "1", "--by", "mona")
        assert until(lambda: posted_alerts(url)[0]["annotations"].get("acknowledged_by") == "mona")
        assert len(posted_alerts(url)) == 1
        words = ["silence", "1", "--alertmanager", url, "--for", "1h", "--reason", "on it"]
        made = cases(store, capsys, *words, "--by", "mona")
        assert until(lambda: posted_alerts(url)[0]["status"]["state"] == "suppressed")
        assert posted_alerts(url)[0]["status"]["silencedBy"] == [made["silence"]]
        acts = [line["act"] for line in cases(store, capsys, "audit")["audit"]]
        assert acts == ["open", "acknowledge", "silence", "silence-done"]
        expire = ["amtool", "silence", "expire", made["silence"], f"--alertmanager.url={url}"]
        subprocess.run(expire, check=True)  # noqa: S603
        fabric.put()
        assert until(lambda: bool(hook.alerts("resolved"))), watch.log.read_text()
        assert posted_alerts(url) == []
    assert "Traceback" not in watch.log.read_text()


def test_maintenance_is_recorded_and_alerts_no_one_until_it_is_over(
    fabric: BreakableFabric, hook: Receiver, tmp_path: Path, capsys: Capture
) -> None:
    store, cable = tmp_path / "watch.db", fabric.uplink()
    with (
        alertmanager(tmp_path, hook.url) as url,
        running_watch(fabric, store, "--alertmanager", url) as watch,
    ):
        assert until(lambda: bool(watch.events("round")))
        words = ["maintain", "leaf:0", "--to", "+1h", "--by", "ravi", "--reason", "new optics"]
        window = cases(store, capsys, *words)
        fabric.put(cable)
        assert until(lambda: bool(watch.events("finding-opened")))
        (opened,) = watch.events("finding-opened")
        assert opened["planned"] == f"new optics (ravi, window {window['window']})"
        num_rounds = len(watch.events("round"))
        assert until(lambda: len(watch.events("round")) > num_rounds + 4)
        assert posted_alerts(url) == []
        (case,) = cases(store, capsys, "list")["cases"]
        assert case["planned"].startswith("new optics")
        cases(store, capsys, "maintain", "--end", str(window["window"]), "--by", "ravi")
        assert until(lambda: bool(hook.alerts("firing"))), watch.log.read_text()
        acts = [line["act"] for line in cases(store, capsys, "audit")["audit"]]
        assert acts == ["maintain", "planned", "maintain-end", "open"]


def test_an_alertmanager_that_is_gone_holds_up_nothing_and_hears_of_it_later(
    fabric: BreakableFabric, hook: Receiver, tmp_path: Path
) -> None:
    store = tmp_path / "watch.db"
    calls: list[int] = []

    def failing_first(count: int) -> tuple[int, bytes]:
        calls.append(count)
        return (500, b"x" * 10_000_000) if count < 3 else (200, b"")

    hook.answer = failing_first
    fabric.put(fabric.uplink())
    with running_watch(fabric, store, "--alertmanager", f"{hook.url}/am") as watch:
        assert until(lambda: bool(watch.events("alertmanager-back"))), watch.log.read_text()
        assert len(watch.events("alertmanager-failed")) == 1
        assert {one.path for one in hook.got} == {"/am/api/v2/alerts"}
        rounds = watch.events("round")
    # Two failures rest for 3.75 to 5 s and twice that; rounds go on meanwhile.
    assert len(rounds) > 8


def test_the_shipped_routes_and_rules_are_right(tmp_path: Path) -> None:
    for program in ("amtool", "promtool"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    assert main(["watch", "--files", str(tmp_path)]) == 0
    for argv in (
        ["amtool", "check-config", "netloom-alertmanager.yml"],
        ["promtool", "check", "rules", "netloom-alerts.yml"],
    ):
        subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True)  # noqa: S603
    routes = ["amtool", "config", "routes", "test", "--config.file=netloom-alertmanager.yml"]
    for labels, wanted in (
        (["alertname=NetloomCase", "severity=page"], "network-on-call"),
        (["alertname=NetloomCase", "severity=warning"], "network-chat"),
        (["alertname=LinkDown", "severity=page"], "network-chat"),
        (["alertname=PartBroken", "severity=page"], "nowhere"),
    ):
        said = subprocess.run(  # noqa: S603
            [*routes, *labels], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        assert said.stdout.strip() == wanted


def test_the_schema_of_tickets_is_written_beside_them(tmp_path: Path) -> None:
    assert main(["watch", "--files", str(tmp_path)]) == 0
    schema: dict[str, Any] = json.loads((tmp_path / "netloom-ticket.schema.json").read_text())
    assert schema["properties"]["version"] == {"const": 1}
