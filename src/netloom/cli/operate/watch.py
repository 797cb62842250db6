"""``netloom watch``: look at a network again and again, and keep what was seen."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from netloom.app import audit, records
from netloom.app import lab as labs
from netloom.app import watch as app
from netloom.app.watch.log import json_log
from netloom.cli.operate.designed import designed_at
from netloom.cli.output import emit_json
from netloom.drivers.clock import WallClock
from netloom.drivers.metrics_server import ListenAccess, read_token
from netloom.errors import SpecError
from netloom.ops.observe.retention import RetentionLimits
from netloom.units import SIZE, TIME, parse_quantity

__all__ = ["watch"]

Files = Annotated[tuple[Path, ...], Parameter(negative=())]


def watch(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    lab: str = "",
    inventory: Path | None = None,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    every: str = "10s",
    once: bool = False,
    store: str = "",
    cases: str = "",
    fabric: str = "",
    alertmanager: str = "",
    alertmanager_token: str = "",
    alertmanager_certificate: Path | None = None,
    alert_from: float = 0.8,
    tickets: str = "",
    tickets_secret: str = "",
    tickets_certificate: Path | None = None,
    listen: str = "",
    listen_certificate: Path | None = None,
    listen_key: Path | None = None,
    listen_token: Path | None = None,
    listen_openly: Annotated[bool, Parameter(negative=())] = False,
    remote_write: str = "",
    remote_write_user: str = "",
    remote_write_secret: Path | None = None,
    remote_write_certificate: Path | None = None,
    scrape: tuple[str, ...] = (),
    adapters: bool = False,
    steps: Files = (),
    nccl_log: Files = (),
    nccl_tests: Files = (),
    flight_recorder: Files = (),
    flows: Files = (),
    sm_log: Path | None = None,
    collect: tuple[str, ...] = (),
    names: Path | None = None,
    ports: Path | None = None,
    drains: Path | None = None,
    keep: str = "2d",
    keep_windows: str = "60d",
    keep_audit: str = "400d",
    max_size: str = "8GiB",
    files: Path | None = None,
    catalog: Path | None = None,
    json: bool = False,
) -> int:
    """Look at a network every few seconds and keep what is seen, until told to stop.

    Looks at a lab, at the devices of an inventory, or at the InfiniBand network of this machine,
    and at all else it is told of.
    Each look is on disk before the next begins; after a crash it goes on where it was. It logs a
    JSON object a line to standard error. With --once the exit status is 1 when a source could not
    be seen whole.

    Args:
        scenario: A scenario file: what the network should be.
        lab: Name of the lab to look at.
        inventory: A file with the devices to ask: kind, address and credentials of each
            (docs/operate/collectors.md).
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        every: From the start of one look to that of the next.
        once: Look once and stop.
        store: The file to keep it in (default: $XDG_STATE_HOME/netloom/watch/NAME.db); or the URL
            of a PostgreSQL, as --cases.
        cases: postgresql://USER@HOST/DATABASE that keeps cases and audit instead of the file, and
            that a second watch may share: one leads (docs/operate/alerts.md).
        fabric: What the network is called in alerts and tickets (default: the scenario's name).
        alertmanager: Post cases there as alerts, such as http://127.0.0.1:9093.
        alertmanager_token: Its token: a file of mode 600, or env:NAME.
        alertmanager_certificate: PEM file of the authority that it is certified by.
        alert_from: How sure a case must be to alert, 0 to 1.
        tickets: Post what happens to cases to this webhook, as docs/operate/alerts.md has it.
        tickets_secret: What that is signed with: a file of mode 600, or env:NAME.
        tickets_certificate: PEM file of the authority that it is certified by.
        listen: Serve /metrics and /health there, such as 127.0.0.1:9787.
        listen_certificate: Serve them by TLS with this certificate, a PEM file.
        listen_key: Its private key, a PEM file.
        listen_token: A file of mode 600 with the token that clients must send.
        listen_openly: Let other machines read without TLS and token.
        remote_write: Send what /metrics serves to this URL by Prometheus remote write, such as
            https://tsdb/api/v1/write.
        remote_write_user: The account there; without one the secret is sent as a token.
        remote_write_secret: A file of mode 600 with its password or token.
        remote_write_certificate: PEM file of the authority that it is certified by.
        scrape: Prometheus targets to look at too, such as http://node1:9100/metrics.
        adapters: Look at this machine's RDMA adapters too.
        steps: Files of step times that jobs write, JSON lines or CSV: step, step_s, rank, time_s.
        nccl_log: Files that NCCL logs to.
        nccl_tests: What nccl-tests printed, or wrote with -J.
        flight_recorder: Folders with the dumps of PyTorch's flight recorders, one file a rank.
        flows: Files of flows and probes, each replaced for every window, in the format of locate
            --observations.
        sm_log: The log of OpenSM, where it runs on this machine.
        collect: Any collector by its name, also one of another package, and what it looks at:
            NAME=TARGET.
        names: A CSV file with the columns name and device: what real devices are called here.
        ports: A CSV file with the columns device, label and port: our numbers of real ports.
        drains: A file with parts that are out of use on purpose (spine:3, cable:40), one a line,
            read again at each look: no findings.
        keep: How long single values are kept.
        keep_windows: How long windows of five minutes, events and polls are kept.
        keep_audit: How long lines of the audit are kept.
        max_size: How large the store may become.
        files: Write alert rules, routes for Alertmanager, a Grafana board, a systemd unit and the
            schema of tickets into this folder, and stop.
        catalog: A TOML file with parts of your own.
        json: Print JSON when it stops, instead of a line for each finding; keys are documented in
            docs/operate/watch.md.
    """
    if files is not None:
        written = [str(path) for path in app.write_monitoring_files(files)]
        emit_json({"files": written}) if json else print("\n".join(written))
        return 0
    if scenario is None:
        raise SpecError(
            what="no scenario", remedy="name the file that says what the network should be"
        )
    designed = designed_at(scenario, catalog)
    sources = app.WatchSources(
        lab=labs.lab_folder(lab, folder) if lab else None,
        scrape=scrape,
        adapters=adapters,
        steps=steps,
        nccl_log=nccl_log,
        nccl_tests=nccl_tests,
        flight_recorder=flight_recorder,
        flows=flows,
        sm_log=sm_log,
        collect=collect,
        inventory=inventory,
        naming=audit.naming_from(names, ports),
        drains=drains,
    )
    file, database = ("", store) if records.is_postgres(store) else (store, cases)
    targets = app.AlertTargets(
        alertmanager=records.service_at(
            "Alertmanager", alertmanager, alertmanager_token, alertmanager_certificate
        ),
        tickets=records.service_at("tickets", tickets, certificate=tickets_certificate),
        tickets_secret=records.secret_at(tickets_secret, option="--tickets-secret"),
        alert_from=_share(alert_from),
        keep_audit_s=_seconds(keep_audit, "--keep-audit"),
    )
    every_s, limits = _seconds(every, "--every"), _limits(keep, keep_windows, max_size)
    with _stopping_on_signals(WallClock()) as clock:
        report = app.watch(
            designed,
            sources=sources,
            store=Path(file) if file else app.default_store(lab or scenario.stem),
            cases=database,
            fabric=fabric or lab or scenario.stem,
            alerts=targets,
            every_s=every_s,
            rounds=1 if once else None,
            limits=limits,
            listen=listen,
            access=ListenAccess(
                certificate=listen_certificate,
                key=listen_key,
                token=read_token(listen_token) if listen_token else "",
                is_open=listen_openly,
            ),
            remote=app.remote_access(
                remote_write, remote_write_user, remote_write_secret, remote_write_certificate
            ),
            clock=clock,
            log=json_log(sys.stderr, clock.now_s),
            say=_silent if json else _say,
        )
    if json:
        emit_json(report.to_json())
    return int(once and bool(report.failing))


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the reader is gone; the watch goes on
        print(line, flush=True)


def _silent(_: str) -> None:
    """Say nothing: the report has it."""


@contextlib.contextmanager
def _stopping_on_signals(clock: WallClock) -> Iterator[WallClock]:
    """Let SIGTERM and SIGINT end the watch after the look that is under way."""
    with contextlib.ExitStack() as stack:
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.signal(number, lambda *_: clock.stop())
            stack.callback(signal.signal, number, before)
        yield clock


def _limits(keep: str, keep_windows: str, max_size: str) -> RetentionLimits:
    return RetentionLimits(
        single_s=_seconds(keep, "--keep"),
        window_s=_seconds(keep_windows, "--keep-windows"),
        most_bytes=int(parse_quantity(max_size, SIZE, where="--max-size")),
    )


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise SpecError(option="--alert-from", what=f"{value:g} is no share", remedy="use 0 to 1")
    return value


def _seconds(text: str, where: str) -> float:
    found_s = parse_quantity(text, TIME, where=where)
    if not 0.1 <= found_s <= 1e9:
        raise SpecError(
            what=f"{where}: {text!r} is not between 0.1 s and 30 years",
            remedy="write such as '10s'",
        )
    return found_s
