"""HTTP and HTTPS to devices: one request, no redirect, no proxy, in time and within bounds."""

from __future__ import annotations

import base64
import http.client
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from netloom.drivers.devices.streams import CHUNK_BYTES, Deadline, tls_context
from netloom.errors import LabError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["HttpStatusError", "check_url", "fetch", "fetch_json", "fetch_optional"]

MAX_BYTES: Final = 64 * 2**20
LOCAL: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class HttpStatusError(LabError):
    """A device answered, with a status that is no success."""

    status: int = 0


def fetch(  # noqa: PLR0913  (a request, and how it is made)
    access: DeviceAccess,
    path: str = "",
    *,
    body: bytes | None = None,
    method: str = "",
    headers: Mapping[str, str] | None = None,
    deadline: Deadline | None = None,
    max_bytes: int = MAX_BYTES,
) -> bytes:
    """Return what a device answers to one request.

    Args:
        access: Its address is a URL. A user and a secret are sent as Basic, a secret alone as
            Bearer; neither goes over plain HTTP to another machine.
        path: Instead of the URL's own.
        body: To be posted; default: nothing, by GET.
        method: Instead of GET and POST.
        headers: More of them.
        deadline: Until when; default: that of *access*, from now.
        max_bytes: The most that it may say.

    Raises:
        HttpStatusError: it answers with an error.
        LabError: it does not answer in time, or says too much.
    """
    until = deadline or Deadline(access.deadline_s)
    url = check_url(access)
    connection = _connection(url, access, until)
    try:
        verb = method or ("GET" if body is None else "POST")
        target = path or (url.path or "/") + (f"?{url.query}" if url.query else "")
        connection.request(verb, target, body=body, headers={**_login(access), **(headers or {})})
        with connection.getresponse() as answer:  # it may outlive the connection
            if answer.status // 100 != 2:
                said = f"{answer.status} {printable(answer.reason or '')}"
                refused = HttpStatusError(
                    what=f"{access.name}: {printable(target)} answers {said}",
                    remedy="check address and credentials",
                )
                refused.status = answer.status
                raise refused
            return _body(answer, connection, until, max_bytes)
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = printable(str(error) or type(error).__name__)
        raise LabError(
            what=f"{access.name}: {url.hostname} does not answer ({reason})",
            remedy="is it up, and is the address right?",
        ) from error
    finally:
        connection.close()


def fetch_json(access: DeviceAccess, path: str = "", **more: Any) -> Any:
    """Return the JSON that a device answers; arguments are those of :func:`fetch`.

    Raises:
        LabError: it does not answer so.
    """
    try:
        return json.loads(fetch(access, path, **more))
    except (ValueError, RecursionError) as error:
        raise LabError(
            what=f"{access.name}: {printable(path)} does not answer in JSON",
            remedy="check the address",
        ) from error


def fetch_optional(access: DeviceAccess, path: str, deadline: Deadline) -> Any:
    """Return the JSON of a path that a device may not have; None where it answers with an error.

    Raises:
        LabError: it does not answer in time.
    """
    try:
        return fetch_json(access, path, deadline=deadline)
    except HttpStatusError:
        return None


def check_url(access: DeviceAccess) -> SplitResult:
    """Return the parts of a device's URL.

    Raises:
        LabError: it is none, or would send a secret in the clear.
    """
    try:
        url = urlsplit(access.address)
        is_fine = url.scheme in {"http", "https"} and bool(url.hostname) and url.username is None
        url.port  # noqa: B018  (raises where it is none)
    except ValueError:
        is_fine = False
        url = urlsplit("")
    if not is_fine:
        raise LabError(
            what=f"{access.name}: its address is no URL",
            remedy="write such as https://leaf01/, without user and password",
        )
    if access.secret is not None and url.scheme == "http" and url.hostname not in LOCAL:
        raise LabError(
            what=f"{access.name}: a secret is not sent over plain HTTP", remedy="use https"
        )
    return url


def _connection(
    url: SplitResult, access: DeviceAccess, deadline: Deadline
) -> http.client.HTTPConnection:
    host, left_s = str(url.hostname), deadline.left_s()
    if url.scheme == "http":
        return http.client.HTTPConnection(host, url.port, timeout=left_s)
    context = tls_context(access)
    return http.client.HTTPSConnection(host, url.port, timeout=left_s, context=context)


def _login(access: DeviceAccess) -> dict[str, str]:
    if access.secret is None:
        return {}
    if not access.user:
        return {"Authorization": f"Bearer {access.secret.reveal()}"}
    pair = f"{access.user}:{access.secret.reveal()}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _body(
    answer: http.client.HTTPResponse,
    connection: http.client.HTTPConnection,
    deadline: Deadline,
    max_bytes: int,
) -> bytes:
    parts: list[bytes] = []
    num_bytes = 0
    while True:
        left_s = deadline.left_s()
        if connection.sock is not None:  # gone where the answer is its last
            connection.sock.settimeout(left_s)
        part = answer.read1(CHUNK_BYTES)
        if not part:
            return b"".join(parts)
        parts.append(part)
        num_bytes += len(part)
        if num_bytes > max_bytes:
            raise LabError(what=f"says more than {max_bytes:,} bytes", remedy="ask it for less")
