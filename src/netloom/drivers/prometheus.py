"""Prometheus: its text exposition format, read, and a thin scrape.

The format is that of prometheus.io/docs/instrumenting/exposition_formats (version 0.0.4). What a
target says is hostile input: it is cut at a size, and a line that is none of the format is
counted and passed over, never half-read.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Final
from urllib.parse import urlsplit

from netloom.errors import LabError, SpecError
from netloom.formats.prometheus.exposition import MAX_BYTES, Exposition, parse_exposition

__all__ = [
    "check_url",
    "scrape",
]

TIMEOUT_S: Final = 10.0
MEDIA: Final = "text/plain;version=0.0.4"


def check_url(url: str) -> str:
    """Return *url*.

    Raises:
        SpecError: it is not one of http or https with a host.
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        fine = False
    if not fine:
        raise SpecError(
            option="--scrape",
            what=f"{url[:80]!r} will not do",
            remedy="write such as 'http://node1:9100/metrics'",
        )
    return url


def scrape(url: str, *, timeout_s: float = TIMEOUT_S) -> Exposition:
    """Return what a target says now.

    Raises:
        LabError: it does not answer, answers with an error, or says something else.
    """
    request = urllib.request.Request(check_url(url), headers={"Accept": MEDIA})  # noqa: S310
    try:
        with _opener().open(request, timeout=timeout_s) as answer:
            body: bytes = answer.read(MAX_BYTES + 1)
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise LabError(
            what=f"{_shown(url)}: no answer ({getattr(error, 'reason', error)})", remedy="is it up?"
        ) from error
    if len(body) > MAX_BYTES:
        raise LabError(
            what=f"{_shown(url)}: says more than {MAX_BYTES >> 20} MiB", remedy="ask it for less"
        )
    return parse_exposition(body.decode("utf-8", errors="replace"))


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for HTTP alone: no proxy, no redirect, no file, no FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _shown(url: str) -> str:
    """Return *url* as it may be told: without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or ''}{parts.path}"
