"""How a deployment reaches devices: one after the other, each verified, undone where it fails."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from netloom.errors import NetloomError
from netloom.ops.deploy.structure import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from netloom.ops.deploy.structure import Setting

__all__ = ["Applied", "DeviceChange", "Target", "apply_all", "file_changes", "of_kinds", "plan_all"]

_State = TypeVar("_State")


class Target(Protocol, Generic[_State]):
    """A device that can be changed; every act raises NetloomError when it fails."""

    @property
    def name(self) -> str:
        """What reports call it."""

    def difference(self) -> tuple[str, ...]:
        """Return what would change, a line each; empty when it runs what is wanted."""

    def snapshot(self) -> _State:
        """Return all that verifying and undoing need to know of how it is now."""

    def change(self) -> None:
        """Make it run what is wanted."""

    def verify(self, before: _State) -> None:
        """Raise unless it runs what is wanted, and does what it did before."""

    def restore(self, before: _State) -> None:
        """Make it run what it ran before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChange:
    """What would change on a device.

    Attributes:
        device: Its name.
        lines: What would change; empty when nothing.
        error: Why that cannot be told; empty when it can.
    """

    device: str
    lines: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of a device.

    Attributes:
        state: ``failed`` means that it may be neither as before nor as wanted.
        lines: What changed, or should have.
        error: Why it did not.
    """

    device: str
    state: Literal["unchanged", "applied", "refused", "rolled back", "failed"]
    lines: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_good(self) -> bool:
        """Whether the device runs what is wanted."""
        return self.state in {"unchanged", "applied"}


def plan_all(targets: Iterable[Target[Any]]) -> tuple[DeviceChange, ...]:
    """Return what would change on each device; one that does not answer hides no other."""
    return tuple(_plan(target) for target in targets)


def _plan(target: Target[_State]) -> DeviceChange:
    try:
        return DeviceChange(device=target.name, lines=target.difference())
    except NetloomError as error:
        return DeviceChange(device=target.name, error=str(error))


def apply_all(targets: Iterable[Target[Any]]) -> Iterator[Applied]:
    """Change devices one after the other and yield what became of each."""
    for target in targets:
        yield _apply(target)


def _apply(target: Target[_State]) -> Applied:
    """Change one device; Ctrl-C undoes what was begun, too."""
    try:
        lines = target.difference()
        if not lines:
            return Applied(device=target.name, state="unchanged")
        before = target.snapshot()
    except NetloomError as error:
        return Applied(device=target.name, state="refused", error=str(error))
    try:
        target.change()
        target.verify(before)
    except NetloomError as error:
        return _undo(target, before, lines, str(error))
    except BaseException:
        target.restore(before)
        raise
    return Applied(device=target.name, state="applied", lines=lines)


def _undo(target: Target[_State], before: _State, lines: tuple[str, ...], cause: str) -> Applied:
    try:
        target.restore(before)
    except NetloomError as error:
        message = f"{cause}; and undoing it failed too: {error}"
        return Applied(device=target.name, state="failed", lines=lines, error=message)
    return Applied(device=target.name, state="rolled back", lines=lines, error=cause)


def of_kinds(running: Iterable[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the wanted files of those kinds that run somewhere: of the same name and folder.

    A folder that has the frr.conf of one switch lacks those of all others.
    """
    kinds = {_kind(path) for path in running}
    return {path: text for path, text in wanted.items() if _kind(path) in kinds}


def _kind(path: str) -> tuple[str, str, int]:
    parts = path.split("/")
    return parts[0], parts[-1], len(parts)


def file_changes(
    running: Mapping[str, str],
    wanted: Mapping[str, str],
    settings_of: Callable[[str], Callable[[str], Iterable[Setting]] | None] = lambda _: None,
) -> tuple[DeviceChange, ...]:
    """Return what differs between two sets of files, by path; equal files are left out.

    Args:
        running: What is there.
        wanted: What shall be.
        settings_of: Returns what reads the settings of a file, by its path; such files differ
            where a setting does, in whatever order and form. None compares lines.
    """
    found = (
        _file_change(path, running.get(path, ""), wanted.get(path, ""), settings_of(path))
        for path in sorted({*running, *wanted})
        if running.get(path) != wanted.get(path)
    )
    return tuple(one for one in found if one.lines or one.error)


def _file_change(
    path: str, old: str, new: str, read: Callable[[str], Iterable[Setting]] | None
) -> DeviceChange:
    if read is None or not old or not new:
        return DeviceChange(device=path, lines=_line_changes(old, new))
    try:
        return DeviceChange(device=path, lines=differences(read(old), read(new)))
    except NetloomError as error:
        return DeviceChange(device=path, lines=_line_changes(old, new), error=str(error))


def _line_changes(old: str, new: str) -> tuple[str, ...]:
    return tuple(
        line
        for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    )
