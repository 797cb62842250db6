"""Switches as files describe them: those of a deployment, and those that others wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from netloom.app.deploy.files import MANIFEST
from netloom.app.deploy.folder import listed, read_any
from netloom.errors import NetloomError, SpecError
from netloom.ops.deploy.device import joined
from netloom.ops.deploy.lint import lint
from netloom.ops.deploy.planned import check_links, check_planned
from netloom.ops.deploy.rules import Broken, by_cause
from netloom.ops.switch_systems import files_of, switch_files, system_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from netloom.ops.deploy.device import DeviceConfig
    from netloom.ops.deploy.intent import Intent

__all__ = ["FoundDevices", "check_devices", "is_configuration", "lint_path", "read_devices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDevices:
    """What files describe.

    Attributes:
        devices: The switches.
        findings: What is wrong with them, by cause.
        others: Files that are no configuration of a switch.
    """

    devices: tuple[DeviceConfig, ...]
    findings: tuple[Broken, ...]
    others: tuple[str, ...]


def is_configuration(text: str) -> bool:
    """Return whether a text is the configuration of a switch, of any system."""
    return any(file.is_like is not None and file.is_like(text) for _, file in switch_files())


def lint_path(path: Path) -> FoundDevices:
    """Return the switches of a folder or a file, written by netloom or not, held to the rules.

    Raises:
        SpecError: there is no such folder or file.
    """
    texts, unread = read_any(path)
    if not texts and not unread:
        raise SpecError(
            file=str(path),
            what="there are no files in it",
            remedy="fetch the switches' configurations into it",
        )
    gone: set[str] = set()
    if MANIFEST in texts:  # of a deployment, where only the switches' files are theirs
        texts = {name: text for name, text in texts.items() if name.startswith("switches/")}
        unread = tuple(name for name in unread if name.startswith("switches/"))
        gone = listed(path) - {*texts, *unread}
    devices, others = [], []
    broken = [_unreadable(name) for name in unread if _is_named(name)]
    broken += [_gone(name) for name in sorted(gone) if name.startswith("switches/")]
    others += [name for name in unread if not _is_named(name)]
    for name, text in texts.items():
        try:
            found = _device(text, name)
        except NetloomError as error:
            broken.append(_broken(name, str(error)))
            continue
        if found is None and _is_named(name):
            broken.append(_unreadable(name))
        elif found is None:
            others.append(name)
        else:
            devices.append(found)
    switches = tuple(_switches(devices))
    found_all = [*broken, *lint(switches), *_left_out(others, has_any=bool(switches))]
    return FoundDevices(
        devices=switches, findings=by_cause(found_all), others=tuple(sorted(others))
    )


def _device(text: str, where: str) -> DeviceConfig | None:
    for _, file in switch_files():
        if file.read_device is not None and file.is_like is not None and file.is_like(text):
            return file.read_device(text, where)
    return None


def _is_named(name: str) -> bool:
    """Return whether a file is called what a switch's configuration is: ``config_db.json``."""
    last = PurePosixPath(name).name
    return any(
        PurePosixPath(file.name).name == last
        for _, file in switch_files()
        if file.read_device is not None
    )


def _unreadable(name: str) -> Broken:
    return _broken(name, "is cut short, or no configuration of SONiC, NVUE, EOS or FRR")


def _gone(name: str) -> Broken:
    return Broken(
        severity="error",
        where=name,
        what=f"is not there, though {MANIFEST} names it",
        remedy="render the folder again",
    )


def _broken(where: str, what: str) -> Broken:
    return Broken(severity="error", where=where, what=what, remedy="correct the file")


def _left_out(others: list[str], *, has_any: bool) -> Iterator[Broken]:
    if others:
        some = ", ".join(sorted(others)[:8]) + (" ..." if len(others) > 8 else "")
        yield Broken(
            severity="warning" if has_any else "error",
            where=min(others),
            what=f"no configuration of SONiC, NVUE, EOS or FRR: {some}",
            remedy="give the switches' own files",
        )


def _switches(devices: list[DeviceConfig]) -> Iterator[DeviceConfig]:
    """Yield one device for each switch: SONiC's tables with the frr.conf beside them.

    Two files of one folder that say the same, as commands and as startup.yaml, are one switch.
    """
    folders: dict[str, list[DeviceConfig]] = {}
    for device in devices:
        folders.setdefault(str(PurePosixPath(device.where).parent), []).append(device)
    for some in folders.values():
        tables = [one for one in some if one.system == "sonic"]
        routing = [one for one in some if one.system == "frr"]
        whole = some
        if len(tables) == len(routing) == 1:
            rest = (one for one in some if one.system not in {"sonic", "frr"})
            whole = [joined(tables[0], routing[0]), *rest]
        seen: list[DeviceConfig] = []
        for one in whole:
            if not any(_is_same(one, other) for other in seen):
                seen.append(one)
        yield from seen


def _is_same(one: DeviceConfig, other: DeviceConfig) -> bool:
    return (one.hostname, one.system, one.ports, one.neighbours) == (
        other.hostname,
        other.system,
        other.ports,
        other.neighbours,
    )


def read_devices(
    intent: Intent, files: Mapping[str, str]
) -> tuple[list[tuple[int, DeviceConfig]], list[Broken]]:
    """Return the switches of a deployment by number, and what keeps files from being read."""
    found: list[tuple[int, DeviceConfig]] = []
    broken: list[Broken] = []
    for number in range(len(intent.site.nics), len(intent.site.plant.devices)):
        device, wrong = _own(intent, number, files)
        broken += wrong
        if device is not None:
            found.append((number, device))
    return found, broken


def check_devices(intent: Intent, found: Sequence[tuple[int, DeviceConfig]]) -> Iterator[Broken]:
    """Yield what is wrong with the switches of a deployment, whatever systems they run."""
    for number, device in found:
        yield from check_planned(intent, number, system_of(intent, number).port_name, device)
    yield from check_links(intent, found)
    yield from lint([device for _, device in found], is_lossless=intent.quality is not None)


def _own(
    intent: Intent, number: int, files: Mapping[str, str]
) -> tuple[DeviceConfig | None, list[Broken]]:
    """Return a switch of its own system's files; none where one of them cannot be read, and why."""
    device, broken = None, []
    for _, file, path in files_of(intent, number):
        if file.read_device is None:
            continue
        if path not in files:
            broken.append(_missing(path))
            continue
        try:
            read = file.read_device(files[path], path)
        except NetloomError as error:
            broken.append(_broken(path, str(error)))
            continue
        device = read if device is None else joined(device, read)
    return None if broken else device, broken


def _missing(path: str) -> Broken:
    return Broken(severity="error", where=path, what="is missing", remedy="render it again")
