"""``netloom deploy``: a scenario's configuration, written, checked, planned and applied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.deploy.check import Checks
    from netloom.app.lab.store import LabFolder
    from netloom.ops.deploy.intent import Intent

    Guid = Callable[[int], int]

__all__ = ["deploy"]

deploy = App(
    name="deploy",
    help="Write the configuration of a scenario's network, check it, and bring it to devices.",
    default_parameter=Parameter(negative=()),
)

Folder = Annotated[Path | None, Parameter(name="--dir")]


class _Order(NamedTuple):
    """What a command works on: the intent, and the GUIDs where they are known."""

    intent: Intent
    guid: Guid | None


@deploy.command
def render(
    scenario: Path,
    *,
    out: Path,
    guids: Path | None = None,
    own: Path | None = None,
    json: bool = False,
) -> None:
    """Write all files of a deployment.

    Args:
        scenario: A scenario file; its cluster and tenants matter.
        out: The folder to write to; files that an earlier render left there and that are no
            longer wanted are removed.
        guids: What 'ibnetdiscover -p' printed on the real fabric; InfiniBand files have the GUIDs
            of a lab without.
        own: A TOML file with parts of your own.
        json: Print JSON.
    """
    # Imported here: the help of the command needs none of it.
    from json import loads  # noqa: PLC0415

    from netloom.app.deploy.files import MANIFEST, SKIPPED, deployment_files  # noqa: PLC0415
    from netloom.app.deploy.folder import write_folder  # noqa: PLC0415
    from netloom.cli.output import emit_json, write_atomically  # noqa: PLC0415
    from netloom.report.ops.deploy import rendered_text  # noqa: PLC0415

    with _order(scenario, own, guids) as order:
        files = deployment_files(order.intent, guid=order.guid)
    removed = write_folder(out, files, write_atomically)
    skipped = loads(files[MANIFEST])[SKIPPED]
    if json:
        emit_json(
            {"folder": str(out), "files": sorted(files), SKIPPED: skipped, "removed": removed}
        )
    else:
        print(rendered_text(str(out), num_files=len(files), skipped=skipped, removed=removed))


@deploy.command
def check(
    scenario: Path,
    *,
    files: Path | None = None,
    guids: Path | None = None,
    sonic_yang: Path | None = None,
    own: Path | None = None,
    json: bool = False,
) -> int:
    """Try the files with vtysh, OpenSM on ibsim and yanglint, and hold them to rules.

    Exit status 1 means that there are errors.

    Args:
        scenario: A scenario file.
        files: A folder that 'deploy render' wrote, perhaps changed since; what would be rendered
            without.
        guids: What 'ibnetdiscover -p' printed, when the files were rendered with it.
        sonic_yang: A folder of SONiC's YANG models.
        own: A TOML file with parts of your own.
        json: Print JSON.
    """
    from netloom.app.deploy.check import Checks  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415

    with _order(scenario, own, guids) as order, progress("checking", None):
        checks = Checks(guid=order.guid, sonic_models=sonic_yang)
        return _judge(order, checks, files, is_json=json)


def _judge(order: _Order, checks: Checks, files: Path | None, *, is_json: bool) -> int:
    from netloom.app.deploy.check import check_deployment  # noqa: PLC0415
    from netloom.app.deploy.folder import read_folder  # noqa: PLC0415
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.report.ops.deploy import checked_text  # noqa: PLC0415

    texts = _texts(order) if files is None else read_folder(files)
    findings = check_deployment(order.intent, texts, checks)
    num_errors = sum(one.severity == "error" for one in findings)
    if is_json:
        emit_json({"num_errors": num_errors, "findings": findings})
    else:
        print(checked_text(findings))
    return int(num_errors > 0)


@deploy.command
def plan(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    lab: str = "",
    running: Path | None = None,
    folder: Folder = None,
    guids: Path | None = None,
    own: Path | None = None,
    json: bool = False,
) -> int:
    """Show how what runs differs from what the scenario asks for.

    Args:
        scenario: A scenario file.
        lab: The lab to look at.
        running: A folder of files in the layout of 'deploy render', fetched from devices.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        guids: What 'ibnetdiscover -p' printed on the real fabric.
        own: A TOML file with parts of your own.
        json: Print JSON.
    """
    from netloom.app.deploy.folder import read_folder  # noqa: PLC0415
    from netloom.app.deploy.lab_targets import targets_of  # noqa: PLC0415
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415
    from netloom.ops.deploy.changes import file_changes, of_kinds, plan_all  # noqa: PLC0415
    from netloom.report.ops.deploy import planned_text  # noqa: PLC0415

    if bool(lab) == (running is not None):
        message = "give what runs: either --lab NAME or --running FOLDER"
        raise SpecError(message)
    with _order(scenario, own, guids) as order:
        if running is not None:
            there = read_folder(running)
            changes = file_changes(there, of_kinds(there, _texts(order)))
        else:
            place = _place(lab, folder)
            with place.locked():
                changes = plan_all(targets_of(place, order.intent))
    if json:
        emit_json({"changes": changes})
    else:
        print(planned_text(changes))
    return int(any(one.error for one in changes))


@deploy.command
def apply(
    scenario: Path,
    *,
    lab: str,
    folder: Folder = None,
    own: Path | None = None,
    json: bool = False,
) -> int:
    """Bring a lab to what the scenario asks for: device by device, verified, undone on failure.

    Nothing is touched when the files break a rule of 'deploy check'. Exit status 1 means that not
    every device runs what is wanted, or that tenants are not apart.

    Args:
        scenario: A scenario file.
        lab: The lab to change.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        own: A TOML file with parts of your own.
        json: Print JSON.
    """
    from netloom.app.deploy.check import Checks, check_deployment  # noqa: PLC0415
    from netloom.app.deploy.isolation import SETTLE_S, check_isolation  # noqa: PLC0415
    from netloom.app.deploy.lab_targets import targets_of  # noqa: PLC0415
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415
    from netloom.ops.deploy.changes import apply_all  # noqa: PLC0415
    from netloom.report.ops.deploy import applied_text, checked_text  # noqa: PLC0415

    place = _place(lab, folder)
    with _order(scenario, own, None) as order, place.locked(), progress("applying", None):
        findings = check_deployment(order.intent, _texts(order), Checks(has_programs=False))
        if any(one.severity == "error" for one in findings):
            message = f"nothing was applied:\n{checked_text(findings)}"
            raise SpecError(message)
        done = tuple(apply_all(targets_of(place, order.intent)))
        is_good = all(one.is_good for one in done)
        mixed = check_isolation(place, order.intent, settle_s=SETTLE_S if is_good else 0.0)
    if json:
        emit_json({"devices": done, "findings": mixed})
    else:
        print(applied_text(done))
        if mixed:
            print(checked_text(mixed))
    return int(bool(mixed) or not is_good)


@contextmanager
def _order(scenario: Path, own: Path | None, guids: Path | None) -> Iterator[_Order]:
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.formats.infiniband.guids import guids_from  # noqa: PLC0415
    from netloom.ops.deploy.intent import intent_of  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415

    with scenario_at(scenario) as read:
        intent = intent_of(read, catalog_of(read, own))
        text = "" if guids is None else _read(guids)
        guid = guids_from(text, intent.site, where=str(guids)) if guids else None
        yield _Order(intent, guid)


def _read(path: Path) -> str:
    from netloom.errors import SpecError  # noqa: PLC0415

    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); name another file"
        raise SpecError(message) from error


def _texts(order: _Order) -> dict[str, str]:
    from netloom.app.deploy.files import deployment_files  # noqa: PLC0415

    files = deployment_files(order.intent, guid=order.guid)
    return {path: text for path, text in files.items() if isinstance(text, str)}


def _place(name: str, folder: Path | None) -> LabFolder:
    from netloom.app.lab.store import LabFolder, default_folder  # noqa: PLC0415

    return LabFolder.of(name, folder or default_folder())
