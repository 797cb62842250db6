"""``netloom deploy``: a scenario's configuration, written, checked, planned and applied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from netloom.app import deploy as app
from netloom.cli.operate.designed import inputs_at
from netloom.cli.output import emit_json
from netloom.cli.progress import progress
from netloom.report.ops.deploy import (
    applied_text,
    checked_text,
    planned_text,
    read_text,
    rendered_text,
)

if TYPE_CHECKING:
    from netloom.app.deploy import Deployment

__all__ = ["deploy"]

deploy = App(
    name="deploy",
    help="Write the configuration of a scenario's network, check it, and bring it to devices.",
    default_parameter=Parameter(negative=()),
)

Folder = Annotated[Path | None, Parameter(name="--dir")]


@contextmanager
def _wanted(
    scenario: Path, catalog: Path | None, guids: Path | None = None, settings: str = ""
) -> Iterator[Deployment]:
    with inputs_at(scenario, catalog) as (read, parts):
        if settings:
            read = read.with_settings(settings)  # noqa: PLW2901
        yield app.deployment_of(read, parts, guids=guids)


@deploy.command
def render(
    scenario: Path,
    *,
    out: Path,
    guids: Path | None = None,
    settings: str = "",
    catalog: Path | None = None,
    json: bool = False,
) -> None:
    """Write all files of a deployment.

    Args:
        scenario: A scenario file; its cluster and tenants matter.
        out: The folder to write to; files that an earlier render left there and that are no
            longer wanted are removed.
        guids: What 'ibnetdiscover -p' printed on the real fabric (default: GUIDs of a lab).
        settings: Published marks by name, such as azure-region; default: the scenario's.
        catalog: A TOML file with parts of your own.
        json: Print JSON.
    """
    with _wanted(scenario, catalog, guids, settings) as wanted:
        done = app.render(wanted, out=out)
    if json:
        emit_json(done.to_json())
        return
    num_files = len(done.files)
    print(
        rendered_text(done.folder, num_files=num_files, skipped=done.skipped, removed=done.removed)
    )
    for note in done.notes:
        print(f"note: {note}")


@deploy.command
def check(
    scenario: Path,
    *,
    files: Path | None = None,
    guids: Path | None = None,
    sonic_yang: Path | None = None,
    catalog: Path | None = None,
    json: bool = False,
) -> int:
    """Try the files with vtysh, OpenSM on ibsim and yanglint, and hold them to rules.

    Given a folder of switch configurations, or one of them, it holds those to the rules that need
    no scenario: SONiC's config_db.json, NVUE's commands or startup.yaml, EOS's running-config,
    frr.conf. Exit status 1 means that there are errors.

    Args:
        scenario: A scenario file; or a folder of switch configurations, or one file.
        files: A folder that 'deploy render' wrote, perhaps changed since (default: what it would
            write now).
        guids: What 'ibnetdiscover -p' printed, when the files were rendered with it.
        sonic_yang: A folder of SONiC's YANG models.
        catalog: A TOML file with parts of your own.
        json: Print JSON.
    """
    if app.is_configurations(scenario):
        found = app.lint(scenario)
    else:
        with _wanted(scenario, catalog, guids) as wanted, progress("checking", None):
            found = app.check(wanted, files=files, sonic_yang=sonic_yang)
    if json:
        emit_json(found.to_json())
    else:
        print(checked_text(found.findings))
        for line in read_text(found.devices):
            print(line)
    return int(found.num_errors > 0)


@deploy.command
def plan(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    lab: str = "",
    running: Path | None = None,
    folder: Folder = None,
    guids: Path | None = None,
    catalog: Path | None = None,
    json: bool = False,
) -> int:
    """Show how what runs differs from what the scenario asks for.

    Args:
        scenario: A scenario file.
        lab: The lab to look at.
        running: A folder of files in the layout of 'deploy render', fetched from devices.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        guids: What 'ibnetdiscover -p' printed on the real fabric.
        catalog: A TOML file with parts of your own.
        json: Print JSON.
    """
    with _wanted(scenario, catalog, guids) as wanted:
        found = app.plan(wanted, lab=lab, running=running, folder=folder)
    emit_json(found.to_json()) if json else print(planned_text(found.changes))
    return int(found.has_failed)


@deploy.command
def apply(
    scenario: Path,
    *,
    lab: str,
    folder: Folder = None,
    catalog: Path | None = None,
    json: bool = False,
) -> int:
    """Bring a lab to what the scenario asks for: device by device, verified, undone on failure.

    Nothing is touched when the files break a rule of 'deploy check'. Exit status 1 means that not
    every device runs what is wanted, or that tenants are not apart.

    Args:
        scenario: A scenario file.
        lab: The lab to change.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        catalog: A TOML file with parts of your own.
        json: Print JSON.
    """
    with _wanted(scenario, catalog) as wanted, progress("applying", None):
        done = app.apply(wanted, lab=lab, folder=folder)
    if json:
        emit_json(done.to_json())
    else:
        print(applied_text(done.devices))
        if done.findings:
            print(checked_text(done.findings))
    return int(not done.is_good)


@deploy.command
def ztp(
    scenario: Path,
    *,
    macs: Path,
    out: Path,
    catalog: Path | None = None,
    json: bool = False,
) -> None:
    """Write what switches that boot for the first time are given: Kea's file, an HTTP folder.

    Args:
        scenario: A scenario file; its 'site' says where the folder is served.
        macs: A CSV file: the name of each switch and the MAC address of its management port.
        out: The folder to write to: kea/ for the DHCP server, http/ for the web server.
        catalog: A TOML file with parts of your own.
        json: Print JSON.
    """
    with _wanted(scenario, catalog) as wanted:
        done = app.ztp(wanted, macs, out=out)
    if json:
        emit_json(done.to_json())
        return
    print(rendered_text(done.folder, num_files=len(done.files), skipped={}, removed=done.removed))
    if done.unreserved:
        print(
            f"note: {len(done.unreserved)} switches have no MAC address: {done.unreserved[0]} ..."
        )
    if done.variables:
        print(f"note: secrets to put in before serving: {', '.join(done.variables)} (envsubst)")
