"""``netloom watch``: look at a network again and again, and keep what was seen."""

from __future__ import annotations

import contextlib
import platform
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from netloom.cli.operate.designed import designed_at, lab_at, naming_at

if TYPE_CHECKING:
    from netloom.app.watch.naming import Naming
    from netloom.drivers.clock import WallClock
    from netloom.ops.observe.designed import Designed
    from netloom.ops.observe.observation import Collector
    from netloom.ops.observe.retention import RetentionLimits

__all__ = ["watch"]

STALE_S: Final = 30.0  # a look at a large fabric takes seconds; twice that is still now
# Sources that say nothing of cables and devices: while one fails, findings may still be closed.
NOT_VITAL: Final = ("steps ", "nccl-", "flight-recorder ", "log ")

Files = Annotated[tuple[Path, ...], Parameter(negative=())]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """Where to look."""

    lab: str
    folder: Path | None
    naming: Naming
    sm_log: Path | None


def watch(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    lab: str = "",
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    every: str = "10s",
    once: bool = False,
    store: Path | None = None,
    listen: str = "",
    scrape: tuple[str, ...] = (),
    adapters: bool = False,
    steps: Files = (),
    nccl_log: Files = (),
    nccl_tests: Files = (),
    flight_recorder: Files = (),
    flows: Files = (),
    sm_log: Path | None = None,
    names: Path | None = None,
    ports: Path | None = None,
    keep: str = "2d",
    keep_windows: str = "60d",
    most: str = "8GiB",
    files: Path | None = None,
    own: Path | None = None,
) -> int:
    """Look at a network every few seconds and keep what is seen, until told to stop.

    Looks at a lab, or at the InfiniBand network of this machine, and at all else it is told of.
    Each look is on disk before the next begins; after a crash it goes on where it was. It logs a
    JSON object a line to standard error. With --once the exit status is 1 when a source could not
    be seen whole.

    Args:
        scenario: A scenario file: what the network should be.
        lab: Of the lab to look at.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        every: From the start of one look to that of the next.
        once: Look once and stop.
        store: The file to keep it in; $XDG_STATE_HOME/netloom/watch/NAME.db without.
        listen: Serve /metrics and /health there, such as 127.0.0.1:9787.
        scrape: Prometheus targets to look at too, such as http://node1:9100/metrics.
        adapters: Look at this machine's RDMA adapters too.
        steps: Files of step times that jobs write, JSON lines or CSV: step, step_s, rank, time_s.
        nccl_log: Files that NCCL logs to.
        nccl_tests: What nccl-tests printed, or wrote with -J.
        flight_recorder: Folders with the dumps of PyTorch's flight recorders, one file a rank.
        flows: Files of flows and probes, each put in place anew for every window, in the format
            of locate --observations.
        sm_log: The log of OpenSM, where it runs on this machine.
        names: A CSV file with the columns name and device: what real devices are called here.
        ports: A CSV file with the columns device, label and port: our numbers of real ports.
        keep: How long single values are kept.
        keep_windows: How long windows of five minutes, events and polls are kept.
        most: How large the store may become.
        files: Write alert rules, a Grafana board and a systemd unit into this folder, and stop.
        own: A TOML file with parts of your own.
    """
    if files is not None:
        _write_files(files)
        return 0
    if scenario is None:
        from netloom.errors import SpecError  # noqa: PLC0415

        message = "no scenario; name the file that says what the network should be"
        raise SpecError(message)
    designed = designed_at(scenario, own)
    where = _Where(lab=lab, folder=folder, naming=naming_at(names, ports), sm_log=sm_log)
    limits = _limits(keep, keep_windows, most)
    how = _How(lab, _seconds(every, "--every"), listen, limits, once=once)
    with contextlib.ExitStack() as stack:
        collectors = [
            *_network(designed, where, stack, optional=bool(scrape) or adapters),
            *(_adapters(where) if adapters else ()),
            *_jobs(steps, nccl_log, nccl_tests, flight_recorder),
            *_targets(scrape, where),
            *_flows(flows, how),
        ]
        path = store or _default_store(lab or scenario.stem)
        return _run(designed, collectors, path, stack, how)


@dataclass(frozen=True, slots=True)
class _How:
    """How to look."""

    lab: str
    every_s: float
    listen: str
    limits: RetentionLimits
    once: bool

    @property
    def stale_s(self) -> float:
        """For how long a source that was seen speaks of now."""
        return max(STALE_S, 3 * self.every_s)


