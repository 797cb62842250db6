"""A real server and a real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, CDPSession, ConsoleMessage, Page, StorageState

CHROMIUM = shutil.which("chromium")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
WAIT_MS = 60_000  # no test is judged by it: a loaded machine is slow


@dataclass(frozen=True, slots=True)
class ServerUnderTest:
    """A server that runs, and the address that opens it."""

    process: subprocess.Popen[str]
    entrance: str

    @property
    def address(self) -> str:
        """Where it is."""
        return self.entrance.partition("/login")[0]


@contextmanager
def serving(data: Path, *options: str) -> Iterator[ServerUnderTest]:
    """Run ``netloom serve``, on a free port where *options* name none."""
    port = () if "--port" in options else ("--port", "0")
    command = [sys.executable, "-m", "netloom.cli.main", "serve", "--no-browser"]
    with subprocess.Popen(  # noqa: S603
        [*command, *port, "--data", str(data), *options], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            yield ServerUnderTest(process, process.stderr.readline().strip())
        finally:
            process.terminate()  # a test that fails must not wait for a server that runs on


@contextmanager
def opened(
    browser: Browser, server: ServerUnderTest, session: StorageState | None = None
) -> Iterator[Page]:
    """Open the page; every message of its console and every request elsewhere fails the test.

    Args:
        browser: What opens it.
        server: The server of the page.
        session: Who is signed in already; without, the server's one-time token is used up.
    """
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": 1600, "height": 900}, storage_state=session)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda said: wrong.append(said.text) if _is_wrong(said) else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda asked: (
            None
            if asked.url.startswith((server.address, "data:", "blob:"))
            else wrong.append(asked.url)
        ),
    )
    page.goto(server.entrance if session is None else server.address)
    yield page
    context.close()
    assert not wrong, wrong


def _is_wrong(said: ConsoleMessage) -> bool:
    """Return whether a message of the console is an error; a refusal that a test made is none."""
    return said.type == "error" and "responded with a status of 4" not in said.text


def need_chromium() -> str:
    """Return the browser's path, or skip."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (apt install chromium)")
    return CHROMIUM


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has taken, its own threads alone."""
    told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    fields = told.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def page_s(session: CDPSession) -> float:
    """Return the processor time that the page's own thread has taken."""
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


def measured(page: Page) -> CDPSession:
    """Return what tells the processor time of the page's own thread."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session
