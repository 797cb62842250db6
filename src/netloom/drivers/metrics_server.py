"""``/metrics`` and ``/health``: what is seen now, under the names that operators' boards ask for.

InfiniBand ports of switches and hosts have the names of infiniband_exporter, those of hosts also
the names of node_exporter's infiniband collector, Ethernet ports the names of its netdev
collector; what only netloom knows begins with ``netloom_``. The text is made after each round
and served as it stands, so a scrape costs nothing and never waits for the network.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final

from netloom.errors import OutputError, SpecError

__all__ = [
    "Server",
    "parse_address",
]

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
CLIENT_S: Final = 5.0  # a client that is slower than this is dropped


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


def _listener(host: str) -> type[HTTPServer]:
    """Return a server of one client at a time: a scrape takes no time, and memory is bounded."""

    class Listener(HTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def server_bind(self) -> None:
            """Bind without asking DNS who we are, as HTTPServer would."""
            socketserver.TCPServer.server_bind(self)

    return Listener


class Server:
    """Serves the last exposition and the last health on one address, in a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        """Listen.

        Raises:
            OutputError: the address is taken, or not ours.
        """
        self._body = b""
        self._health: dict[str, Any] = {"status": "starting", "sources": []}
        server = self

        class Handler(BaseHTTPRequestHandler):
            timeout = CLIENT_S
            server_version = "netloom"
            sys_version = ""

            def do_GET(self) -> None:
                status, media, body = server.answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: what a client sends is no business of the log."""

        try:
            self._server = _listener(host)((host, port), Handler)
        except OSError as error:
            raise OutputError(
                option="--listen",
                what=f"{host}:{port} cannot be used ({error.strerror})",
                remedy="name another",
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

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
