"""What every request must pass before a route sees it.

The order is: name of the host, proof of who asks, origin of what changes something, form of the
body. A page of another site, another user of this machine and a rebound name are all refused here.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final

from netloom.web.replies import HttpError, error_reply
from netloom.web.visitors import Visitor

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from netloom.web.visitors import Role, Sessions

__all__ = ["COOKIE", "CSRF_HEADER", "MAX_BODY_BYTES", "Guard", "GuardRules"]

COOKIE: Final = "netloom"
CSRF_HEADER: Final = "x-netloom-csrf"
MAX_BODY_BYTES: Final = 1 << 20
SAFE: Final = frozenset({"GET", "HEAD"})
OPEN_PATHS: Final = frozenset({"/login", "/health"})
POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; frame-ancestors "
)
SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRules:
    """What is let in.

    Attributes:
        hosts: Names with ports that a browser may call us by.
        origins: The same with their scheme.
        user_header: The header in which a proxy names the user, in lower case; empty without one.
        operators: Users of the proxy that may change things; all others are viewers.
        embedders: Origins whose pages, such as notebooks, may show ours in a frame.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    user_header: str = ""
    operators: frozenset[str] = frozenset()
    embedders: frozenset[str] = frozenset()

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What every answer has."""
        framed_by = " ".join(sorted(self.embedders)) or "'none'"
        return ((b"content-security-policy", POLICY + framed_by.encode()), *SECURITY_HEADERS)


class Guard:
    """Middleware: puts a :class:`Visitor` into ``scope["visitor"]``, or answers with an error."""

    def __init__(self, app: ASGIApp, *, rules: GuardRules, sessions: Sessions) -> None:
        self._app, self._rules, self._sessions = app, rules, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        sealed = _sealed(send, self._rules.headers)
        try:
            headers = _headers(scope)
            self._check_host(headers)
            visitor = self._visitor(headers)
            self._check_visitor(scope, visitor)
            self._check_change(scope, headers, visitor)
        except HttpError as error:
            await error_reply(error)(scope, receive, sealed)
            return
        scope["visitor"] = visitor
        await self._app(scope, _bounded(receive), sealed)

    def _check_host(self, headers: dict[str, str]) -> None:
        if headers.get("host", "") not in self._rules.hosts:
            raise HttpError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this name is not one of this server's",
                "use the address it printed, or start it with --host NAME",
            )

    def _visitor(self, headers: dict[str, str]) -> Visitor | None:
        if self._rules.user_header:
            name = headers.get(self._rules.user_header, "").strip()
            role: Role = "operator" if name in self._rules.operators else "viewer"
            return Visitor(name=name[:200], role=role, by_cookie=True) if name else None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._sessions.by_token(token.strip())
        return self._sessions.by_cookie(_cookie(headers.get("cookie", "")))

    def _check_visitor(self, scope: Scope, visitor: Visitor | None) -> None:
        if visitor is None and not _is_open(scope["path"]):
            raise HttpError(
                HTTPStatus.UNAUTHORIZED,
                "nothing shows who you are",
                "open the address that netloom serve printed, or send 'Authorization: Bearer ...'",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def _check_change(self, scope: Scope, headers: dict[str, str], visitor: Visitor | None) -> None:
        if scope["method"] in SAFE:
            return
        origin = headers.get("origin")
        if origin is not None and origin not in self._rules.origins:
            raise HttpError(HTTPStatus.FORBIDDEN, "another site's page asks")
        if headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            raise HttpError(HTTPStatus.FORBIDDEN, "another site's page asks")
        if scope["path"] != "/login":
            _check_body(scope, headers)
        if visitor is not None and visitor.by_cookie and CSRF_HEADER not in headers:
            raise HttpError(HTTPStatus.FORBIDDEN, f"the header {CSRF_HEADER} is missing")


def _check_body(scope: Scope, headers: dict[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if scope["method"] != "DELETE" and kind != "application/json":
        raise HttpError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body is not JSON", "send application/json"
        )
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is over 1 MiB")


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith("/static/")


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers in lower case; one that is there twice counts as another value."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _bounded(receive: Receive) -> Receive:
    """Return *receive* that ends a body which is longer than it said."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY_BYTES:
            raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is over 1 MiB")
        return message

    return bounded


def _sealed(send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> Send:
    """Return *send* that adds the headers every answer has."""

    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *headers]
        await send(message)

    return sealed
