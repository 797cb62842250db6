"""Who sees other colours, reads by ear, or prints: axe-core's rules, contrast, paper."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from browser_under_test import WAIT_MS
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browser_under_test import ServerUnderTest
    from numpy.typing import NDArray
    from playwright.sync_api import Browser, Page, StorageState

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
PAGES = {
    "design": ("/design/gpt3-175b-1k", ".step .figures b"),
    "simulate": ("/simulate", "option"),
    "live": ("/live?cell=3", ".panel .steps"),
    "matrix": ("/live?view=matrix", ".fabric canvas"),
    "jobs": ("/jobs", "h1"),
}
Scheme = Literal["light", "dark"]
MIN_CONTRAST = 3.0
VISIONS = ("none", "protanopia", "deuteranopia", "tritanopia", "achromatopsia")


def _violations(page: Page) -> list[str]:
    page.add_script_tag(path=AXE)
    found: dict[str, Any] = page.evaluate("axe.run()")
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]


def _page(
    browser: Browser, session: StorageState, scheme: Scheme, *, injects: bool = False
) -> Page:
    context = browser.new_context(
        storage_state=session,
        color_scheme=scheme,
        viewport={"width": 1600, "height": 900},
        bypass_csp=injects,
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, "case", "replay"])
def test_axe_finds_nothing(
    browser: Browser, server: ServerUnderTest, session: StorageState, name: str, scheme: Scheme
) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm ci in web/)")
    page = _page(browser, session, scheme, injects=True)
    if name == "case":
        page.goto(f"{server.address}/live")
        page.locator("tr.opens").first.click()
        expect(page.locator(".plan").first).to_be_attached()
    elif name == "replay":
        page.goto(f"{server.address}/simulate")
        expect(page.locator("option", has_text="incast-rocev2")).to_have_count(1)
        page.click("button.primary")
        expect(page.locator(".replay canvas")).to_be_attached()
    else:
        path, ready = PAGES[name]
        page.goto(server.address + path)
        expect(page.locator(ready).first).to_be_attached()
    found = _violations(page)
    page.context.close()
    assert not found, "\n".join(found)


def _luminance(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the relative luminance of WCAG 2."""
    share = pixels / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    found: NDArray[np.float64] = linear @ np.array([0.2126, 0.7152, 0.0722])
    return found


DECODED = """async data => {
  const image = new Image();
  image.src = `data:image/png;base64,${data}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  return [...context.getImageData(0, 0, image.width, image.height).data];
}"""


def _pixels(page: Page, x: float, y: float) -> NDArray[np.uint8]:
    """Return what is on the screen around a point of the canvas, as one with that sight sees it."""
    box = page.locator(".fabric canvas").bounding_box()
    assert box is not None
    clip = {"x": box["x"] + x - 3, "y": box["y"] + y - 8, "width": 6, "height": 12}
    shot = page.screenshot(clip=clip)  # type: ignore[arg-type]
    data = page.evaluate(DECODED, base64.b64encode(shot).decode())
    return np.array(data, dtype=np.uint8).reshape(-1, 4)[:, :3]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_mark_stands_out_whatever_colours_one_sees(
    browser: Browser, server: ServerUnderTest, session: StorageState, scheme: Scheme
) -> None:
    """The frame of each mark differs from what it surrounds by 3:1 (WCAG 1.4.11)."""
    page = _page(browser, session, scheme)
    page.goto(f"{server.address}/live")
    canvas = page.locator(".fabric canvas")
    expect(page.locator(".status b").first).to_have_text("3 open cases")
    page.wait_for_timeout(1000)  # drawn once more when its width is known
    marks = json.loads(canvas.get_attribute("data-marks") or "[]")
    assert len(marks) == 3
    cdp = page.context.new_cdp_session(page)
    for vision in VISIONS:
        cdp.send("Emulation.setEmulatedVisionDeficiency", {"type": vision})
        for left, top, width, _ in marks:
            light = _luminance(_pixels(page, left + width / 2, top))
            contrast = (light.max() + 0.05) / (light.min() + 0.05)
            assert contrast >= MIN_CONTRAST, (vision, left, top)
    page.context.close()


def test_a_printed_page_has_no_controls(
    browser: Browser, server: ServerUnderTest, session: StorageState
) -> None:
    page = _page(browser, session, "dark")
    page.goto(f"{server.address}/live")
    expect(page.locator(".status b").first).to_have_text("3 open cases")
    page.emulate_media(media="print")
    assert page.locator("button:visible, input:visible, header:visible").count() == 0
    ink = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ink == "rgb(255, 255, 255)"
    page.context.close()
