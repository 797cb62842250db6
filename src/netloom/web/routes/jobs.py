"""Jobs: ask, list, follow, stop, and fetch what was found."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from netloom.app.jobs.job import JobLimits, JobRequest
from netloom.app.jobs.kind import job_kind, job_kinds
from netloom.app.jobs.replays import read_frames, read_replay, replay_path
from netloom.web.asked import (
    address_of,
    body_of,
    limit,
    operator_of,
    text_in,
    visitor_of,
    workbench_of,
)
from netloom.web.rates import JOBS
from netloom.web.replies import NO_STORE, HttpError, raw_reply, result_reply

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from netloom.app.jobs.job import JobRecord
    from netloom.web.visitors import Visitor

__all__ = ["ROUTES"]

VIEWER: Final = JobLimits(time_s=30.0, memory_bytes=2 << 30)
MAX_PAGE: Final = 200
MAX_FRAMES: Final = 1_000_000
MAX_DIGITS: Final = 10


async def ask(request: Request) -> Response:
    """Put a job in line."""
    limit(request, JOBS)
    body = await body_of(request)
    visitor = visitor_of(request)
    kind = text_in(body, "kind")
    if kind not in job_kinds():
        raise HttpError(HTTPStatus.BAD_REQUEST, f"no job is called {kind[:50]!r}", key="kind")
    if job_kind(kind).touches_fabric:
        operator_of(request)
    options = body.get("options", {})
    if not isinstance(options, dict):
        raise HttpError(HTTPStatus.BAD_REQUEST, "is no object", key="options")
    asked = JobRequest(
        kind=kind,
        text=text_in(body, "text"),
        options=options,
        by=visitor.name,
        replaces=text_in(body, "replaces", default="")[:100],
        limits=_limits(visitor),
    )
    workbench = workbench_of(request)
    workbench.audit.write(who=visitor.name, address=address_of(request), what="job", kind=kind)
    job = await run_in_threadpool(workbench.pool.ask, asked)
    return result_reply("serve", job.to_json(), status=HTTPStatus.ACCEPTED)


async def newest(request: Request) -> Response:
    """List jobs, the newest first, a page at a time."""
    after = request.query_params.get("after", "")
    found = await run_in_threadpool(workbench_of(request).pool.newest, after=after, limit=MAX_PAGE)
    listed = {"jobs": [job.to_json() for job in found], "kinds": list(job_kinds())}
    return result_reply("serve", listed)


async def one(request: Request) -> Response:
    """Return one job as it is now."""
    return result_reply("serve", (await _found(request)).to_json())


async def result(request: Request) -> Response:
    """Return what a job found, as its command prints with ``--json``."""
    job = await _found(request)
    data = await run_in_threadpool(workbench_of(request).pool.table.result, job.id)
    if data is None:
        raise HttpError(HTTPStatus.NOT_FOUND, f"this job is {job.state} and has no result")
    return Response(data, HTTPStatus.OK, NO_STORE, "application/json")


async def replay(request: Request) -> Response:
    """Say what the frames of a job are of."""
    path = await _replay_of(request)
    found = await run_in_threadpool(read_replay, path)
    if found is None:
        raise HttpError(HTTPStatus.NOT_FOUND, "this job has no frames")
    return result_reply("serve", found)


async def frames(request: Request) -> Response:
    """Return frames, a byte a cell: ``of`` which quantity, ``from`` and ``to`` which of them."""
    path = await _replay_of(request)
    if not path.is_file():
        raise HttpError(HTTPStatus.NOT_FOUND, "this job has no frames")
    first, last = (_frame(request, *one) for one in (("from", 0), ("to", MAX_FRAMES)))
    quantity = request.query_params.get("of", "load")
    return raw_reply(await run_in_threadpool(read_frames, path, quantity, first, last))


async def _replay_of(request: Request) -> Path:
    job = await _found(request)
    return replay_path(workbench_of(request).pool.table.result_path(job.id))


def _frame(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < MAX_DIGITS):
        raise HttpError(HTTPStatus.BAD_REQUEST, "is no whole number", key=name)
    return int(text)


async def text(request: Request) -> Response:
    """Return the scenario that a job was asked with."""
    job = await _found(request)
    return result_reply("serve", {"text": job.request.text, "options": dict(job.request.options)})


async def stop(request: Request) -> Response:
    """Stop a job; one's own, or any for an operator."""
    job = await _found(request)
    visitor = visitor_of(request)
    if job.request.by != visitor.name:
        operator_of(request)
    workbench = workbench_of(request)
    workbench.audit.write(
        who=visitor.name, address=address_of(request), what="stop job", job=job.id
    )
    stopped = await run_in_threadpool(workbench.pool.stop, job.id, by=visitor.name)
    return result_reply("serve", {"job": job.id, "stopping": stopped})


async def _found(request: Request) -> JobRecord:
    name: Any = request.path_params["job"]
    job = await run_in_threadpool(workbench_of(request).pool.find, name)
    if job is None:
        raise HttpError(HTTPStatus.NOT_FOUND, "there is no such job")
    return job


def _limits(visitor: Visitor) -> JobLimits:
    return JobLimits() if visitor.is_operator else VIEWER


ROUTES: Final = (
    Route("/jobs", newest),
    Route("/jobs", ask, methods=["POST"]),
    Route("/jobs/{job}", one),
    Route("/jobs/{job}", stop, methods=["DELETE"]),
    Route("/jobs/{job}/result", result),
    Route("/jobs/{job}/replay", replay),
    Route("/jobs/{job}/frames", frames),
    Route("/jobs/{job}/scenario", text),
)
