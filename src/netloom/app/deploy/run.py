"""A scenario's configuration: written, checked, planned and applied."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from netloom.app.deploy.checking import Checks, check_deployment
from netloom.app.deploy.devices import is_configuration, lint_path
from netloom.app.deploy.files import MANIFEST, SKIPPED, deployment_files
from netloom.app.deploy.folder import MAX_BYTES, read_folder, write_folder
from netloom.app.deploy.isolation import SETTLE_S, check_isolation
from netloom.app.deploy.lab_targets import targets_of
from netloom.app.lab.store import lab_folder
from netloom.errors import SpecError
from netloom.formats.infiniband.guids import guids_from
from netloom.ops.deploy.changes import apply_all, file_changes, of_kinds, plan_all
from netloom.ops.deploy.intent import Intent, intent_of
from netloom.ops.deploy.known_settings import settings_in
from netloom.ops.switch_systems import settings_reader, system_of
from netloom.report.ops.deploy import checked_text
from netloom.results.plain import to_plain
from netloom.results.write import write_atomically
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from netloom.ops.deploy.changes import Applied, DeviceChange
    from netloom.ops.deploy.device import DeviceConfig
    from netloom.ops.deploy.rules import Broken
    from netloom.ops.switch_systems import SwitchOs
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

    Guid = Callable[[int], int]

__all__ = [
    "ApplyReport",
    "CheckReport",
    "Deployment",
    "PlanReport",
    "RenderReport",
    "apply",
    "check",
    "deployment_of",
    "is_configurations",
    "lint",
    "plan",
    "render",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deployment:
    """What is to be deployed.

    Attributes:
        intent: What the devices are to be told.
        guid: The port GUID of each device, where they are known.
    """

    intent: Intent
    guid: Guid | None = None

    def files(self) -> dict[str, str | bytes]:
        """Return the content of every file, by its path."""
        return deployment_files(self.intent, guid=self.guid)

    def texts(self) -> dict[str, str]:
        """Return those that are text."""
        return {path: text for path, text in self.files().items() if isinstance(text, str)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenderReport:
    """The files of a deployment.

    Attributes:
        files: The content of each, by its path.
        skipped: What could not be made, and why, by path.
        systems: How many switches run each operating system, by its name; none of InfiniBand,
            where the subnet manager is told.
        notes: In words, which systems do not run on the scenario's switch.
        folder: Where they were written; empty where they were not.
        removed: Files of an earlier deployment that were removed there.
    """

    files: Mapping[str, str | bytes]
    skipped: Mapping[str, str]
    systems: Mapping[str, int]
    notes: tuple[str, ...] = ()
    folder: str = ""
    removed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/deploy.md documents; files by name only."""
        return {
            "folder": self.folder,
            "files": sorted(self.files),
            SKIPPED: dict(self.skipped),
            "systems": dict(self.systems),
            "removed": list(self.removed),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What is wrong with a deployment, or with configurations that others wrote; errors first.

    Attributes:
        findings: One for each cause, with every place.
        devices: The switches that were read, where configurations were given.
        others: Files among those that are no configuration of a switch.
    """

    findings: tuple[Broken, ...]
    devices: tuple[DeviceConfig, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def num_errors(self) -> int:
        """How many of them keep it from being applied."""
        return sum(one.severity == "error" for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/deploy.md documents."""
        return {
            "num_errors": self.num_errors,
            "findings": to_plain(self.findings),
            "devices": [
                {
                    "file": one.where,
                    "system": one.system,
                    "hostname": one.hostname,
                    "num_ports": len(one.ports),
                    "settings": list(settings_in(one)),
                    "not_understood": list(one.unknown),
                }
                for one in self.devices
            ],
            "other_files": list(self.others),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """How what runs differs from what is wanted, device by device."""

    changes: tuple[DeviceChange, ...]

    @property
    def has_failed(self) -> bool:
        """Whether a device could not be looked at."""
        return any(one.error for one in self.changes)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/deploy.md documents."""
        return {"changes": to_plain(self.changes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyReport:
    """What became of every device.

    Attributes:
        devices: Each with its state.
        findings: Where tenants are not apart afterwards.
    """

    devices: tuple[Applied, ...]
    findings: tuple[Broken, ...]

    @property
    def is_good(self) -> bool:
        """Whether every device runs what is wanted, and tenants are apart."""
        return all(one.is_good for one in self.devices) and not self.findings

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/deploy.md documents."""
        return {"devices": to_plain(self.devices), "findings": to_plain(self.findings)}


def deployment_of(
    scenario: Scenario | Deployment,
    catalog: Catalog | None = None,
    *,
    guids: Path | None = None,
) -> Deployment:
    """Return what a scenario asks to be deployed; what is a deployment already as it is.

    Args:
        scenario: Its cluster and tenants matter.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        guids: What ``ibnetdiscover -p`` printed on the real fabric; default: a lab's GUIDs.

    Raises:
        NetloomError: the network cannot be built, or the file is wrong.
    """
    if isinstance(scenario, Deployment):
        return scenario
    intent = intent_of(scenario, catalog or catalog_of(scenario))
    if guids is None:
        return Deployment(intent=intent)
    return Deployment(intent=intent, guid=guids_from(_read(guids), intent.site, where=str(guids)))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error.strerror})", remedy="name another file"
        ) from error


