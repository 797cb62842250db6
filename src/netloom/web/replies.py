"""Answers: the command line's envelope and error object, with a status that fits."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from netloom.errors import NetloomError, Problem, Where
from netloom.results.envelope import error_envelope, result_envelope

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NO_STORE", "HttpError", "envelope_reply", "error_reply", "raw_reply", "result_reply"]

NO_STORE: Final = {"Cache-Control": "no-store"}
BY_KIND: Final = {
    "spec": HTTPStatus.BAD_REQUEST,
    "catalog": HTTPStatus.BAD_REQUEST,
    "infeasible": HTTPStatus.UNPROCESSABLE_ENTITY,
    "output": HTTPStatus.SERVICE_UNAVAILABLE,
    "lab": HTTPStatus.SERVICE_UNAVAILABLE,
}


class HttpError(NetloomError):
    """A request that is refused for what it is, not for what its scenario says.

    Attributes:
        status: As HTTP has it.
        headers: Of the answer.
    """

    kind = "request"

    def __init__(
        self,
        status: HTTPStatus,
        what: str,
        remedy: str = "",
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what=what, remedy=remedy, key=key)
        self.status = status
        self.headers = dict(headers or {})


def result_reply(command: str, result: object, *, status: int = HTTPStatus.OK) -> Response:
    """Return what a command found, in its envelope."""
    return envelope_reply(result_envelope(command, result), status=status)


def envelope_reply(envelope: Mapping[str, Any], *, status: int | None = None) -> Response:
    """Return an envelope as it is; an error with the status of its kind."""
    if status is None:
        kind = envelope.get("error", {}).get("kind", "")
        status = BY_KIND.get(kind, HTTPStatus.INTERNAL_SERVER_ERROR) if kind else HTTPStatus.OK
    text = json.dumps(envelope, allow_nan=False, separators=(",", ":"))
    return Response(text, status, NO_STORE, "application/json")


def raw_reply(data: bytes, **headers: str) -> Response:
    """Return raw columns; a header ``netloom_sequence`` becomes ``Netloom-Sequence``."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return Response(data, HTTPStatus.OK, NO_STORE | named, "application/octet-stream")


def error_reply(error: Exception, *, command: str = "serve") -> Response:
    """Return an error in its envelope; of one that netloom did not raise, no word of its inside."""
    if isinstance(error, HttpError):
        reply = envelope_reply(error_envelope(command, error), status=error.status)
        reply.headers.update(error.headers)
        return reply
    if isinstance(error, NetloomError):
        status = BY_KIND.get(error.kind, HTTPStatus.INTERNAL_SERVER_ERROR)
        return envelope_reply(error_envelope(command, error), status=status)
    hidden = NetloomError.of(Problem(where=Where(), what="netloom failed; its log says more"))
    return envelope_reply(error_envelope(command, hidden), status=HTTPStatus.INTERNAL_SERVER_ERROR)
