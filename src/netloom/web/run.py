"""Start the server, and end it in order."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import uvicorn

from netloom.app.designs import design_of
from netloom.app.jobs.named_files import NamedFiles
from netloom.app.jobs.pool import JobPool
from netloom.app.jobs.quick import QuickAnswers
from netloom.app.jobs.table import JobTable
from netloom.app.live.feed import LiveFeed
from netloom.app.live.steps import StepForecasts
from netloom.app.live.tour import tour_twin
from netloom.app.live.twin import LiveTwin
from netloom.app.scenarios import ScenarioFolder
from netloom.drivers.clock import WallClock
from netloom.drivers.devices.credentials import read_private
from netloom.errors import OutputError
from netloom.spec.load import load
from netloom.units import TIME, parse_quantity
from netloom.web.attached import healing_of, stale_after_s, store_of, watching
from netloom.web.audit import WebAudit
from netloom.web.connections import TimedProtocol
from netloom.web.events import EventHub
from netloom.web.rates import RateLimits
from netloom.web.settings import default_data_folder
from netloom.web.site import site_of
from netloom.web.visitors import Sessions, keys_in
from netloom.web.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from netloom.web.settings import ServeSettings
    from netloom.web.visitors import Key

__all__ = ["Started", "serve"]

KEEP_ALIVE_S: Final = 30
END_S: Final = 2
ACTS: Final = ("heal-apply", "heal-undo")  # wait for no simulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A server that listens.

    Attributes:
        address: Where.
        entrance: The same with a token that works once; the address alone behind a proxy.
    """

    address: str
    entrance: str


def serve(settings: ServeSettings, *, announce: Callable[[Started], None]) -> None:
    """Serve until told to stop (SIGINT, SIGTERM).

    >>> from netloom.web.settings import ServeSettings
    >>> serve(ServeSettings(example=True), announce=print)  # doctest: +SKIP

    Args:
        settings: What was asked.
        announce: Told where it listens, once it does.

    Raises:
        SpecError: a file that was named cannot be used.
        OutputError: the port is taken, or nothing can be written.
    """
    with _ending_in_order(), _listening(settings) as listener, _workbench(settings) as workbench:
        port = listener.getsockname()[1]
        address = settings.address(port)
        announce(Started(address=address, entrance=_entrance(settings, workbench, address)))
        server = uvicorn.Server(
            uvicorn.Config(
                site_of(workbench, settings.rules(port)),
                http=TimedProtocol,
                ws="none",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=END_S,
                h11_max_incomplete_event_size=64 * 1024,
                limit_concurrency=512,
                proxy_headers=False,
                ssl_certfile=None if settings.certificate is None else str(settings.certificate),
                ssl_keyfile=None if settings.key is None else str(settings.key),
            )
        )
        server.run(sockets=[listener])


def _entrance(settings: ServeSettings, workbench: Workbench, address: str) -> str:
    if settings.user_header:
        return address
    token = workbench.sessions.issue_once(name="operator", role="operator")
    return f"{address}/login?token={token}"


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM unwind what was started; uvicorn raises it again once it has stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        sys.exit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _listening(settings: ServeSettings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.listen else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.listen, settings.port))
            listener.listen()  # who comes before the server is ready waits for it
        except OSError as error:
            raise OutputError(
                option="--port",
                what=f"{settings.listen}:{settings.port} cannot be used: {error.strerror}",
                remedy="choose another, or 0 for a free one",
            ) from None
        yield listener


@contextmanager
def _workbench(settings: ServeSettings) -> Iterator[Workbench]:
    clock, hub = WallClock(), EventHub()
    folder = settings.data or default_data_folder()
    with ExitStack() as ends:
        keep_s = parse_quantity(settings.keep, TIME, where="--keep")
        table = ends.enter_context(closing(JobTable(folder, now=clock.now_s, keep_s=keep_s)))
        pool = JobPool(
            table,
            num_workers=settings.num_workers,
            files=_visitors_files(settings),
            urgent=ACTS if settings.acts else (),
            urgent_files=_own_files(settings),
            on_change=lambda job: hub.tell("job", job.to_json()),
        )
        ends.callback(pool.close)
        quick = ends.enter_context(closing(QuickAnswers(_visitors_files(settings))))
        forecasts = ends.enter_context(closing(QuickAnswers(_own_files(settings))))
        plans = ends.enter_context(closing(QuickAnswers(_own_files(settings))))
        twin = _twin(settings, folder, clock.now_s)
        healing = None
        if twin is not None and not twin.is_recorded:
            ends.callback(LiveFeed(twin, hub.tell).close)
            healing = healing_of(settings, twin, plans, hub.tell)
        if healing is not None:
            ends.callback(healing.close)
        ends.enter_context(watching(settings, folder))
        yield Workbench(
            pool=pool,
            quick=quick,
            scenarios=ScenarioFolder(folder=settings.folder),
            hub=hub,
            sessions=Sessions(keys=_keys(settings), now=clock.now_s, file=folder / "sessions.json"),
            rates=RateLimits(),
            audit=WebAudit(folder / "audit.jsonl", now=clock.now_s),
            twin=twin,
            steps=None if twin is None else StepForecasts(twin, forecasts),
            healing=healing,
            alertmanager=settings.alertmanager,
        )


def _visitors_files(settings: ServeSettings) -> NamedFiles:
    return NamedFiles(folder=None if settings.folder is None else str(settings.folder.absolute()))


def _own_files(settings: ServeSettings) -> NamedFiles:
    if settings.scenario is None:
        return NamedFiles()
    return NamedFiles(folder=str(settings.scenario.absolute().parent), elsewhere=True)


def _keys(settings: ServeSettings) -> tuple[Key, ...]:
    if settings.token_file is None:
        return ()
    return keys_in(read_private(settings.token_file), file=str(settings.token_file))


def _twin(settings: ServeSettings, folder: Path, now: Callable[[], float]) -> LiveTwin | None:
    if settings.example:
        return tour_twin(folder)
    if settings.scenario is None:
        return None
    scenario = load(settings.scenario)
    return LiveTwin(
        name=scenario.name or settings.scenario.stem,
        text=settings.scenario.read_text(encoding="utf-8"),
        designed=design_of(scenario),
        store=store_of(settings),
        now=now,
        stale_s=stale_after_s(settings),
    )
