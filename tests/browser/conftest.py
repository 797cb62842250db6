"""One browser for all tests, one server with the tour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser_under_test import WAIT_MS, need_chromium, opened, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser_under_test import ServerUnderTest
    from playwright.sync_api import Browser, StorageState


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = need_chromium()
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415

    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, headless=True, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerUnderTest]:
    need_chromium()
    folder = tmp_path_factory.mktemp("scenarios")
    with serving(tmp_path_factory.mktemp("serve"), "--example", "--folder", str(folder)) as found:
        yield found


@pytest.fixture(scope="session")
def session(browser: Browser, server: ServerUnderTest) -> StorageState:
    """Sign in once: the server's token works a single time, whichever module comes first."""
    with opened(browser, server) as page:
        page.locator("header", has_text="operator").wait_for()
        return page.context.storage_state()
