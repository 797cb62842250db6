"""Look at a network again and again, keep what is seen, and locate what breaks."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netloom.app.designs import design_of
from netloom.app.lab.drains import planned_drains
from netloom.app.lab.rates import lab_rates
from netloom.app.lab.store import default_folder
from netloom.app.watch.alerting import (
    AlertSender,
    AlertTargets,
    Guarded,
    RecordsKeeper,
    TicketSender,
)
from netloom.app.watch.devices.collector import DeviceCollector
from netloom.app.watch.leading import PATIENCE_S, LeadChange, LeaseKeeper
from netloom.app.watch.locating import Locator
from netloom.app.watch.loop import Watch
from netloom.app.watch.optics import OpticsOutlook
from netloom.app.watch.publish import Publisher
from netloom.app.watch.sources import WatchSources, open_sources
from netloom.app.watch.targets import cabling_of
from netloom.drivers.clock import StoppableClock, WallClock
from netloom.drivers.devices.credentials import read_secret
from netloom.drivers.devices.web import check_url
from netloom.drivers.metrics_server import ListenAccess, Server, parse_address
from netloom.drivers.remote_write import RemoteWriter
from netloom.drivers.services.postgres import PostgresTables
from netloom.errors import LabError, OutputError, SpecError
from netloom.ops.cases.keeping import check_fabric
from netloom.ops.cases.lease import CaseRecords
from netloom.ops.cases.tickets import TICKET_SCHEMA
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.observe.devices import DeviceAccess
from netloom.ops.observe.drains import declared_drains
from netloom.ops.observe.retention import RetentionLimits
from netloom.ops.observe.store import ObservationStore
from netloom.ops.observe.versions import VersionGroup, version_groups
from netloom.results.write import write_atomically
from netloom.spec.files import read_text
from netloom.spec.inventory.file import Credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.watch.devices.health import DeviceHealth
    from netloom.app.watch.sources import OpenSources
    from netloom.ops.locate.congested.report import Congestion
    from netloom.ops.observe.cases import Case
    from netloom.ops.observe.designed import Designed
    from netloom.ops.plant import Cable
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["WatchReport", "default_store", "remote_access", "watch", "write_monitoring_files"]

REMOTE_S: Final = 10.0  # for one request
MAX_DRAIN_BYTES: Final = 1 << 22
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
        leads: Whether it wrote cases; False where another watch does.
        versions: What software devices run, and which of them run another than most.
        congestion: Links that were congested at the last look.
        smallest_loss: Packets a second across the least probed link, and the smallest share of
            them whose loss is found within 60 s; None without probes.
    """

    store: str
    num_rounds: int
    failing: tuple[str, ...]
    cases: tuple[Case, ...]
    devices: tuple[DeviceHealth, ...] = ()
    leads: bool = True
    versions: tuple[VersionGroup, ...] = ()
    congestion: tuple[Congestion, ...] = ()
    smallest_loss: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/watch.md documents."""
        return {
            "store": self.store,
            "num_rounds": self.num_rounds,
            "failing": list(self.failing),
            "findings": [case.to_json() for case in self.cases],
            "devices": [one.to_json() for one in self.devices],
            "leads": self.leads,
            "versions": [one.to_json() for one in self.versions],
            "congestion": [one.to_json() for one in self.congestion],
            "smallest_loss_60s": None
            if self.smallest_loss is None
            else {"packets_per_link_s": self.smallest_loss[0], "share": self.smallest_loss[1]},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Where a watch puts what it sees, and what it asks for the time."""

    store: ObservationStore
    server: Server | None
    remote: RemoteWriter | None
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
    remote: DeviceAccess | None = None,
    cases: str = "",
    fabric: str = "",
    alerts: AlertTargets | None = None,
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
        remote: Send what /metrics would serve there too, by Prometheus remote write.
        cases: The URL of a PostgreSQL that keeps cases and audit, which several watches may share:
            one of them leads; default: the store.
        fabric: What the network is called in alerts and tickets; default: the store's name.
        alerts: Whom to tell of cases.
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
            remote=_remote(remote, log or _ignore, stack),
            clock=clock or WallClock(),
            log=log or _ignore,
            say=say or _ignore,
        )
        records, keeper = _records(ends, cases, fabric or path.stem, every_s, stack)
        locator, publisher = _follow(designed, opened, ends, chosen, stale_s)
        locator.records = records
        kept = limits or RetentionLimits()
        loop = Watch(
            store=ends.store,
            collectors=locator.collectors,
            clock=ends.clock,
            log=ends.log,
            publish=_tellers(publisher, locator, records, alerts or AlertTargets(), ends, kept),
            locate=locator,
            every_s=every_s,
            limits=kept,
            is_stopped=ends.clock.is_stopped,
            wake=None if keeper is None else LeadChange(keeper=keeper, hurry=locator.hurry),
        )
        done = loop.run(rounds=rounds)
        devices = [one for one in opened.collectors if isinstance(one, DeviceCollector)]
        return WatchReport(
            store=str(path),
            num_rounds=done,
            failing=loop.failing,
            cases=locator.cases,
            devices=tuple(one.health for one in devices),
            leads=records.leads(),
            versions=version_groups(found for one in devices for found in one.versions),
            congestion=locator.congestion,
            smallest_loss=locator.smallest_loss,
        )


