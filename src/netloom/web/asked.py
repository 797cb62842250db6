"""What a request says, taken apart: who asks, and the JSON they sent."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from netloom.web.replies import HttpError

if TYPE_CHECKING:
    from starlette.requests import Request

    from netloom.web.rates import Rate
    from netloom.web.visitors import Visitor
    from netloom.web.workbench import Workbench

__all__ = ["address_of", "body_of", "limit", "operator_of", "text_in", "visitor_of", "workbench_of"]

BODY_S: Final = 30.0


def workbench_of(request: Request) -> Workbench:
    """Return the server's parts."""
    found: Workbench = request.app.state.workbench
    return found


def visitor_of(request: Request) -> Visitor:
    """Return who asks; the guard has made sure of it."""
    found: Visitor = request.scope["visitor"]
    return found


def operator_of(request: Request) -> Visitor:
    """Return who asks, who is an operator.

    Raises:
        HttpError: they are a viewer; that is written down.
    """
    visitor = visitor_of(request)
    if not visitor.is_operator:
        workbench_of(request).audit.write(
            who=visitor.name,
            address=address_of(request),
            what=f"refused {request.method} {request.url.path}",
        )
        raise HttpError(
            HTTPStatus.FORBIDDEN, f"{visitor.name} is a viewer", "ask an operator to do it"
        )
    return visitor


def address_of(request: Request) -> str:
    """Return where the request came from."""
    return request.client.host if request.client else ""


def limit(request: Request, rate: Rate, *, who: str = "") -> None:
    """Count a request.

    Raises:
        HttpError: there were too many.
    """
    wait_s = workbench_of(request).rates.take(rate, who or visitor_of(request).name)
    if wait_s:
        raise HttpError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"more than {rate.most} {rate.name} in {rate.period_s:g} s",
            f"wait {wait_s:.0f} s",
            headers={"Retry-After": str(int(wait_s) + 1)},
        )


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent.

    Raises:
        HttpError: it is no object, or takes too long.
    """
    try:
        data = await asyncio.wait_for(request.body(), BODY_S)
    except TimeoutError:
        raise HttpError(HTTPStatus.REQUEST_TIMEOUT, f"the body took over {BODY_S:g} s") from None
    try:
        found = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise HttpError(HTTPStatus.BAD_REQUEST, "the body is not JSON") from None
    if not isinstance(found, dict):
        raise HttpError(HTTPStatus.BAD_REQUEST, "the body is not an object")
    return found


def text_in(body: dict[str, Any], key: str, *, default: str | None = None) -> str:
    """Return a text of the body.

    Raises:
        HttpError: it is missing, or no text.
    """
    found = body.get(key, default)
    if not isinstance(found, str) or "\0" in found:
        raise HttpError(HTTPStatus.BAD_REQUEST, "is missing, or is no text", key=key)
    try:
        found.encode("utf-8")
    except UnicodeEncodeError:
        raise HttpError(HTTPStatus.BAD_REQUEST, "is no text in UTF-8", key=key) from None
    return found


def _no_constant(name: str) -> None:
    message = f"{name} is no number"
    raise ValueError(message)