def render(
    scenario: Scenario | Deployment,
    *,
    out: Path | None = None,
    guids: Path | None = None,
    catalog: Catalog | None = None,
) -> RenderReport:
    """Return all files of a deployment, and write them where a folder is given.

    >>> import netloom as nl
    >>> report = render(nl.load("cluster.yaml"))  # doctest: +SKIP
    >>> report.files["switches/leaf000/frr.conf"]  # doctest: +SKIP

    Args:
        scenario: Its cluster and tenants matter.
        out: The folder to write to; files that an earlier render left there and that are no
            longer wanted are removed.
        guids: What ``ibnetdiscover -p`` printed on the real fabric; default: a lab's GUIDs.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        NetloomError: the network cannot be built.
        OutputError: a file cannot be written.
    """
    wanted = deployment_of(scenario, catalog, guids=guids)
    files = wanted.files()
    systems = _systems(wanted.intent)
    switch = wanted.intent.site.network.design.switch
    report = RenderReport(
        files=files,
        skipped=json.loads(files[MANIFEST])[SKIPPED],
        systems=dict(sorted(Counter(one.name for one in systems).items())),
        notes=tuple(
            f"{one.title} is not known to run on {switch.title}"
            for one in dict.fromkeys(systems)
            if not one.runs_on(switch)
        ),
    )
    if out is None:
        return report
    return replace(report, folder=str(out), removed=write_folder(out, files, write_atomically))


def _systems(intent: Intent) -> list[SwitchOs]:
    """Return the operating system of each switch that is told by files of its own."""
    if intent.underlay is None:
        return []
    site = intent.site
    return [system_of(intent, n) for n in range(len(site.nics), len(site.plant.devices))]


def check(
    scenario: Scenario | Deployment,
    *,
    files: Path | None = None,
    guids: Path | None = None,
    sonic_yang: Path | None = None,
    catalog: Catalog | None = None,
) -> CheckReport:
    """Return what is wrong with the files: by vtysh, OpenSM on ibsim, yanglint, and rules.

    >>> import netloom as nl
    >>> check(nl.load("cluster.yaml")).num_errors  # doctest: +SKIP

    Args:
        scenario: Its cluster and tenants matter.
        files: A folder that :func:`render` wrote, perhaps changed since; default: what it would
            write now.
        guids: What ``ibnetdiscover -p`` printed, when the files were rendered with it.
        sonic_yang: A folder of SONiC's YANG models.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        NetloomError: the network cannot be built, or a file cannot be read.
    """
    wanted = deployment_of(scenario, catalog, guids=guids)
    texts = wanted.texts() if files is None else read_folder(files)
    checks = Checks(guid=wanted.guid, sonic_models=sonic_yang)
    return CheckReport(findings=check_deployment(wanted.intent, texts, checks))


