"""What visitors may not do to a server, to its files, or to one another."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
import uvicorn
from uvicorn.server import ServerState
from web_under_test import VIEWER_TOKEN

from netloom.app.jobs.job import JobLimits, JobRequest
from netloom.app.jobs.named_files import NamedFiles
from netloom.app.jobs.quick import MAX_OF_A_USER, QueueFullError, QuickAnswers
from netloom.app.jobs.table import JobTable
from netloom.errors import LabError, OutputError, SpecError
from netloom.spec.example import example_text
from netloom.spec.load import parse
from netloom.web import asked
from netloom.web.connections import TimedProtocol
from netloom.web.events import MAX_OF_A_VISITOR, MAX_PAGES
from netloom.web.replies import HttpError
from netloom.web.settings import ServeSettings
from netloom.workload.sizes import distribution

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from starlette.requests import Request
    from starlette.testclient import TestClient
    from starlette.types import Send

    from netloom.web.workbench import Workbench

DESIGN = example_text("gpt3-175b-1k")
SECRET = "operator ada token-that-no-visitor-may-read"  # noqa: S105


def _with_catalog(path: object) -> str:
    return f"catalog: {path}\n{DESIGN}"


def _traffic(distribution: object) -> str:
    piece = f"traffic: [{{kind: poisson, distribution: {distribution}, load: 10%, duration: 1ms}}]"
    head = DESIGN.partition("job:")[0]
    return f"{head}\n{piece}\n"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    found = tmp_path / "tokens"
    found.write_text(SECRET)
    (tmp_path / "secret.json").write_text(f'["{SECRET}"]')
    (tmp_path / "secret.toml").write_text(SECRET)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "scenarios"
    found.mkdir(exist_ok=True)
    (found / "own.toml").write_text("")
    (found / "link.toml").symlink_to(tmp_path / "secret.toml")
    return found


@pytest.mark.parametrize(
    "path", ["{}/secret.toml", "../secret.toml", "link.toml", "a/../../secret.toml", "/etc/passwd"]
)
def test_a_text_names_no_file_outside_the_folder(secret: Path, folder: Path, path: str) -> None:
    files = NamedFiles(folder=str(folder))
    text = _with_catalog(path.format(secret))
    with pytest.raises(SpecError, match="not in the server's folder"):
        files.found(parse(text, name="scenario"))


def test_a_text_names_files_of_the_folder(folder: Path) -> None:
    files = NamedFiles(folder=str(folder))
    found = files.found(parse(_with_catalog("own.toml"), name="scenario"))
    assert found.catalog == str(folder / "own.toml")


def test_without_a_folder_no_file_is_read(operator: TestClient, secret: Path) -> None:
    model = DESIGN.replace("model: gpt-3-175b", f"model: {secret}/secret.json")
    assert model != DESIGN
    for text in (_with_catalog(secret / "secret.toml"), model):
        reply = operator.post("/api/v1/answers/predict", json={"text": text})
        assert reply.status_code == 400
        assert SECRET not in reply.text
        assert "names a file" in reply.text


def test_sizes_of_flows_come_from_no_file_without_a_folder(secret: Path) -> None:
    """A file without a suffix was read, and the error quoted its first line."""
    with pytest.raises(SpecError, match="names a file"):
        NamedFiles().found(parse(_traffic(secret / "tokens"), name="scenario"))


def test_a_plain_word_is_no_file_of_sizes(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(secret)
    with pytest.raises(SpecError, match="no distribution is called 'tokens'") as caught:
        distribution("tokens")
    assert SECRET not in str(caught.value)


def test_the_job_of_another_user_is_not_replaced(tmp_path: Path) -> None:
    table = JobTable(tmp_path, now=lambda: 5.0)
    first, other, again = (
        table.ask(JobRequest(kind="size", text=DESIGN, by=by, replaces="slider"))
        for by in ("ada", "vic", "ada")
    )
    states = {job.id: job.state for job in table.newest()}
    table.close()
    assert states == {first.id: "stopped", other.id: "waiting", again.id: "waiting"}


def test_two_servers_do_not_share_a_folder(tmp_path: Path) -> None:
    """The second would call the running jobs of the first lost."""
    first = JobTable(tmp_path, now=lambda: 5.0)
    with pytest.raises(OutputError, match="another server"):
        JobTable(tmp_path, now=lambda: 5.0)
    first.close()
    JobTable(tmp_path, now=lambda: 5.0).close()


def test_what_a_server_keeps_is_its_users_alone(tmp_path: Path) -> None:
    JobTable(tmp_path / "state" / "serve", now=lambda: 5.0).close()
    assert (tmp_path / "state" / "serve").stat().st_mode & 0o077 == 0


@pytest.fixture
def quick() -> Iterator[QuickAnswers]:
    found = QuickAnswers()
    yield found
    found.close()


def test_slow_questions_of_one_user_leave_room_for_others(quick: QuickAnswers) -> None:
    limits = JobLimits(time_s=30.0)
    refused: list[LabError] = []

    def ask(by: str) -> None:
        try:
            quick.ask(JobRequest(kind="size", text=DESIGN, by=by, limits=limits))
        except LabError as error:
            refused.append(error)

    with quick._lock:
        threads = [threading.Thread(target=ask, args=("vic",)) for _ in range(MAX_OF_A_USER + 2)]
        for thread in threads:
            thread.start()
        while len(refused) < 2:
            time.sleep(0.01)
        other = threading.Thread(target=ask, args=("ada",))
        other.start()
    for thread in (*threads, other):
        thread.join()
    assert len(refused) == 2


def test_a_question_whose_page_moved_on_leaves_the_queue(quick: QuickAnswers) -> None:
    """Pages left one after the other kept the next one's questions out."""
    gone = threading.Event()
    left: list[LabError] = []

    def ask() -> None:
        try:
            quick.ask(JobRequest(kind="size", text=DESIGN, by="ada"), is_gone=gone.is_set)
        except LabError as error:
            left.append(error)

    with quick._lock:
        threads = [threading.Thread(target=ask) for _ in range(MAX_OF_A_USER)]
        for thread in threads:
            thread.start()
        while quick._waiting["ada"] < MAX_OF_A_USER:
            time.sleep(0.01)
        with pytest.raises(QueueFullError, match="too many questions wait"):
            quick.ask(JobRequest(kind="size", text=DESIGN, by="ada"))
        gone.set()
        for thread in threads:
            thread.join()
    assert len(left) == MAX_OF_A_USER
    assert "result" in quick.ask(JobRequest(kind="size", text=DESIGN, by="ada"))


