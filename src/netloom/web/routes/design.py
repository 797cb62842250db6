"""Design: scenarios by name, what is wrong with a text, and answers at once."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from netloom.app.jobs.job import JobLimits, JobRequest
from netloom.app.jobs.quick import QueueFullError
from netloom.app.scenarios import StaleTextError
from netloom.spec.load import problems_of
from netloom.web.asked import (
    address_of,
    body_of,
    limit,
    operator_of,
    text_in,
    visitor_of,
    workbench_of,
)
from netloom.web.rates import CHECKS, JOBS
from netloom.web.replies import HttpError, envelope_reply, result_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]

QUICK_KINDS: Final = frozenset({"predict", "size", "goodput", "layout"})
QUICK_S: Final = 10.0
QUICK_BYTES: Final = 2 << 30
GONE_S: Final = 0.1  # how often a waiting request looks whether its page has moved on


async def check(request: Request) -> Response:
    """Say what is wrong with a scenario's text, each problem with its place."""
    limit(request, CHECKS)
    text = text_in(await body_of(request), "text")
    problems = await run_in_threadpool(problems_of, text)
    return result_reply("check", {"ok": not problems, "problems": [p.to_json() for p in problems]})


async def answer(request: Request) -> Response:
    """Answer a short question about a scenario, as the command does with ``--json``."""
    limit(request, CHECKS)
    kind = request.path_params["kind"]
    if kind not in QUICK_KINDS:
        raise HttpError(HTTPStatus.NOT_FOUND, f"{kind[:50]!r} is not answered at once")
    body = await body_of(request)
    asked = JobRequest(
        kind=kind,
        text=text_in(body, "text"),
        options=_options(body),
        by=visitor_of(request).name,
        limits=JobLimits(time_s=QUICK_S, memory_bytes=QUICK_BYTES),
    )
    quick = workbench_of(request).quick
    with _watched(request) as is_gone:
        try:
            found = await run_in_threadpool(partial(quick.ask, asked, is_gone=is_gone))
        except QueueFullError as error:
            raise HttpError(
                HTTPStatus.TOO_MANY_REQUESTS,
                error.problems[0].what,
                error.problems[0].remedy,
                headers={"Retry-After": "1"},
            ) from None
    return envelope_reply(found)


async def names(request: Request) -> Response:
    """List the scenarios."""
    found = await run_in_threadpool(workbench_of(request).scenarios.names)
    return result_reply("serve", found)


async def read(request: Request) -> Response:
    """Return one scenario's text."""
    name = request.path_params["name"]
    found = await run_in_threadpool(workbench_of(request).scenarios.read, name)
    return result_reply("serve", found.to_json())


async def write(request: Request) -> Response:
    """Write one scenario's text, where it still is what the page had."""
    visitor = operator_of(request)
    limit(request, JOBS)
    name = request.path_params["name"]
    text = text_in(await body_of(request), "text")
    workbench = workbench_of(request)
    workbench.audit.write(
        who=visitor.name, address=address_of(request), what="write scenario", name=name
    )
    etag = request.headers.get("if-match", "").strip('"')
    try:
        found = await run_in_threadpool(workbench.scenarios.write, name, text, etag=etag)
    except StaleTextError as error:
        raise HttpError(
            HTTPStatus.CONFLICT, error.problems[0].what, error.problems[0].remedy
        ) from None
    return result_reply("serve", found.to_json())


@contextmanager
def _watched(request: Request) -> Iterator[Callable[[], bool]]:
    """Give what says, in any thread, whether the page has left the request."""
    gone = threading.Event()

    async def look() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(GONE_S)
        gone.set()

    looking = asyncio.create_task(look())
    try:
        yield gone.is_set
    finally:
        looking.cancel()


def _options(body: dict[str, object]) -> dict[str, object]:
    found = body.get("options", {})
    if not isinstance(found, dict):
        raise HttpError(HTTPStatus.BAD_REQUEST, "is no object", key="options")
    return found


ROUTES: Final = (
    Route("/check", check, methods=["POST"]),
    Route("/answers/{kind}", answer, methods=["POST"]),
    Route("/scenarios", names),
    Route("/scenarios/{name}", read),
    Route("/scenarios/{name}", write, methods=["PUT"]),
)
