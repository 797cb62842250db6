"""Take the pictures of docs/serve.md: ``python tools/web/take_screenshots.py docs/assets/serve``.

Each has one page four times: light and dark, 1600 and 390 px wide. Needs chromium and playwright,
as tests/browser does.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, StorageState

SIZES = {"wide": (1600, 1000), "narrow": (390, 844)}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SHEET_PX = 1236
SETTLE_MS = 5000
MAX_BYTES = 300_000
PAGES = {
    "design": "/design/gpt3-175b-1k",
    "live": "/live?cell=1400",
    "matrix": "/live?view=matrix&at=1763272080",
    "floor": "/live?view=floor",
    "jobs": "/jobs",
}


def main() -> None:
    """Serve the tour and take a picture of every page."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "netloom.cli.main", "serve", "--example", "--port", "0"]
        with subprocess.Popen(  # noqa: S603
            [*command, "--no-browser", "--data", folder, "--folder", folder],
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stderr is not None
            _take_all(server.stderr.readline().strip(), out)
            server.terminate()
    for path in sorted(out.glob("*.png")):
        size = path.stat().st_size
        print(f"{path}: {size:,} bytes")
        assert size <= MAX_BYTES, path


def _take_all(entrance: str, out: Path) -> None:
    address = entrance.partition("/login")[0]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(entrance)
        page.locator("header", has_text="operator").wait_for()
        page.goto(f"{address}/live")
        page.locator("tr.opens").nth(1).click()
        page.locator(".plan").first.wait_for()
        case = page.url.removeprefix(address)
        page.goto(f"{address}/simulate")
        page.locator("option", has_text="incast-rocev2").wait_for(state="attached")
        page.click("button.primary")
        page.locator(".replay canvas").wait_for()
        run = page.url.removeprefix(address) + "?frame=20"
        state = page.context.storage_state()
        for name, path in (PAGES | {"case": case, "simulate": run}).items():
            looks = [
                _look(browser, state, address + path, SIZES[size], scheme)
                for size in SIZES
                for scheme in SCHEMES
            ]
            _sheet(page, looks, out / f"{name}.png")
        browser.close()


def _look(
    browser: Browser,
    state: StorageState,
    address: str,
    size: tuple[int, int],
    scheme: Literal["light", "dark"],
) -> bytes:
    context = browser.new_context(
        storage_state=state,
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(SETTLE_MS)
    found = page.screenshot()
    context.close()
    return found


def _sheet(page: Page, looks: list[bytes], path: Path) -> None:
    """Put the looks of a page side by side: the wide ones above one another, the narrow beside."""
    light, dark, *narrow = (f"data:image/png;base64,{base64.b64encode(o).decode()}" for o in looks)
    page.set_viewport_size({"width": SHEET_PX, "height": 996})
    page.goto("about:blank")
    page.set_content(
        "<body style='margin:0;display:flex;gap:12px;background:#888;padding:12px'>"
        f"<div><img src='{light}' width=760><br><img src='{dark}' width=760></div>"
        + "".join(f"<img src='{one}' width=208 height=450>" for one in narrow)
    )
    page.wait_for_timeout(500)
    page.locator("body").screenshot(path=path)


if __name__ == "__main__":
    main()
