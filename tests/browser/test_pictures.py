"""Every picture as a file, by keys, on the floor, in a notebook; and pages that come back."""

from __future__ import annotations

import csv
import functools
import re
import signal
import socket
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from browser_under_test import WAIT_MS, opened, serving
from playwright.sync_api import expect

import netloom as nl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser_under_test import ServerUnderTest
    from playwright.sync_api import Browser, Locator, Page, StorageState

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def page(browser: Browser, server: ServerUnderTest, session: StorageState) -> Iterator[Page]:
    with opened(browser, server, session) as found:
        yield found


def _file(page: Page, where: Locator, kind: str) -> bytes:
    with page.expect_download() as coming:
        where.locator(".files button", has_text=kind).click()
    return Path(coming.value.path()).read_bytes()


def _rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(data.decode().splitlines()))


def _shapes(data: bytes) -> set[str]:
    return {one.tag.removeprefix(SVG) for one in ET.fromstring(data).iter()}  # noqa: S314


PICTURES = {
    "cards": ("/live", ".fabric", {"rect", "text"}),
    "matrix": ("/live?view=matrix", ".fabric", {"image", "rect", "text"}),
    "floor": ("/live?view=floor", ".fabric", {"rect", "text"}),
    "past": ("/live", ".strips", {"rect", "text"}),
    "breakdown": ("/design/gpt3-175b-1k", ".breakdown", {"rect", "text"}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_saved_as_png_svg_and_csv(
    page: Page, server: ServerUnderTest, name: str
) -> None:
    path, where, wanted = PICTURES[name]
    page.goto(server.address + path)
    picture = page.locator(where).first
    expect(picture.locator(".files")).to_be_visible()
    if "view=floor" in path:
        expect(page.locator("button[aria-pressed=true]")).to_contain_text("Floor")
    assert _file(page, picture, "PNG").startswith(b"\x89PNG")
    assert wanted <= _shapes(_file(page, picture, "SVG"))
    assert _rows(_file(page, picture, "CSV"))


def test_the_numbers_behind_the_fabric_are_those_of_its_table(
    page: Page, server: ServerUnderTest
) -> None:
    page.goto(f"{server.address}/live")
    expect(page.locator(".status b").first).to_have_text("3 open cases")
    rows = _rows(_file(page, page.locator(".fabric"), "CSV"))
    assert len(rows) == 3424  # cables of the tour's fabric
    assert [one["state"] for one in rows if one["state"] != "up"].count("down") == 1
    page.goto(f"{server.address}/live?view=floor")
    expect(page.locator("button[aria-pressed=true]")).to_contain_text("Floor")
    racks = _rows(_file(page, page.locator(".fabric"), "CSV"))
    # The cable that is down ends in two racks, and each cable in one or two.
    assert sum(int(one["down"]) for one in racks) == 2
    assert 3424 <= sum(int(one["up"]) for one in racks) <= 2 * 3424


def test_a_chart_of_a_state_has_steps_and_no_slope(page: Page, server: ServerUnderTest) -> None:
    """A port was up until 21:45 and down from then on: it was never half up."""
    page.goto(f"{server.address}/live")
    page.locator("tr.opens", has_text="missing cable").first.click()
    chart = page.locator(".chart").first
    expect(chart).to_contain_text("link_up")
    drawn = ET.fromstring(_file(page, chart, "SVG"))  # noqa: S314
    line = max((one.attrib["points"] for one in drawn.iter(f"{SVG}polyline")), key=len)
    points = [tuple(map(float, one.split(","))) for one in line.split()]
    for (x0, y0), (x1, y1) in pairwise(points):
        assert x0 == x1 or y0 == y1


def test_keys_lead_from_groups_to_switches_to_cables_and_open_them(
    page: Page, server: ServerUnderTest
) -> None:
    page.goto(f"{server.address}/live")
    expect(page.locator(".status b").first).to_have_text("3 open cases")
    says = page.locator(".fabric .hover")
    page.locator(".fabric canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(says).to_have_text(re.compile(r"^pod 0: 960 cables, all up"))
    page.keyboard.press("ArrowDown")
    expect(says).to_have_text(re.compile(r"^leaf:0: worst of \d+ cables up"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(says).to_have_text(re.compile(r"^leaf:0 cable 2 of "))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"cell=1\b"))
    expect(page.locator(".panel h2")).to_contain_text("cable:")
    page.keyboard.press("f")
    expect(page.locator(".fabric canvas")).to_have_attribute(
        "aria-label", re.compile(r"Floor with \d+ racks")
    )


def test_next_and_last_lead_from_case_to_case(page: Page, server: ServerUnderTest) -> None:
    page.goto(f"{server.address}/live")
    expect(page.locator("tr.opens").first).to_be_visible()
    shown = []
    for key in ("n", "n", "n", "p"):
        before = page.url
        page.keyboard.press(key)
        expect(page).not_to_have_url(before)
        expect(page.locator(".case h1")).to_be_visible()
        page.wait_for_timeout(300)  # the others are known
        shown.append(page.url)
    assert len(set(shown[:3])) == 3
    assert shown[3] == shown[1]


def test_a_result_and_a_fabric_are_drawn_in_a_notebook(browser: Browser, tmp_path: Path) -> None:
    scenario = nl.example("gpt3-175b-1k")
    broken = nl.fail(nl.build(scenario), "leaf:0")
    cells = [nl.predict(scenario)._repr_html_(), nl.show(broken).html]
    place = tmp_path / "notebook.html"
    place.write_text("<!doctype html>" + "".join(cells), encoding="utf-8")
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(place.as_uri())
    first, second = (page.frame_locator("iframe").nth(at) for at in range(2))
    expect(first.locator(".breakdown .key").first).to_contain_text("compute")
    expect(second.locator("table.twin")).to_have_attribute("data-bad", "1")
    second.locator("button", has_text="Matrix").click()
    expect(second.locator("button[aria-pressed=true]")).to_contain_text("Matrix")
    page.close()
    assert not wrong


@contextmanager
def _notebook(folder: Path) -> Iterator[str]:
    """Serve *folder* on a port of this machine, as a notebook's server does; gives its origin."""
    made = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), made) as around:
        threading.Thread(target=around.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{around.server_port}"
        finally:
            around.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_live_page_is_framed_where_that_was_allowed(browser: Browser, tmp_path: Path) -> None:
    """A notebook on another port of this machine: the same site, so the cookie comes along."""
    (tmp_path / "notes").mkdir()
    with (
        _notebook(tmp_path / "notes") as origin,
        _notebook(tmp_path / "notes") as stranger,
        serving(tmp_path / "serve", "--example", "--embed", origin) as server,
    ):
        text = nl.show(f"{server.address}/live").html
        (tmp_path / "notes" / "index.html").write_text(text, encoding="utf-8")
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(server.entrance)
        expect(page.locator("header")).to_contain_text("operator")
        page.goto(f"{origin}/index.html")
        frame = page.frame_locator("iframe")
        expect(frame.locator(".status b").first).to_have_text("3 open cases")
        page.goto(f"{stranger}/index.html")
        page.wait_for_timeout(2000)
        assert frame.locator("header").count() == 0
        context.close()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_page_comes_back_by_itself_after_kill_9_and_keeps_its_result(
    browser: Browser, tmp_path: Path
) -> None:
    port = _free_port()
    with serving(tmp_path, "--port", str(port)) as server:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(server.entrance)
        page.goto(f"{server.address}/simulate")
        expect(page.locator("option", has_text="incast-rocev2")).to_have_count(1)
        page.click("button.primary")
        expect(page.locator(".figures b")).to_have_count(7)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        expect(page.locator(".alarm")).to_contain_text("does not answer")
        with serving(tmp_path, "--port", str(port)):
            expect(page.locator(".alarm")).to_have_count(0)
            expect(page.locator("header")).to_contain_text("operator")
            expect(page.locator(".figures b")).to_have_count(7)  # asked for again, and there
            expect(page.locator(".state-done")).to_have_text("done")
        context.close()