def _records(
    ends: _Ends, cases: str, fabric: str, every_s: float, stack: ExitStack
) -> tuple[CaseRecords, LeaseKeeper | None]:
    """Return where cases are, and what holds the lease where several watches share them."""
    if not cases:
        return CaseRecords(tables=ends.store, fabric=fabric), None
    tables = stack.enter_context(PostgresTables(cases))
    check_fabric(tables, fabric)
    keeper = LeaseKeeper(PostgresTables(cases), ends.log, patience_s=max(PATIENCE_S, 12 * every_s))
    stack.callback(keeper.close)
    return keeper.records(tables, fabric), keeper


def _tellers(
    publisher: Publisher,
    locator: Locator,
    records: CaseRecords,
    targets: AlertTargets,
    ends: _Ends,
    kept: RetentionLimits,
) -> Callable[[float], None]:
    """Return what is done after each round: metrics, alerts, tickets, and what is old goes."""
    acts: list[Callable[[float], None]] = [publisher]
    if targets.alertmanager is not None:
        sender = AlertSender(
            access=targets.alertmanager,
            records=records,
            cases=lambda: locator.cases,
            clock=ends.clock,
            log=ends.log,
            alert_from=targets.alert_from,
        )
        acts.append(Guarded(name="alerts", act=sender, log=ends.log))
    if targets.tickets is not None:
        tickets = TicketSender(
            access=targets.tickets,
            secret=targets.tickets_secret,
            records=records,
            clock=ends.clock,
            log=ends.log,
        )
        acts.append(Guarded(name="tickets", act=tickets, log=ends.log))
    keeper = RecordsKeeper(
        records=records, clock=ends.clock, cases_s=kept.window_s, audit_s=targets.keep_audit_s
    )
    acts.append(Guarded(name="records", act=keeper, log=ends.log))

    def tell(now_s: float) -> None:
        for act in acts:
            act(now_s)

    return tell


def _follow(
    designed: Designed, opened: OpenSources, ends: _Ends, sources: WatchSources, stale_s: float
) -> tuple[Locator, Publisher]:
    """Return what locates and what publishes after each look."""
    rates = _rates(designed, is_lab=sources.lab is not None)
    collectors = [*opened.collectors, *cabling_of(opened.collectors, designed, rates)]
    if sources.lab is None:  # labs have no optics
        collectors.append(OpticsOutlook(store=ends.store))
    locator = Locator(
        store=ends.store,
        network=DesignedNetwork(fabric=designed.fabric, plant=designed.plant, rate_bps=rates),
        technology=designed.network.technology,
        collectors=collectors,
        clock=ends.clock,
        log=ends.log,
        say=ends.say,
        vital=opened.vital,
        planned=_planned(designed, sources),
    )
    publisher = Publisher(
        store=ends.store,
        designed=designed,
        collectors=collectors,
        server=ends.server,
        remote=ends.remote,
        stale_s=stale_s,
        cases=lambda: locator.cases,
        leads=lambda: locator.records is None or locator.records.leads(),
    )
    return locator, publisher


def _rates(designed: Designed, *, is_lab: bool) -> Callable[[Cable], float]:
    """Return what each cable should run at."""
    if is_lab:
        return lab_rates(designed.plant, is_infiniband=designed.is_infiniband)
    return lambda cable: cable.rate_bps


def _planned(designed: Designed, sources: WatchSources) -> Callable[[], frozenset[int]]:
    """Return what gives the cables that are drained on purpose: by a lab's log, and as declared.

    Raises:
        SpecError: the file of drains cannot be read, or names what is not there.
    """
    lab, path, plant = sources.lab, sources.drains, designed.plant

    def planned() -> frozenset[int]:
        logged = frozenset() if lab is None else planned_drains(lab, plant)
        if path is None:
            return logged
        text = read_text(path, max_bytes=MAX_DRAIN_BYTES, wanted="a list of drained parts")
        return logged | declared_drains(text, plant, name=str(path))

    if path is not None:
        planned()
    return planned


def _server(listen: str, access: ListenAccess | None, stack: ExitStack) -> Server | None:
    if not listen:
        return None
    server = Server(*parse_address(listen), access)
    stack.callback(server.close)
    return server


def _remote(
    access: DeviceAccess | None, log: Callable[..., None], stack: ExitStack
) -> RemoteWriter | None:
    if access is None:
        return None
    writer = RemoteWriter(access=access, labels={"job": "netloom"}, log=log)
    stack.callback(writer.close)
    return writer


def _ignore(*_: object, **__: object) -> None:
    """Do nothing."""


def remote_access(
    url: str, user: str = "", secret: Path | None = None, certificate: Path | None = None
) -> DeviceAccess | None:
    """Return where metrics go by remote write, and with which credentials; None for an empty URL.

    Raises:
        SpecError: the URL is none, would send the secret in the clear, or the secret's file can be
            read by others.
    """
    if not url:
        return None
    named = Credentials(user=user or None, file=str(secret.absolute()) if secret else None)
    access = DeviceAccess(
        name="remote write",
        address=url,
        user=user,
        secret=read_secret(named, folder=Path(), environ={}),
        certificate=certificate,
        deadline_s=REMOTE_S,
    )
    try:
        check_url(access)
    except LabError as error:
        raise SpecError(option="--remote-write", what=str(error)) from error
    return access


def default_store(name: str) -> Path:
    """Return where a watch called *name* keeps what it sees: under ``$XDG_STATE_HOME``."""
    return default_folder().parent / "watch" / f"{name}.db"


def write_monitoring_files(folder: Path) -> tuple[Path, ...]:
    """Write alert rules, routes, a Grafana board, a systemd unit and the schema of tickets.

    Returns:
        Their paths.

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
    schema = folder / "netloom-ticket.schema.json"
    write_atomically(schema, json.dumps(TICKET_SCHEMA, indent=2) + "\n")
    return (*(folder / one.name for one in shipped), schema)
