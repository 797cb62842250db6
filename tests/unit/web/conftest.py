"""A site without a socket: requests go straight to the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient
from web_under_test import HOST, OPERATOR_TOKEN, ORIGIN, VIEWER_TOKEN, StoppedClock

from netloom.app.jobs.pool import JobPool
from netloom.app.jobs.quick import QuickAnswers
from netloom.app.jobs.table import JobTable
from netloom.app.scenarios import ScenarioFolder
from netloom.web.audit import WebAudit
from netloom.web.events import EventHub
from netloom.web.guard import GuardRules
from netloom.web.rates import RateLimits
from netloom.web.site import site_of
from netloom.web.visitors import Key, Sessions
from netloom.web.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def workbench(tmp_path: Path, clock: StoppedClock) -> Iterator[Workbench]:
    (tmp_path / "scenarios").mkdir()
    table = JobTable(tmp_path / "data", now=clock)
    hub = EventHub()
    pool = JobPool(table, num_workers=0, on_change=lambda job: hub.tell("job", job.to_json()))
    quick = QuickAnswers()
    yield Workbench(
        pool=pool,
        quick=quick,
        scenarios=ScenarioFolder(folder=tmp_path / "scenarios"),
        hub=hub,
        sessions=Sessions(
            keys=(
                Key.of(OPERATOR_TOKEN, name="ada", role="operator"),
                Key.of(VIEWER_TOKEN, name="vic", role="viewer"),
            ),
            now=clock,
        ),
        rates=RateLimits(now=clock),
        audit=WebAudit(tmp_path / "data" / "audit.jsonl", now=clock),
    )
    quick.close()
    pool.close()
    table.close()


@pytest.fixture
def client(workbench: Workbench) -> Iterator[TestClient]:
    """A client without any proof of who it is."""
    rules = GuardRules(hosts=frozenset({HOST}), origins=frozenset({ORIGIN}))
    site = site_of(workbench, rules)
    with TestClient(site, base_url=ORIGIN, follow_redirects=False) as found:
        yield found


@pytest.fixture
def operator(client: TestClient) -> TestClient:
    """The same as an operator's program."""
    client.headers["Authorization"] = f"Bearer {OPERATOR_TOKEN}"
    return client