def test_a_full_queue_asks_the_page_to_come_again(
    operator: TestClient, workbench: Workbench
) -> None:
    name = operator.get("/api/v1/me").json()["result"]["name"]
    workbench.quick._waiting[name] = MAX_OF_A_USER
    reply = operator.post("/api/v1/answers/size", json={"text": DESIGN})
    assert (reply.status_code, reply.headers["Retry-After"]) == (429, "1")
    workbench.quick._waiting.clear()
    assert operator.post("/api/v1/answers/size", json={"text": DESIGN}).status_code == 200


def test_an_audit_with_a_torn_line_is_read(workbench: Workbench, client: TestClient) -> None:
    workbench.audit.write(who="ada", address="", what="job")
    with workbench.audit.path.open("a") as file:
        file.write('{"time_s": 3, "wh')
    workbench.audit.write(who="ada", address="", what="lost with the torn one")
    workbench.audit.write(who="ada", address="", what="stop job")
    assert [row["what"] for row in workbench.audit.last()] == ["stop job", "job"]
    client.headers["Authorization"] = f"Bearer {VIEWER_TOKEN}"
    assert client.get("/api/v1/audit").status_code == 403


async def _silent_connection(said: bytes) -> float:
    """Return the seconds after which a server hangs up on a client that said only *said*."""
    config = uvicorn.Config(_answer, log_level="critical", lifespan="off")
    config.load()
    state = ServerState()

    class Hasty(TimedProtocol):
        headers_s = 0.2

    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Hasty(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        began_s = time.monotonic()
        for byte in said:
            writer.write(bytes([byte]))
        await asyncio.wait_for(reader.read(), 2.0)
        writer.close()
    return time.monotonic() - began_s


Result = TypeVar("Result")


def _ran(asked_for: Coroutine[Any, Any, Result]) -> Result:
    """Return what it gives, in a thread: the driver of browsers keeps a loop in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, asked_for).result()


async def _answer(_: object, __: object, send: Send) -> None:
    await asyncio.sleep(0.5)  # longer than headers may take
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_connection_without_a_whole_request_is_ended(said: bytes) -> None:
    assert 0.15 < _ran(_silent_connection(said)) < 0.5


def test_a_request_that_takes_long_to_answer_is_not_ended() -> None:
    said = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert _ran(_silent_connection(said)) > 0.45


def test_pages_of_one_visitor_leave_room_for_others(
    workbench: Workbench, client: TestClient
) -> None:
    client.headers["Authorization"] = f"Bearer {VIEWER_TOKEN}"
    for _ in range(MAX_OF_A_VISITOR):
        workbench.hub._pages[asyncio.Queue()] = "vic"
    assert client.get("/api/v1/events").status_code == 429
    assert workbench.hub.num_pages < MAX_PAGES


def test_a_body_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "BODY_S", 0.05)

    class Slow:
        async def body(self) -> bytes:
            await asyncio.sleep(5)
            return b"{}"

    with pytest.raises(HttpError, match=r"the body took over"):
        _ran(asked.body_of(cast("Request", Slow())))


@pytest.mark.parametrize(
    ("wrong", "option"), [({"port": 99999}, "--port"), ({"folder": Path("/no/folder")}, "--folder")]
)
def test_a_port_or_folder_that_is_none_is_refused(wrong: dict[str, Any], option: str) -> None:
    with pytest.raises(SpecError, match=option):
        ServeSettings(**wrong)
