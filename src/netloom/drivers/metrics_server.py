"""``/metrics`` and ``/health``: what is seen now, under the names that operators' boards ask for.

InfiniBand ports of switches and hosts have the names of infiniband_exporter, those of hosts also
the names of node_exporter's infiniband collector, Ethernet ports the names of its netdev
collector; what only netloom knows begins with ``netloom_``. The text is made after each round
and served as it stands, so a scrape costs nothing and never waits for the network.
"""

from __future__ import annotations

import hmac
import json
import socket
import socketserver
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import OutputError, SpecError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ListenAccess",
    "Server",
    "parse_address",
    "read_token",
]

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
CLIENT_S: Final = 5.0  # a client that is slower than this is dropped
MAX_CLIENTS: Final = 64  # at a time; a thread each
CHALLENGE: Final = ("WWW-Authenticate", "Bearer")


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of ``127.0.0.1:9787`` or ``[::1]:9787``.

    Raises:
        SpecError: it is none; the message says how to write one.
    """
    host, _, port = text.rpartition(":")
    fine = host and port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65536
    if not fine:
        raise SpecError(
            option="--listen",
            what=f"{text[:60]!r} will not do",
            remedy="write such as '127.0.0.1:9787'",
        )
    return host.strip("[]"), int(port)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenAccess:
    """Who may read what is served.

    Attributes:
        certificate: PEM file for TLS, the chain included; without, it is served in the clear.
        key: Its private key.
        token: Clients send ``Authorization: Bearer TOKEN``; empty when none is asked for.
        is_open: Whether other machines may read without TLS and token.
    """

    certificate: Path | None = None
    key: Path | None = None
    token: str = ""
    is_open: bool = False

    def check(self, host: str) -> None:
        """Raise SpecError where other machines could read what is not protected."""
        if _is_loopback(host) or self.is_open or (self.certificate and self.token):
            return
        raise SpecError(
            option="--listen",
            what=f"other machines reach {host}, and what is served has no TLS and no token",
            remedy=(
                "give --listen-certificate, --listen-key and --listen-token, listen on 127.0.0.1, "
                "or say --listen-openly"
            ),
        )

    def context(self) -> ssl.SSLContext | None:
        """Return what TLS is spoken with; None without a certificate.

        Raises:
            SpecError: certificate or key cannot be read, or do not belong together.
        """
        if self.certificate is None:
            return None
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            made.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise SpecError(
                option="--listen-certificate",
                what=f"{self.certificate} and its key cannot be used ({error.strerror or error})",
                remedy="give a certificate and its private key as PEM",
            ) from error
        return made


def read_token(path: Path) -> str:
    """Return the token in a file that only its owner may read.

    Raises:
        SpecError: it cannot be read, others may read it, or it is empty.
    """
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        what = f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not ASCII'})"
        raise SpecError(option="--listen-token", what=what, remedy="name another") from error
    if mode & 0o077 or not text:
        what = f"{path} is empty" if not text else f"others may read {path}"
        raise SpecError(
            option="--listen-token", what=what, remedy=f"write a token, and chmod 600 {path}"
        )
    return text


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Listener(ThreadingHTTPServer):
    """Serves many clients, each in a thread, for at most :data:`CLIENT_S` from its first byte on.

    One that opens a connection and says nothing, or half of something, holds its thread that long
    and no other client; beyond :data:`MAX_CLIENTS` at a time new ones are turned away.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        tls: ssl.SSLContext | None,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._tls = tls
        self._room = threading.BoundedSemaphore(MAX_CLIENTS)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without asking DNS who we are, as HTTPServer would."""
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a client a thread, while there is one."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one client, and end it when its time is over."""
        held: list[socket.socket] = [request]
        timer = threading.Timer(CLIENT_S, lambda: _cut(held[-1]))
        timer.daemon = True
        timer.start()
        try:
            if self._tls is not None:
                # Here, so that a client that does not go on holds up no other.
                held.append(
                    self._tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
                )
            super().process_request_thread(held[-1], client_address)
        finally:
            timer.cancel()
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients go away in the middle, and the log is of the network."""


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class Server:
    """Serves the last exposition and the last health on one address, in threads of its own."""

    def __init__(self, host: str, port: int, access: ListenAccess | None = None) -> None:
        """Listen.

        Raises:
            SpecError: other machines could read it, and nothing says that they may.
            OutputError: the address is taken, or not ours.
        """
        allowed = access or ListenAccess()
        allowed.check(host)
        self._token = allowed.token
        self._body = b""
        self._health: dict[str, Any] = {"status": "starting", "sources": []}
        server = self

        class Handler(BaseHTTPRequestHandler):
            timeout = CLIENT_S
            server_version = "netloom"
            sys_version = ""

            def do_GET(self) -> None:
                if not server.may(self.headers.get("Authorization", "")):
                    self._send(401, "text/plain", b"netloom: which token?\n", CHALLENGE)
                    return
                self._send(*server.answer(self.path.partition("?")[0]))

            def _send(
                self, status: int, media: str, body: bytes, more: tuple[str, str] | None = None
            ) -> None:
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(body)))
                if more is not None:
                    self.send_header(*more)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: what a client sends is no business of the log."""

        try:
            self._server = _Listener((host, port), Handler, allowed.context())
        except OSError as error:
            raise OutputError(
                option="--listen",
                what=f"{host}:{port} cannot be used ({error.strerror})",
                remedy="name another",
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def may(self, authorization: str) -> bool:
        """Return whether a client that sends this may read."""
        wanted = f"Bearer {self._token}"
        given = authorization.encode("utf-8", errors="replace")
        return not self._token or hmac.compare_digest(given, wanted.encode())

    @property
    def port(self) -> int:
        """The port, also when 0 was asked for and the system chose."""
        return int(self._server.server_address[1])

    def put(self, body: bytes, health: dict[str, Any]) -> None:
        """Serve these from now on."""
        self._body, self._health = body, health

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Return status, media type and body for a path."""
        if path == "/metrics":
            return 200, MEDIA, self._body
        if path in {"/health", "/healthz"}:
            status = 200 if self._health["status"] == "ok" else 503
            return status, "application/json", json.dumps(self._health).encode()
        return 404, "text/plain", b"netloom: /metrics and /health\n"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(CLIENT_S)
