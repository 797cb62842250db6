"""A fault in a real lab, from the mark on the page to the act that is taken back."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_under_test import opened, serving
from labs_under_test import infiniband_lab, roce_lab, wait_until
from playwright.sync_api import expect

from netloom.cli.main import main
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import interface_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser_under_test import ServerUnderTest
    from labs_under_test import LabUnderTest
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.lab]

EVERY_S = 2.0
SEEN_S = 5.0  # from the end of the watch's round to the mark
VIEWER = "viewer-token-0123456789abcdefgh"


@dataclass(frozen=True)
class WatchedLab:
    """A lab, its watch, the server that shows it, and the page."""

    lab: LabUnderTest
    server: ServerUnderTest
    page: Page
    folder: Path

    @property
    def store(self) -> Path:
        """Of the watch."""
        return self.folder / "watch.db"

    def ask(self, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Ask the server as the page's user."""
        url = f"{self.server.address}/api/v1{path}"
        if body is None:
            reply = self.page.request.get(url)
        else:
            headers = {"Content-Type": "application/json", "X-Netloom-CSRF": "1"}
            reply = self.page.request.post(url, data=json.dumps(body), headers=headers)
        return reply.status, reply.json()

    def open_cases(self) -> list[dict[str, Any]]:
        """Return those of cables that are pulled; a probe that was late may open another."""
        found = self.ask("/live/cases")[1]["result"]["cases"]
        return [one for one in found if one["closed_s"] is None and one["kind"] == "missing cable"]

    def plans(self, case: str) -> list[dict[str, Any]]:
        """Return those that are ready."""
        found: list[dict[str, Any]] = self.ask(f"/cases/{case}/plan")[1]["result"]["plans"]
        return found

    def audit(self) -> list[dict[str, Any]]:
        """Return what was done by the page."""
        text = (self.folder / "data" / "audit.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@contextmanager
def watched(
    browser: Browser, lab: LabUnderTest, folder: Path, *options: str
) -> Iterator[WatchedLab]:
    """Serve a lab with its watch, and open Live once the watch has looked."""
    labs = lab.place.path.parent
    (scenario,) = labs.parent.glob("*.yaml")
    tokens = folder / "tokens"
    tokens.write_text(f"viewer vic {VIEWER}\n", encoding="utf-8")
    tokens.chmod(0o600)
    more = ["--lab", lab.place.name, "--dir", str(labs), "--scenario", str(scenario)]
    more += ["--store", str(folder / "watch.db"), "--token-file", str(tokens), *options]
    with serving(folder / "data", *more) as server, opened(browser, server) as page:
        found = WatchedLab(lab, server, page, folder)
        yield found


def healthy(lab: WatchedLab) -> None:
    """Return when the watch has looked three times and finds nothing wrong."""
    assert wait_until(lambda: lab.ask("/live")[0] == 200)
    seen: set[float] = set()

    def settled() -> bool:
        seen.add(lab.ask("/live")[1]["result"]["time_s"])
        return len(seen) > 3 and not lab.open_cases()

    assert wait_until(settled)
    lab.page.goto(f"{lab.server.address}/live")
    expect(lab.page.locator(".status b").first).to_have_text("0 open cases")


def see_mark(lab: WatchedLab) -> None:
    """See the mark within five seconds of the round that opened the case."""
    expect(lab.page.locator(".status b.alarm")).to_have_text("1 open case")
    seen_s = lab.ask("/live")[1]["result"]["now_s"]
    (case,) = lab.open_cases()
    assert seen_s - case["opened_s"] < SEEN_S + round_s(lab)  # a round's time is its beginning
    expect(lab.page.locator("table.twin")).to_have_attribute("data-bad", "1")


def round_s(lab: WatchedLab) -> float:
    """Return the longest round of the watch: on a busy machine one takes seconds."""
    lines = (lab.folder / "data" / "watch.log").read_text(encoding="utf-8").splitlines()
    rounds = [json.loads(line) for line in lines if line.startswith("{")]
    return max(float(one["took_s"]) for one in rounds if one["event"] == "round")


def journey(lab: WatchedLab, cable: int) -> None:
    """Open the case, approve the drain, see it verified, undo it."""
    page, part = lab.page, f"cable:{cable}"
    page.locator("tr.opens", has_text=part).first.click()
    expect(page.locator("h1")).to_contain_text("missing cable")
    (case,) = lab.open_cases()
    expect(page.locator(".plan")).to_have_count(2)
    begin_s = time.perf_counter()
    lab.ask("/live")
    ask_s = (
        time.perf_counter() - begin_s
    )  # what any question takes now, on a machine that may be busy
    begin_s = time.perf_counter()
    assert len(lab.plans(case["case"])) == 2
    # Computed before: 0.2 s where nothing else runs.
    assert time.perf_counter() - begin_s < max(2.0, 8 * ask_s)

    # A plan that was never shown is stale, and the answer has those that are not.
    status, told = lab.ask(f"/cases/{case['case']}/apply", {"fingerprint": "0123456789ab"})
    assert status == 409
    assert "stale" in told["error"]["message"]
    assert len(told["result"]["plans"]) == 2
    assert not (lab.lab.place.path / "heal.jsonl").exists()

    drain = page.locator(".plan", has_text="if you ask for it")
    expect(drain).to_contain_text(f"drain {part}")
    drain.locator("button").click()
    act = page.locator(".acts li", has_text=f"drain {part}")
    expect(act.locator("b")).to_have_text("verified")
    expect(act).to_contain_text("by operator")
    expect(page.locator(".heal-job")).to_contain_text("done")
    act.get_by_role("button", name="Undo").click()
    expect(act.locator("b")).to_have_text("undone")
    expect(act.get_by_role("button", name="Undo")).to_have_count(0)

    lines = [json.loads(x) for x in (lab.lab.place.path / "heal.jsonl").read_text().splitlines()]
    phases = [one["phase"] for one in lines]
    assert phases == ["approved", "before", "after", "verified", "undoing", "undone"]
    assert {one["by"] for one in lines} == {"operator"}
    approved = [one for one in lab.audit() if one["what"] == "apply"]
    assert approved[-1]["fingerprint"] == lines[0]["plan"]
    assert approved[-1]["address"] == "127.0.0.1"
    assert approved[-1]["time_s"] < lines[0]["at_s"]


def test_a_cable_pulled_in_frr_is_drained_by_a_click_and_taken_back(
    browser: Browser, tmp_path: Path
) -> None:
    with roce_lab(tmp_path) as lab:
        options = ("--watch", "--every", f"{EVERY_S:g}s")
        with watched(browser, lab, tmp_path, *options) as found:
            healthy(found)
            plant = lab.place.read_plant()
            cable = plant.find("leaf:3")[-1]
            space = namespace_of(lab.place.mark, plant.devices[cable.lower.device].name)
            name = interface_name(plant, cable.lower)
            subprocess.run(["ip", "-n", space, "link", "set", name, "down"], check=True)  # noqa: S603, S607
            see_mark(found)
            journey(found, cable.number)


def test_a_cable_pulled_in_opensm_is_drained_by_a_click_and_taken_back(
    browser: Browser, tmp_path: Path
) -> None:
    with infiniband_lab(tmp_path) as lab:
        options = ("--watch", "--every", f"{EVERY_S:g}s")
        with watched(browser, lab, tmp_path, *options) as found:
            healthy(found)
            cable = lab.place.read_plant().find("leaf:3")[-1]
            lab.fault("unlink", f"cable:{cable.number}")
            see_mark(found)
            journey(found, cable.number)
            a_viewer_only_looks(browser, found)
            a_dead_watch_is_said(found)


def a_viewer_only_looks(browser: Browser, lab: WatchedLab) -> None:
    """See the plans with their buttons off; a request is refused and written down."""
    (case,) = lab.open_cases()
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{lab.server.address}/login?token={VIEWER}")
    page.goto(f"{lab.server.address}/live/case/{case['case']}")
    expect(page.locator(".plan")).to_have_count(2)
    expect(page.locator(".plan button").first).to_be_disabled()
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    headers = {"Content-Type": "application/json", "X-Netloom-CSRF": "1"}
    url = f"{lab.server.address}/api/v1/cases/{case['case']}/apply"
    plan = lab.plans(case["case"])[0]["fingerprint"]
    reply = page.request.post(url, data=json.dumps({"fingerprint": plan}), headers=headers)
    assert reply.status == 403
    assert lab.audit()[-1]["who"] == "vic"
    context.close()


def a_dead_watch_is_said(lab: WatchedLab) -> None:
    """Kill the watch: the page says that it is stale, in the colour of alarms."""
    os.kill(watch_of(lab.server.process.pid), signal.SIGKILL)
    lab.page.goto(f"{lab.server.address}/live")
    said = lab.page.locator("strong.alarm")
    expect(said).to_contain_text(re.compile(r"The watch is stale: last seen .* ago"))


def watch_of(server: int) -> int:
    """Return the process of the watch that a server started."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    (found,) = [
        int(one)
        for one in children
        if b"watch" in Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
    ]
    return found


def test_a_server_without_its_lab_says_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("cluster: {nodes: 2, node: dgx-h100}\n", encoding="utf-8")
    more = ["--scenario", str(tmp_path / "a.yaml"), "--lab", "gone", "--dir", str(tmp_path)]
    assert main(["serve", "--port", "0", "--no-browser", "--data", str(tmp_path / "d"), *more]) == 2
    assert "gone" in capsys.readouterr().err
