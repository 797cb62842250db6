"""Live: the fabric of a watch, its cases, and its past."""

from __future__ import annotations

from http import HTTPStatus
from math import isfinite
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from netloom.app.live.next_faults import likely_next, next_fault
from netloom.web.asked import workbench_of
from netloom.web.replies import HttpError, raw_reply, result_reply

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from netloom.app.live.steps import StepForecasts
    from netloom.app.live.twin import LiveTwin

__all__ = ["ROUTES", "twin_of"]

MAX_TEXT: Final = 400
LOAD_WAIT_S: Final = 0.1  # after it a page is shown states alone, and asks again


def twin_of(request: Request) -> LiveTwin:
    """Return the watched fabric.

    Raises:
        HttpError: this server shows none.
    """
    twin = workbench_of(request).twin
    if twin is None:
        raise HttpError(
            HTTPStatus.NOT_FOUND,
            "this server watches no fabric",
            "start it with --store FILE --scenario FILE, --lab NAME or --example",
        )
    return twin


async def status(request: Request) -> Response:
    """Say how the watch is."""
    twin, steps = twin_of(request), workbench_of(request).steps
    found = await run_in_threadpool(twin.status)
    return result_reply("serve", found | (await run_in_threadpool(steps.now) if steps else {}))


async def fabric(request: Request) -> Response:
    """Return the cells, as blocks."""
    layout = await run_in_threadpool(lambda: twin_of(request).cells.layout)
    return result_reply("serve", layout.to_json())


async def floor(request: Request) -> Response:
    """Return the racks and where they stand."""
    plan = await run_in_threadpool(lambda: twin_of(request).floor)
    return result_reply("serve", plan.to_json())


async def floor_cells(request: Request) -> Response:
    """Return the two racks of each cell."""
    plan = await run_in_threadpool(lambda: twin_of(request).floor)
    return raw_reply(plan.to_bytes())


async def state(request: Request) -> Response:
    """Return two bytes a cell, now or at a time."""
    twin = twin_of(request)
    found = await run_in_threadpool(lambda: twin.states(_time(request), wait_s=LOAD_WAIT_S))
    return raw_reply(found.data, netloom_load="read" if found.has_loads else "later")


async def cases(request: Request) -> Response:
    """List cases, open ones first."""
    found = await run_in_threadpool(twin_of(request).cases, _time(request))
    return result_reply("serve", {"cases": found})


async def strips(request: Request) -> Response:
    """Return the worst state of each pod over the last day."""
    hours = _number(request, "hours", default=24.0, most=24.0 * 60)
    found = await run_in_threadpool(lambda: twin_of(request).strips(hours=hours))
    return result_reply("serve", found)


async def series(request: Request) -> Response:
    """Return one metric of one part over time."""
    twin = twin_of(request)
    part = request.query_params.get("part", "")[:MAX_TEXT]
    metric = request.query_params.get("metric", "")[:MAX_TEXT]
    end_s = _number(request, "to", default=twin.now(), most=1e11)
    start_s = _number(request, "from", default=end_s - 3600, most=1e11)
    times, values = await run_in_threadpool(twin.past.series, part, metric, start_s, end_s)
    return result_reply("serve", {"part": part, "metric": metric, "time_s": times, "value": values})


async def cell(request: Request) -> Response:
    """Say what one cell is."""
    number = request.path_params["number"]
    return result_reply("serve", await run_in_threadpool(twin_of(request).cell, number))


async def what_if(request: Request) -> Response:
    """Return the step if a part fails or is drained; it is computed while it is null."""
    twin, steps = twin_of(request), steps_of(request)
    part = request.query_params.get("part", "")[:MAX_TEXT]
    return result_reply("serve", await run_in_threadpool(next_fault, twin, steps, part))


async def next_faults(request: Request) -> Response:
    """Return the step if one of the likeliest parts fails next."""
    twin, steps = twin_of(request), steps_of(request)
    return result_reply("serve", {"parts": await run_in_threadpool(likely_next, twin, steps)})


def steps_of(request: Request) -> StepForecasts:
    """Return the steps of the watched fabric's job.

    Raises:
        HttpError: this server watches none.
    """
    steps = workbench_of(request).steps
    if steps is None:
        raise HttpError(HTTPStatus.NOT_FOUND, "this server watches no fabric")
    return steps


def _time(request: Request) -> float | None:
    if "at" not in request.query_params:
        return None
    return _number(request, "at", default=0.0, most=1e11)


def _number(request: Request, name: str, *, default: float, most: float) -> float:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value) or not 0 <= value <= most:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"is no number from 0 to {most:g}", key=name)
    return value


ROUTES: Final = (
    Route("/live", status),
    Route("/live/fabric", fabric),
    Route("/live/floor", floor),
    Route("/live/floor/cells", floor_cells),
    Route("/live/state", state),
    Route("/live/cases", cases),
    Route("/live/strips", strips),
    Route("/live/series", series),
    Route("/live/whatif", what_if),
    Route("/live/next", next_faults),
    Route("/live/cell/{number:int}", cell),
)
