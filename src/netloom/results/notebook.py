"""Results inside a notebook: the components of the web page, drawn inline without a server.

What is drawn stands in a frame of its own that may run its script and nothing else: it reads no
cookies, asks no server, and keeps its style to itself.
"""

from __future__ import annotations

import html
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

__all__ = ["MAX_BYTES", "Inline", "framed", "inline_result"]

FOLDER: Final = Path(__file__).parent / "static"
MAX_BYTES: Final = 2_000_000  # of one result; a notebook keeps what it shows
HEIGHT_PX: Final = 420
POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)


class Inline:
    """HTML that a notebook draws where it is the last thing of a cell."""

    def __init__(self, text: str) -> None:
        """Keep the text."""
        self.html = text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        """Say what it is, where nothing draws HTML."""
        return f"<{len(self.html):,} characters of HTML; a notebook draws them>"


def inline_result(told: dict[str, Any], *, height_px: int = HEIGHT_PX, table: str = "") -> str:
    """Return the frame that draws *told*, and the table for where no script runs.

    Args:
        told: ``command`` and its ``result`` as with ``--json``, or a ``fabric``.
        height_px: Of the frame; what is longer scrolls.
        table: The same as plain HTML; it alone is returned where the rest is too large.
    """
    data = json.dumps(told, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    if len(data) > MAX_BYTES:
        return table
    page = (
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{POLICY}"><title>netloom</title><style>{_file("notebook-style.css")}</style>'
        f'<div id="netloom-page"></div>'
        f'<script type="application/json" id="netloom-data">{data}</script>'
        f"<script>{_file('notebook.js')}</script>"
    )
    frame = framed(page, height_px=height_px)
    more = f"<details><summary>As a table</summary>{table}</details>" if table else ""
    return frame + more


def framed(page: str, *, height_px: int) -> str:
    """Return *page* in a frame that shares nothing with the page around it."""
    return (
        '<iframe class="netloom" title="netloom" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{height_px}px;border:0" srcdoc="{html.escape(page)}"></iframe>'
    )


@cache
def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