def _run(
    designed: Designed,
    collectors: list[Collector],
    path: Path,
    stack: contextlib.ExitStack,
    how: _How,
) -> int:
    from netloom.app.watch.locating import Locator  # noqa: PLC0415
    from netloom.app.watch.log import json_log  # noqa: PLC0415
    from netloom.app.watch.loop import Watch  # noqa: PLC0415
    from netloom.app.watch.publish import Publisher  # noqa: PLC0415
    from netloom.app.watch.targets import cabling_of, lab_rates  # noqa: PLC0415
    from netloom.drivers.clock import WallClock  # noqa: PLC0415
    from netloom.drivers.metrics_server import Server, parse_address  # noqa: PLC0415
    from netloom.ops.locate.network import DesignedNetwork  # noqa: PLC0415
    from netloom.ops.observe.store import ObservationStore  # noqa: PLC0415

    kept = stack.enter_context(ObservationStore(path))
    server = Server(*parse_address(how.listen)) if how.listen else None
    if server is not None:
        stack.callback(server.close)
    clock = WallClock()
    _stop_on_signals(clock, stack)
    log = json_log(sys.stderr, clock.now_s)
    rates = lab_rates(designed) if how.lab else lambda cable: cable.rate_bps
    vital = frozenset(one.source for one in collectors if not one.source.startswith(NOT_VITAL))
    collectors = [*collectors, *cabling_of(collectors, designed, rates)]
    locator = Locator(
        store=kept,
        network=DesignedNetwork(fabric=designed.fabric, plant=designed.plant, rate_bps=rates),
        technology=designed.network.technology,
        collectors=collectors,
        clock=clock,
        log=log,
        say=_say,
        vital=vital,
    )
    publisher = Publisher(
        store=kept,
        designed=designed,
        collectors=collectors,
        server=server,
        stale_s=how.stale_s,
        cases=lambda: locator.cases,
    )
    watch = Watch(
        store=kept,
        collectors=collectors,
        clock=clock,
        log=log,
        publish=publisher,
        locate=locator,
        every_s=how.every_s,
        limits=how.limits,
        is_stopped=clock.is_stopped,
    )
    watch.run(rounds=1 if how.once else None)
    return int(how.once and bool(watch.failing))


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it; the watch goes on
        print(line, flush=True)


def _stop_on_signals(clock: WallClock, stack: contextlib.ExitStack) -> None:
    """Let SIGTERM and SIGINT end the watch after the look that is under way."""
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.signal(number, lambda *_: clock.stop())
        stack.callback(signal.signal, number, before)


def _network(
    designed: Designed, where: _Where, stack: contextlib.ExitStack, *, optional: bool
) -> list[Collector]:
    from netloom.app.watch import targets  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415

    if where.lab:
        return targets.collectors_in_lab(lab_at(where.lab, where.folder), designed)
    if designed.is_infiniband:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="netloom-")))
        return targets.collectors_here(designed, where.naming, scratch, where.sm_log)
    if not optional:
        message = (
            "an Ethernet network cannot be seen from one machine; "
            "give --lab, --scrape or --adapters"
        )
        raise SpecError(message)
    return []


def _jobs(steps: Files, nccl_log: Files, nccl_tests: Files, flights: Files) -> list[Collector]:
    from netloom.app.watch import jobs  # noqa: PLC0415

    return [
        *(jobs.StepTimeCollector(path=path) for path in steps),
        *(jobs.NcclLogFile(path=path) for path in nccl_log),
        *(jobs.NcclTestsFile(path=path) for path in nccl_tests),
        *(jobs.FlightRecorders(folder=path) for path in flights),
    ]


def _flows(paths: Files, how: _How) -> list[Collector]:
    from netloom.app.watch.probing import FlowFileCollector  # noqa: PLC0415

    return [FlowFileCollector(path=path, fresh_s=how.stale_s) for path in paths]


def _adapters(where: _Where) -> list[Collector]:
    from netloom.app.watch.hosts import Adapters  # noqa: PLC0415

    return [Adapters(root=Path("/sys"), host=platform.node(), names=where.naming.devices)]


def _targets(urls: tuple[str, ...], where: _Where) -> list[Collector]:
    from netloom.app.watch.scraped import Scraped  # noqa: PLC0415
    from netloom.drivers.prometheus import check_url  # noqa: PLC0415

    return [Scraped(url=check_url(url), names=where.naming.devices) for url in urls]


def _limits(keep: str, keep_windows: str, most: str) -> RetentionLimits:
    from netloom.ops.observe.retention import RetentionLimits  # noqa: PLC0415
    from netloom.units import SIZE, parse_quantity  # noqa: PLC0415

    return RetentionLimits(
        single_s=_seconds(keep, "--keep"),
        window_s=_seconds(keep_windows, "--keep-windows"),
        most_bytes=int(parse_quantity(most, SIZE, where="--most")),
    )


def _seconds(text: str, where: str) -> float:
    from netloom.errors import SpecError  # noqa: PLC0415
    from netloom.units import TIME, parse_quantity  # noqa: PLC0415

    found_s = parse_quantity(text, TIME, where=where)
    if not 0.1 <= found_s <= 1e9:
        message = f"{where}: {text!r} is not between 0.1 s and 30 years; write such as '10s'"
        raise SpecError(message)
    return found_s


def _default_store(name: str) -> Path:
    from netloom.app.lab.store import default_folder  # noqa: PLC0415

    return default_folder().parent / "watch" / f"{name}.db"


def _write_files(folder: Path) -> None:
    from importlib.resources import files  # noqa: PLC0415

    from netloom.cli.output import write_atomically  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    for one in sorted(files("netloom.app.watch").joinpath("files").iterdir(), key=str):
        write_atomically(folder / one.name, one.read_bytes())
        print(folder / one.name)
