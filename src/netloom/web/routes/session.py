"""Logging in and out, who one is, what was done, and what changes."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, StreamingResponse
from starlette.routing import Route

from netloom.web.asked import address_of, limit, operator_of, visitor_of, workbench_of
from netloom.web.events import MAX_OF_A_VISITOR, MAX_PAGES
from netloom.web.guard import COOKIE
from netloom.web.rates import LOGINS
from netloom.web.replies import HttpError, result_reply
from netloom.web.visitors import SESSION_S

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["LOGIN", "ROUTES"]


async def log_in(request: Request) -> Response:
    """Turn a token into a cookie, and go to the page."""
    limit(request, LOGINS, who=address_of(request))
    workbench = workbench_of(request)
    cookie = workbench.sessions.log_in(request.query_params.get("token", ""))
    workbench.audit.write(
        who="", address=address_of(request), what="log in" if cookie else "refused log in"
    )
    if cookie is None:
        raise HttpError(
            HTTPStatus.UNAUTHORIZED,
            "this token opens nothing, or was used before",
            "start netloom serve again for a new one, or use a token of --token-file",
        )
    reply = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    reply.set_cookie(
        COOKIE,
        cookie,
        max_age=int(SESSION_S),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return reply


async def log_out(request: Request) -> Response:
    """End the session."""
    workbench_of(request).sessions.log_out(request.cookies.get(COOKIE, ""))
    reply = result_reply("serve", {"out": True})
    reply.delete_cookie(COOKIE)
    return reply


async def me(request: Request) -> Response:
    """Say who one is."""
    visitor = visitor_of(request)
    return result_reply("serve", {"name": visitor.name, "role": visitor.role})


async def audit(request: Request) -> Response:
    """List what was done, the newest first."""
    operator_of(request)
    found = await run_in_threadpool(workbench_of(request).audit.last)
    return result_reply("serve", {"acts": found})


async def events(request: Request) -> Response:
    """Tell what changes, for as long as the page is open."""
    hub = workbench_of(request).hub
    if hub.num_pages >= MAX_PAGES:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, f"{MAX_PAGES} pages are open")
    name = visitor_of(request).name
    if hub.num_pages_of(name) >= MAX_OF_A_VISITOR:
        raise HttpError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"{MAX_OF_A_VISITOR} pages of {name} are open",
            "close some",
        )
    last_id = request.headers.get("last-event-id", "")[:20]
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        hub.follow(last_id, visitor=name), HTTPStatus.OK, headers, "text/event-stream"
    )


LOGIN: Final = Route("/login", log_in)
ROUTES: Final = (
    Route("/me", me),
    Route("/logout", log_out, methods=["POST"]),
    Route("/audit", audit),
    Route("/events", events),
)
