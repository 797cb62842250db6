"""Where labs are kept: one folder each, with the record, the plant, and a lock."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError, SpecError, at
from netloom.ops.lab import (
    MARK,
    Lab,
    Program,
    check_name,
    lab_from_json,
    lab_to_json,
    mark_of,
)
from netloom.ops.plant import Plant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.drivers.programs import Running

__all__ = ["LabFolder", "default_folder", "folder_of_lab", "known_labs", "lab_folder"]

RECORD: Final = "lab.json"
PLANT: Final = "plant.json"
LOCK: Final = "lock"
SCRATCH: Final = "run"  # topology, configurations, logs, pipes
MAX_BYTES: Final = 2**28


def default_folder() -> Path:
    """Return where labs are kept unless told: ``$XDG_STATE_HOME/netloom/labs``."""
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / "netloom" / "labs"


def lab_folder(name: str, folder: Path | None = None) -> LabFolder:
    """Return where the lab *name* is kept.

    Args:
        name: Of the lab.
        folder: Where labs are kept; default: :func:`default_folder`.

    Raises:
        SpecError: the name will not do.
    """
    return LabFolder.of(name, folder or default_folder())


def folder_of_lab(path: Path) -> LabFolder:
    """Return the lab that is kept in the folder at *path*.

    Raises:
        SpecError: the name of the folder will not do for a lab.
    """
    return LabFolder.of(path.name, path.parent)


def known_labs(folder: Path) -> tuple[str, ...]:
    """Return the names of the labs that have a record in *folder*."""
    with contextlib.suppress(OSError):
        return tuple(sorted(path.parent.name for path in folder.glob(f"*/{RECORD}")))
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabFolder:
    """The folder of one lab.

    Attributes:
        name: Of the lab.
        path: Of the folder, absolute.
    """

    name: str
    path: Path

    @classmethod
    def of(cls, name: str, folder: Path) -> LabFolder:
        """Return the place of the lab *name* among those kept in *folder*.

        Raises:
            SpecError: the name will not do.
        """
        return cls(name=check_name(name), path=(folder / name).absolute())

    @property
    def mark(self) -> str:
        """What its processes and namespaces carry."""
        return mark_of(self.name, str(self.path))

    @property
    def environment(self) -> dict[str, str]:
        """The mark as an environment."""
        return {MARK: self.mark}

    @property
    def scratch(self) -> Path:
        """Where its programs keep their files."""
        return self.path / SCRATCH

    @property
    def born_at_s(self) -> float:
        """When the lab was made: its list of cables is written once, at the start."""
        return (self.path / PLANT).stat().st_mtime

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lab, so that no other netloom changes it meanwhile.

        Raises:
            LabError: another one does, or the folder cannot be made.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LabError(
                file=str(self.path),
                what=f"cannot be used ({error.strerror})",
                remedy="give another with --dir",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise LabError(
                what=f"lab {self.name!r}: another netloom is working on it",
                remedy="wait for it to end",
            ) from error
        finally:
            os.close(descriptor)

    def fresh_scratch(self) -> Path:
        """Return an empty folder for the lab's programs, in place of an earlier one."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(mode=0o755)
        return self.scratch

    def write(self, lab: Lab) -> Lab:
        """Write the record, whole or not at all, and return it."""
        self._replace(RECORD, lab_to_json(lab))
        return lab

    def write_plant(self, plant: Plant) -> None:
        """Write devices and cables."""
        self._replace(PLANT, plant.to_json())

    def read(self) -> Lab:
        """Return the record.

        Raises:
            SpecError: there is no such lab, or its record is damaged.
        """
        if not (self.path / RECORD).exists():
            known = ", ".join(known_labs(self.path.parent)) or "none"
            raise SpecError(
                what=f"there is no lab {self.name!r} in {self.path.parent}",
                remedy=f"there are: {known}",
            )
        with at(f"lab {self.name!r}"):
            return lab_from_json(self._load(RECORD))

    def read_plant(self) -> Plant:
        """Return devices and cables.

        Raises:
            SpecError: they are missing or damaged.
        """
        with at(f"lab {self.name!r}"):
            value = self._load(PLANT)
            if not isinstance(value, dict):
                raise SpecError(
                    what=f"{PLANT} is damaged", remedy="bring the lab down and up again"
                )
            return Plant.from_json(value)

    def remove(self) -> None:
        """Remove everything of the lab but its lock, which another may be waiting for."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        for name in (RECORD, PLANT):
            (self.path / name).unlink(missing_ok=True)

    def starting(self, lab: Lab, name: str, begin: Callable[[], Running]) -> tuple[Lab, Running]:
        """Start a program of the lab: first on record, then in fact, then with its id."""
        lab = self.write(lab.with_program(Program(name=name)))
        running = begin()
        program = Program(name=name, pid=running.pid, started=running.started)
        return self.write(lab.with_program(program)), running

    def _replace(self, name: str, value: object) -> None:
        draft = self.path / f".{name}.tmp"
        try:
            draft.write_text(json.dumps(value), encoding="utf-8")
            draft.replace(self.path / name)
        except OSError as error:
            raise LabError(
                what=f"{self.path / name}: cannot be written ({error.strerror})",
                remedy="free some space",
            ) from error

    def _load(self, name: str) -> object:
        try:
            with (self.path / name).open("rb") as file:
                return json.loads(file.read(MAX_BYTES))
        except (OSError, ValueError, RecursionError) as error:
            raise SpecError(
                what=f"{name} cannot be read ({error})", remedy="bring the lab down and up again"
            ) from error
