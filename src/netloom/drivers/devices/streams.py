"""Connections to devices: every look ends at its deadline, and no answer is larger than allowed."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from typing import TYPE_CHECKING, Final, Self

from netloom.errors import LabError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["Deadline", "Stream", "connected", "split_address", "tls_context"]

CHUNK_BYTES: Final = 1 << 16
MAX_LINE_BYTES: Final = 1 << 18


class Deadline:
    """When a look must be over, by a clock that is never set."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._end_s = time.monotonic() + limit_s

    def left_s(self) -> float:
        """Return how much time is left.

        Raises:
            LabError: none is.
        """
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            message = f"no whole answer within {self.limit_s:g} s"
            raise LabError(message)
        return left_s


class Stream:
    """A connected socket that knows its deadline and how much it may still read."""

    def __init__(self, connection: socket.socket, deadline: Deadline, max_bytes: int) -> None:
        self._socket, self._deadline = connection, deadline
        self._num_left = self._max_bytes = max_bytes
        self._buffer = bytearray()

    def send(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            LabError: not in time.
            OSError: the connection is gone.
        """
        self._socket.settimeout(self._deadline.left_s())
        self._socket.sendall(data)

    def line(self, end: bytes = b"\r\n") -> bytes:
        r"""Return the next line without its *end*.

        Raises:
            LabError: not in time, too much, or the connection ended before.
        """
        while (place := self._buffer.find(end)) < 0:
            if len(self._buffer) > MAX_LINE_BYTES:
                message = "a line without end"
                raise LabError(message)
            self._fill()
        return self._take(place, skip=len(end))

    def exactly(self, num_bytes: int) -> bytes:
        r"""Return the next *num_bytes*, which ``\r\n`` follows.

        Raises:
            LabError: not in time, too much, or the connection ended before.
        """
        if num_bytes > self._max_bytes:
            raise self._too_much()
        while len(self._buffer) < num_bytes + 2:
            self._fill()
        return self._take(num_bytes, skip=2)

    def rest(self) -> bytes:
        """Return all that comes until the other side closes.

        Raises:
            LabError: not in time, or too much.
        """
        while self._receive():
            pass
        return self._take(len(self._buffer), skip=0)

    def _take(self, num_bytes: int, *, skip: int) -> bytes:
        taken = bytes(self._buffer[:num_bytes])
        del self._buffer[: num_bytes + skip]
        return taken

    def _fill(self) -> None:
        if not self._receive():
            message = "the connection ended within an answer"
            raise LabError(message)

    def _receive(self) -> bool:
        self._socket.settimeout(self._deadline.left_s())
        try:
            chunk = self._socket.recv(CHUNK_BYTES)
        except TimeoutError:
            self._deadline.left_s()
            raise
        self._num_left -= len(chunk)
        if self._num_left < 0:
            raise self._too_much()
        self._buffer += chunk
        return bool(chunk)

    def _too_much(self) -> LabError:
        return LabError(
            what=f"says more than {self._max_bytes >> 20} MiB", remedy="ask it for less"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


@contextlib.contextmanager
def connected(
    access: DeviceAccess,
    *,
    port: int,
    max_bytes: int,
    deadline: Deadline | None = None,
    is_tls: bool = False,
) -> Iterator[Stream]:
    """Give a TCP connection to a device, or one to a path beginning with ``/``.

    Args:
        access: Which device.
        port: Where its address has none.
        max_bytes: The most that it may say.
        deadline: Until when; default: that of *access*, from now.
        is_tls: Whether it speaks TLS.

    Raises:
        LabError: it does not answer in time or says too much.
    """
    until = deadline or Deadline(access.deadline_s)
    try:
        plain = _socket(access.address, port, until)
        joined = _wrapped(plain, access, port) if is_tls else plain
        with Stream(joined, until, max_bytes) as stream:
            yield stream
    except OSError as error:
        reason = printable(error.strerror or str(error))
        raise LabError(
            what=f"{access.name}: {printable(access.address)} does not answer ({reason})",
            remedy="is it up, and is the address right?",
        ) from error


def _socket(address: str, port: int, deadline: Deadline) -> socket.socket:
    if not address.startswith("/"):
        return socket.create_connection(split_address(address, port), timeout=deadline.left_s())
    local = socket.socket(socket.AF_UNIX)
    try:
        local.settimeout(deadline.left_s())
        local.connect(address)
    except BaseException:
        local.close()
        raise
    return local


def _wrapped(plain: socket.socket, access: DeviceAccess, port: int) -> ssl.SSLSocket:
    host, _ = split_address(access.address, port)
    try:
        return tls_context(access).wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def split_address(address: str, port: int) -> tuple[str, int]:
    """Return host and port of ``HOST``, ``HOST:PORT`` or ``[::1]:PORT``.

    >>> split_address("10.0.0.1:6379", 22), split_address("[fe80::1]", 22)
    (('10.0.0.1', 6379), ('fe80::1', 22))

    Raises:
        LabError: it is none of these.
    """
    host, colon, number = address.rpartition(":")
    if address.endswith("]") or not colon or (":" in host and not host.startswith("[")):
        host, number = address, str(port)
    if not (number.isascii() and number.isdigit() and 0 < int(number[:6]) < 65_536 and host):
        raise LabError(
            what=f"{printable(address)!r} is no address", remedy="write such as '10.0.0.11:6379'"
        )
    return host.removeprefix("[").removesuffix("]"), int(number)


def tls_context(access: DeviceAccess) -> ssl.SSLContext:
    """Return how a device proves who it is: by its own authority, else the system's.

    Raises:
        LabError: the file of the authority cannot be used.
    """
    try:
        return ssl.create_default_context(cafile=access.certificate)
    except (OSError, ValueError) as error:
        raise LabError(
            what=f"{access.certificate}: no authority ({printable(str(error))})",
            remedy="name a PEM file with its certificate",
        ) from error
