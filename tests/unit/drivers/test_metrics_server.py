"""/metrics and /health with many clients, slow ones, and those that may not read."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from netloom.drivers import metrics_server
from netloom.drivers.metrics_server import ListenAccess, Server, read_token
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OK = {"status": "ok", "sources": []}
BODY = b"netloom_up 1\n"
TOKEN = "secret"  # noqa: S105


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server("127.0.0.1", 0)
    made.put(BODY, OK)
    with closing(made):
        yield made


def fetched(port: int) -> bytes:
    url = f"http://127.0.0.1:{port}/metrics"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return bytes(answer.read())


def test_clients_that_say_nothing_hold_up_no_other(server: Server) -> None:
    with ExitStack() as stack:
        for sent in (b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: x\r\n") * 10:
            line = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            line.sendall(sent)
        begin_s = time.monotonic()
        assert fetched(server.port) == BODY
        # One client at a time would have waited for each of the 30 until it is dropped.
        assert time.monotonic() - begin_s < metrics_server.CLIENT_S


def test_many_clients_at_once_are_all_served(server: Server) -> None:
    got: list[bytes] = []
    threads = [threading.Thread(target=lambda: got.append(fetched(server.port))) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == [BODY] * 40


def dribble(line: socket.socket, *, for_s: float) -> None:
    """Send a byte at a time, which never runs into a time-out."""
    end_s = time.monotonic() + for_s
    while time.monotonic() < end_s:
        line.sendall(b"G")
        time.sleep(0.05)


def test_a_client_that_dribbles_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "CLIENT_S", 0.5)
    line = socket.create_connection(("127.0.0.1", server.port))
    with closing(line), pytest.raises(OSError, match=r"."):
        dribble(line, for_s=60.0)


def test_more_clients_than_there_is_room_for_are_turned_away_until_some_leave(
    server: Server,
) -> None:
    with ExitStack() as stack:
        for _ in range(metrics_server.MAX_CLIENTS):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        time.sleep(0.5)
        with pytest.raises(OSError, match=r"."):
            fetched(server.port)
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        try:
            assert fetched(server.port) == BODY
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("it never came back")


def test_nothing_is_printed_when_clients_go_away(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    server.put(b"x" * 2**24, OK)
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    server.put(BODY, OK)
    assert fetched(server.port) == BODY
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "node1"])  # noqa: S104
def test_other_machines_may_not_read_unless_told_so(host: str) -> None:
    with pytest.raises(SpecError, match=r"no TLS and no token.*--listen-openly"):
        Server(host, 0)
    with pytest.raises(SpecError, match="no TLS and no token"):
        ListenAccess(token=TOKEN).check(host)
    ListenAccess(is_open=True).check(host)


def test_listening_openly_is_possible_when_said() -> None:
    with closing(Server("0.0.0.0", 0, ListenAccess(is_open=True))) as made:  # noqa: S104
        made.put(BODY, OK)
        assert fetched(made.port) == BODY


@pytest.fixture
def access(tmp_path: Path) -> ListenAccess:
    path = shutil.which("openssl")
    if path is None:
        pytest.skip("apt-get install openssl")
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(  # noqa: S603
        [path, "req", "-x509", "-days", "1", *kind, *files, *name],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return ListenAccess(certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem", token=TOKEN)


def test_tls_and_a_token_let_those_in_who_have_it(access: ListenAccess) -> None:
    assert access.certificate is not None
    trust = ssl.create_default_context(cafile=str(access.certificate))
    with closing(Server("0.0.0.0", 0, access)) as made, ExitStack() as stack:  # noqa: S104
        made.put(BODY, OK)
        for _ in range(5):  # who opens a connection and never shakes hands
            stack.enter_context(socket.create_connection(("127.0.0.1", made.port)))
        url = f"https://127.0.0.1:{made.port}/metrics"
        asked = urllib.request.Request(url, headers={"Authorization": "Bearer secret"})
        with urllib.request.urlopen(asked, timeout=60, context=trust) as answer:  # noqa: S310
            assert answer.read() == BODY
        for given in ({}, {"Authorization": "Bearer secre"}, {"Authorization": "\xe9"}):
            wrong = urllib.request.Request(url, headers=given)
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(wrong, timeout=60, context=trust)  # noqa: S310


def test_a_certificate_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("none", encoding="ascii")
    with pytest.raises(SpecError, match="--listen-certificate"):
        Server("127.0.0.1", 0, ListenAccess(certificate=tmp_path / "cert.pem", token=TOKEN))


def test_a_token_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("secret\n", encoding="ascii")
    path.chmod(0o644)
    with pytest.raises(SpecError, match="others may read"):
        read_token(path)
    path.chmod(0o600)
    assert read_token(path) == "secret"
    path.write_text("\n", encoding="ascii")
    with pytest.raises(SpecError, match="is empty"):
        read_token(path)
    with pytest.raises(SpecError, match="cannot be read"):
        read_token(tmp_path / "none")