def is_configurations(path: Path) -> bool:
    """Return whether a path is a folder, or a file that is a switch's configuration."""
    if path.is_dir():
        return True
    # A pipe or a device is never read: reading it might not end.
    try:
        is_text = path.is_file() and path.stat().st_size <= MAX_BYTES
        return is_text and is_configuration(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return False


def lint(path: Path) -> CheckReport:
    """Return what is wrong with configurations that netloom did not write.

    SONiC's config_db.json, NVUE's commands or startup.yaml, EOS's running-config and frr.conf are
    read, wherever in the folder they lie; what is not understood is listed.

    >>> lint(Path("fetched")).num_errors  # doctest: +SKIP

    Args:
        path: A folder of them, or one file.

    Raises:
        SpecError: there is no such folder or file.
    """
    found = lint_path(path)
    return CheckReport(findings=found.findings, devices=found.devices, others=found.others)


def plan(
    scenario: Scenario | Deployment,
    *,
    lab: str = "",
    running: Path | None = None,
    folder: Path | None = None,
    guids: Path | None = None,
    catalog: Catalog | None = None,
) -> PlanReport:
    """Return how what runs differs from what the scenario asks for.

    >>> import netloom as nl
    >>> plan(nl.load("cluster.yaml"), lab="lab-1").changes  # doctest: +SKIP

    Args:
        scenario: Its cluster and tenants matter.
        lab: Name of the lab to look at.
        running: A folder of files in the layout of :func:`render`, fetched from devices.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        guids: What ``ibnetdiscover -p`` printed on the real fabric.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: not exactly one of *lab* and *running* is given, or it cannot be read.
        LabError: the lab cannot be looked at.
    """
    if bool(lab) == (running is not None):
        message = "give what runs: either --lab NAME or --running FOLDER"
        raise SpecError(message)
    wanted = deployment_of(scenario, catalog, guids=guids)
    if running is not None:
        there = read_folder(running)
        comparable = of_kinds(there, wanted.texts())
        if not comparable:  # or nothing would differ
            raise SpecError(
                file=str(running),
                what="has no file of a kind that the scenario asks for",
                remedy="lay out what was fetched from devices as 'netloom deploy render' does",
            )
        return PlanReport(changes=file_changes(there, comparable, settings_reader))
    place = lab_folder(lab, folder)
    with place.locked():
        return PlanReport(changes=tuple(plan_all(targets_of(place, wanted.intent))))


def apply(
    scenario: Scenario | Deployment,
    *,
    lab: str,
    folder: Path | None = None,
    catalog: Catalog | None = None,
) -> ApplyReport:
    """Bring a lab to what the scenario asks for: device by device, verified, undone on failure.

    Nothing is touched when the files break a rule of :func:`check`.

    >>> import netloom as nl
    >>> apply(nl.load("cluster.yaml"), lab="lab-1").is_good  # doctest: +SKIP

    Args:
        scenario: Its cluster and tenants matter.
        lab: Name of the lab to change.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: the files break a rule; the message lists them all.
        LabError: the lab does not run, or another netloom works on it.
    """
    place = lab_folder(lab, folder)
    wanted = deployment_of(scenario, catalog)
    with place.locked():
        _refuse_errors(wanted)
        done = tuple(apply_all(targets_of(place, wanted.intent)))
        settle_s = SETTLE_S if all(one.is_good for one in done) else 0.0
        mixed: Sequence[Broken] = check_isolation(place, wanted.intent, settle_s=settle_s)
    return ApplyReport(devices=done, findings=tuple(mixed))


def _refuse_errors(wanted: Deployment) -> None:
    findings = check_deployment(wanted.intent, wanted.texts(), Checks(has_programs=False))
    if any(one.severity == "error" for one in findings):
        message = f"nothing was applied:\n{checked_text(findings)}"
        raise SpecError(message)
