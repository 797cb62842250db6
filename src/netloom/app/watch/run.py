"""Look at a network again and again, keep what is seen, and locate what breaks."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from netloom.app.designs import design_of
from netloom.app.lab.drains import planned_drains
from netloom.app.lab.store import default_folder
from netloom.app.watch.devices.collector import DeviceCollector
from netloom.app.watch.locating import Locator
from netloom.app.watch.loop import Watch
from netloom.app.watch.publish import Publisher
from netloom.app.watch.sources import WatchSources, open_sources
from netloom.app.watch.targets import cabling_of, lab_rates
from netloom.drivers.clock import StoppableClock, WallClock
from netloom.drivers.metrics_server import ListenAccess, Server, parse_address
from netloom.errors import OutputError
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.observe.retention import RetentionLimits
from netloom.ops.observe.store import ObservationStore
from netloom.results.write import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from netloom.app.lab.store import LabFolder
    from netloom.app.watch.devices.health import DeviceHealth
    from netloom.app.watch.sources import OpenSources
    from netloom.ops.observe.cases import Case
    from netloom.ops.observe.designed import Designed
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["WatchReport", "default_store", "watch", "write_monitoring_files"]

STALE_S: Final = 30.0  # a look at a large fabric takes seconds; twice that is still now


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchReport:
    """A watch that has ended.

    Attributes:
        store: The file with what was seen.
        num_rounds: How often everything was looked at.
        failing: Sources whose last look failed.
        cases: Findings that are open, the surest first.
        devices: How well each device of the inventory answers.
    """

    store: str
    num_rounds: int
    failing: tuple[str, ...]
    cases: tuple[Case, ...]
    devices: tuple[DeviceHealth, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/watch.md documents."""
        return {
            "store": self.store,
            "num_rounds": self.num_rounds,
            "failing": list(self.failing),
            "findings": [case.to_json() for case in self.cases],
            "devices": [one.to_json() for one in self.devices],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Where a watch puts what it sees, and what it asks for the time."""

    store: ObservationStore
    server: Server | None
    clock: StoppableClock
    log: Callable[..., None]
    say: Callable[[str], None]


def watch(  # noqa: PLR0913  (what to look at, how often, and where it goes)
    scenario: Scenario | Designed,
    *,
    sources: WatchSources | None = None,
    store: Path | None = None,
    every_s: float = 10.0,
    rounds: int | None = None,
    limits: RetentionLimits | None = None,
    listen: str = "",
    access: ListenAccess | None = None,
    catalog: Catalog | None = None,
    clock: StoppableClock | None = None,
    log: Callable[..., None] | None = None,
    say: Callable[[str], None] | None = None,
) -> WatchReport:
    """Look at a network every few seconds and keep what is seen, until told to stop.

    Each look is on disk before the next begins; after a crash it goes on where it was.

    >>> import netloom as nl
    >>> sources = WatchSources(scrape=("http://node1:9100/metrics",))
    >>> report = watch(nl.load("cluster.yaml"), sources=sources, rounds=1)  # doctest: +SKIP
    >>> report.cases  # doctest: +SKIP

    Args:
        scenario: What the network should be.
        sources: What to look at; default: the InfiniBand network of this machine.
        store: The file to keep it in; default: :func:`default_store`.
        every_s: From the start of one look to that of the next.
        rounds: Stop after this number of looks; default: when the clock is stopped.
        limits: How much of the past is kept.
        listen: Serve /metrics and /health there, such as ``127.0.0.1:9787``.
        access: Who may read that; other machines only with TLS and a token, or when it says so.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        clock: The time, and when to stop; default: this machine's.
        log: Told what happens: the event's name and its fields.
        say: Given a line for people when a finding begins or ends.

    Raises:
        SpecError: nothing says how to see the network, or a target is wrong.
        OutputError: the store cannot be used; nothing acknowledged is lost.
    """
    designed = design_of(scenario, catalog)
    chosen = sources or WatchSources()
    path = store or default_store(chosen.lab.name if chosen.lab else "watch")
    stale_s = max(STALE_S, 3 * every_s)
    with ExitStack() as stack:
        opened = stack.enter_context(open_sources(designed, chosen, fresh_s=stale_s))
        ends = _Ends(
            store=stack.enter_context(ObservationStore(path)),
            server=_server(listen, access, stack),
            clock=clock or WallClock(),
            log=log or _ignore,
            say=say or _ignore,
        )
        locator, publisher = _follow(designed, opened, ends, chosen, stale_s)
        loop = Watch(
            store=ends.store,
            collectors=locator.collectors,
            clock=ends.clock,
            log=ends.log,
            publish=publisher,
            locate=locator,
            every_s=every_s,
            limits=limits or RetentionLimits(),
            is_stopped=ends.clock.is_stopped,
        )
        done = loop.run(rounds=rounds)
        return WatchReport(
            store=str(path),
            num_rounds=done,
            failing=loop.failing,
            cases=locator.cases,
            devices=tuple(
                one.health for one in opened.collectors if isinstance(one, DeviceCollector)
            ),
        )


def _follow(
    designed: Designed, opened: OpenSources, ends: _Ends, sources: WatchSources, stale_s: float
) -> tuple[Locator, Publisher]:
    """Return what locates and what publishes after each look."""
    rates = lab_rates(designed) if sources.lab else lambda cable: cable.rate_bps
    collectors = [*opened.collectors, *cabling_of(opened.collectors, designed, rates)]
    locator = Locator(
        store=ends.store,
        network=DesignedNetwork(fabric=designed.fabric, plant=designed.plant, rate_bps=rates),
        technology=designed.network.technology,
        collectors=collectors,
        clock=ends.clock,
        log=ends.log,
        say=ends.say,
        vital=opened.vital,
        planned=_planned(designed, sources.lab),
    )
    publisher = Publisher(
        store=ends.store,
        designed=designed,
        collectors=collectors,
        server=ends.server,
        stale_s=stale_s,
        cases=lambda: locator.cases,
    )
    return locator, publisher


def _planned(designed: Designed, lab: LabFolder | None) -> Callable[[], frozenset[int]]:
    """Return what gives the cables that are drained on purpose: in a lab, those of its log."""
    return frozenset if lab is None else partial(planned_drains, lab, designed.plant)


def _server(listen: str, access: ListenAccess | None, stack: ExitStack) -> Server | None:
    if not listen:
        return None
    server = Server(*parse_address(listen), access)
    stack.callback(server.close)
    return server


def _ignore(*_: object, **__: object) -> None:
    """Do nothing."""


def default_store(name: str) -> Path:
    """Return where a watch called *name* keeps what it sees: under ``$XDG_STATE_HOME``."""
    return default_folder().parent / "watch" / f"{name}.db"


def write_monitoring_files(folder: Path) -> tuple[Path, ...]:
    """Write alert rules, a Grafana board and a systemd unit, and return their paths.

    Raises:
        OutputError: one cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be made a folder ({error.strerror})"
        raise OutputError(file=str(folder), what=what, remedy="name another") from error
    shipped = sorted(files("netloom.app.watch").joinpath("files").iterdir(), key=str)
    for one in shipped:
        write_atomically(folder / one.name, one.read_bytes())
    return tuple(folder / one.name for one in shipped)
