"""What a person does with the page, in the system's chromium."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Literal

import pytest
from browser_under_test import opened, serving
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from browser_under_test import ServerUnderTest
    from playwright.sync_api import Browser, Page, StorageState

pytestmark = pytest.mark.browser


def _visit(page: Page, server: ServerUnderTest, path: str) -> None:
    page.goto(f"{server.address}{path}")


@pytest.fixture(scope="module")
def page(browser: Browser, server: ServerUnderTest, session: StorageState) -> Iterator[Page]:
    with opened(browser, server, session) as found:
        yield found


def test_the_step_of_the_built_in_example_is_there(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/design/gpt3-175b-1k")
    expect(page.locator(".step .figures b").first).to_have_text(re.compile(r"^\d+\.\d s$"))
    expect(page.locator("tr.selected")).to_have_count(1)  # the recommended technology


def test_a_visitor_whose_name_is_the_role_is_named_once(
    page: Page, server: ServerUnderTest
) -> None:
    _visit(page, server, "/jobs")
    expect(page.locator("header .who")).to_have_text("operator")


def test_a_wrong_key_shows_its_line_and_remedy(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/design/gpt3-175b-1k")
    editor = page.locator(".editor .cm-content")
    expect(editor).to_contain_text("technology")
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("technologyx: x\n")
    problem = page.locator(".problems li").first
    expect(problem).to_contain_text("unknown key; choose one of")
    expect(problem.locator(".place")).to_have_text(re.compile(r"^[12]:1$"))
    page.keyboard.press("Control+z")


def test_dragging_nodes_changes_the_step(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/design/gpt3-175b-1k")
    figure = page.locator(".step .figures b").first
    expect(figure).to_have_text(re.compile(r" s$"))
    before = figure.text_content()
    page.locator(".sliders input").nth(1).fill("1")  # twice the batch
    expect(figure).not_to_have_text(before or "")


def test_a_simulation_runs_and_shows_what_came_of_it(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/simulate")
    expect(page.locator("option", has_text="incast-rocev2")).to_have_count(1)
    page.click("button.primary")
    expect(page.locator(".state-done")).to_have_text("done")
    expect(page.locator(".figures b")).to_have_count(7)
    expect(page.locator(".bars li").first).to_contain_text("leaf:0->gpu:0")


def test_live_shows_the_open_cases_first(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/live")
    expect(page.locator(".status b").first).to_have_text("3 open cases")
    expect(page.locator("tr.opens").first).to_contain_text("open")


def test_the_canvas_has_a_table_that_says_the_same(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/live")
    expect(page.locator("table.twin")).to_have_attribute("data-bad", re.compile(r"^[1-3]$"))


def test_the_down_cable_is_drawn_in_the_colour_of_down(page: Page, server: ServerUnderTest) -> None:
    """Okabe-Ito vermilion, 213 94 0, stands on the canvas of both views."""
    count = """canvas => {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let found = 0;
      for (let at = 0; at < data.length; at += 4)
        if (data[at] === 213 && data[at + 1] === 94 && data[at + 2] === 0) found += 1;
      return found;
    }"""
    for view in ("", "?view=matrix"):
        _visit(page, server, f"/live{view}")
        canvas = page.locator(".fabric canvas")
        expect(canvas).to_have_attribute("data-version", re.compile(r"^[1-9]"))
        assert canvas.evaluate(count) > 18, view  # a mark is at least 18 px wide


def test_an_address_opens_the_same_moment_elsewhere(
    browser: Browser, page: Page, server: ServerUnderTest
) -> None:
    noon_s = 1763251200 + int(5.8 * 3600)  # the spine is silent then
    _visit(page, server, f"/live?at={noon_s}")
    expect(page.locator(".past")).to_contain_text("2025-11-16 05:48:00Z")
    expect(page.locator(".status")).to_contain_text("32 down")


def test_a_case_shows_evidence_and_the_step_of_each_remedy(
    page: Page, server: ServerUnderTest
) -> None:
    _visit(page, server, "/live")
    page.locator("tr.opens", has_text="wrong speed").first.click()
    expect(page.locator("h1")).to_contain_text("wrong speed")
    expect(page.locator(".plan")).to_have_count(2)
    # Draining the only cable of a NIC cuts its GPU off; repairing it does not.
    expect(page.locator(".plan").last).to_contain_text(re.compile(r"Step [\d.]+ s to [\d.]+ s"))
    expect(page.locator(".plan").first).to_contain_text(
        re.compile(r"Step [\d.]+ s to none: the job stops")
    )
    expect(page.locator(".plan button").first).to_be_disabled()  # nothing to act on in a tour


def test_keys_go_to_pages_and_views(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/jobs")
    expect(page.locator("h1")).to_have_text("Jobs")
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile(r"/live$"))
    page.keyboard.press("m")
    expect(page).to_have_url(re.compile(r"view=matrix"))
    page.keyboard.press("c")
    expect(page).not_to_have_url(re.compile(r"view=matrix"))
    page.go_back()


def test_hostile_names_are_text(page: Page, server: ServerUnderTest) -> None:
    _visit(page, server, "/design/%3Cimg%20src=x%20onerror=alert(1)%3E")
    expect(page.locator(".notice")).to_contain_text("is not a name")
    assert page.locator("img").count() == 0


def test_designs_that_are_left_do_not_keep_the_next_one_out(
    browser: Browser, tmp_path: Path
) -> None:
    """Each asks for a step and a layout; while four of a visitor wait, a fifth is refused."""
    with serving(tmp_path) as server, opened(browser, server) as page:
        page.locator("header", has_text="operator").wait_for()
        refused: list[str] = []
        page.on("response", lambda one: refused.append(one.url) if one.status >= 400 else None)
        for _ in range(6):
            with page.expect_request(re.compile("/answers/predict")):
                _visit(page, server, "/design/gpt3-175b-1k")
        expect(page.locator(".step .figures b").first).to_have_text(re.compile(r"^\d+\.\d s$"))
        assert not refused


def test_a_page_says_so_when_its_server_is_gone_and_comes_back(
    browser: Browser, tmp_path: Path
) -> None:
    with serving(tmp_path) as server:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(server.entrance)
        expect(page.locator("header")).to_contain_text("operator")
        server.process.send_signal(signal.SIGKILL)
        expect(page.locator(".alarm")).to_contain_text("does not answer", timeout=60_000)
        context.close()


@pytest.mark.parametrize("path", ["/design/gpt3-175b-1k", "/simulate", "/live", "/jobs"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_telephone_without_sideways_scrolling(
    browser: Browser,
    server: ServerUnderTest,
    page: Page,
    path: str,
    scheme: Literal["light", "dark"],
) -> None:
    state = page.context.storage_state()
    context = browser.new_context(
        storage_state=state, viewport={"width": 390, "height": 844}, color_scheme=scheme
    )
    small = context.new_page()
    small.set_default_timeout(60_000)
    small.goto(f"{server.address}{path}")
    expect(small.locator("h1").first).to_be_attached()
    small.wait_for_timeout(500)
    wide = small.evaluate("document.documentElement.scrollWidth")
    context.close()
    assert wide <= 390
