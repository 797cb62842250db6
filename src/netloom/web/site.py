"""The whole site as one ASGI application."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount

from netloom.errors import NetloomError
from netloom.web.guard import Guard
from netloom.web.replies import HttpError, error_reply
from netloom.web.routes import acts, cases, design, jobs, live, pages, session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from netloom.web.guard import GuardRules
    from netloom.web.workbench import Workbench

__all__ = ["API", "site_of"]

API: Final = "/api/v1"
PAGES: Final = (design, jobs, live, cases, acts, session)
LOG: Final = logging.getLogger("netloom.web")


def site_of(workbench: Workbench, rules: GuardRules) -> Starlette:
    """Return the application over *workbench*."""
    site = Starlette(
        routes=[
            Mount(API, routes=[route for page in PAGES for route in page.ROUTES]),
            session.LOGIN,
            *pages.ROUTES,
        ],
        middleware=[
            Middleware(Guard, rules=rules, sessions=workbench.sessions),
            Middleware(GZipMiddleware, minimum_size=1024, compresslevel=5),
        ],
        exception_handlers={
            NetloomError: _refused,
            HTTPException: _not_there,
            Exception: _failed,
        },
        lifespan=_lifespan,
    )
    site.state.workbench = workbench
    return site


@asynccontextmanager
async def _lifespan(site: Starlette) -> AsyncIterator[None]:
    import asyncio  # noqa: PLC0415

    site.state.workbench.hub.attach(asyncio.get_running_loop())
    yield


async def _refused(_: Request, error: Exception) -> Response:
    return error_reply(error)


async def _not_there(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    from http import HTTPStatus  # noqa: PLC0415

    return error_reply(HttpError(HTTPStatus(error.status_code), str(error.detail)))


async def _failed(_: Request, error: Exception) -> Response:
    LOG.error("a bug: %s", type(error).__name__, exc_info=error)
    return error_reply(error)
