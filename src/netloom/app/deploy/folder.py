"""A deployment on disk: one folder, a manifest that says what netloom wrote into it."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from netloom.app.deploy.files import MANIFEST
from netloom.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Write = Callable[[Path, str | bytes], None]

__all__ = ["listed", "read_any", "read_folder", "write_folder"]

MAX_BYTES: Final = 2**26  # of one file that is read back
BINARY: Final = frozenset({".xlsx"})


def write_folder(folder: Path, files: Mapping[str, str | bytes], write: Write) -> tuple[str, ...]:
    """Write files below *folder*, the manifest last, and return the stale ones that were removed.

    Stale is what an earlier manifest there names and this deployment has no more; anything else
    in the folder is left alone. Scripts can be executed. No symbolic link below *folder* is
    followed: nothing is written where there is one.

    Raises:
        OutputError: a file cannot be written, or a link stands where it should go.
    """
    before = listed(folder)
    for path in sorted({*files, *before}):
        _check_no_link(folder, path)
    for path, content in sorted(files.items(), key=lambda one: (one[0] == MANIFEST, one[0])):
        target = folder / path
        try:
            target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            write(target, content)
            target.chmod(0o755 if path.endswith(".sh") else 0o644)
        except OSError as error:
            raise OutputError(
                file=str(target),
                what=f"cannot be written ({error.strerror})",
                remedy="name another folder",
            ) from error
    stale = sorted(before - set(files))
    for path in stale:
        (folder / path).unlink(missing_ok=True)
    return tuple(stale)


def _check_no_link(folder: Path, path: str) -> None:
    """Raise OutputError where a symbolic link stands on the way from *folder* to a file in it."""
    here = folder
    for name in PurePosixPath(path).parts:
        here = here / name
        if here.is_symlink():
            raise OutputError(
                file=str(here),
                what="is a symbolic link, which may lead out of the folder",
                remedy="remove it, or name another folder",
            )


def listed(folder: Path) -> set[str]:
    """Return what the manifest in *folder* names; nothing without one that we wrote."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
    if not isinstance(found, list | dict):
        return set()
    return {path for path in found if isinstance(path, str) and _is_inside(path)}


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts


def read_folder(folder: Path) -> dict[str, str]:
    """Return the text of every file below *folder*, by path; spreadsheets are left out.

    Raises:
        SpecError: there is no such folder, or a file in it that cannot be read.
    """
    if not folder.is_dir():
        raise SpecError(
            file=str(folder),
            what="there is no such folder",
            remedy="write one with 'netloom deploy render'",
        )
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix not in BINARY:
            found[path.relative_to(folder).as_posix()] = _text(path)
    return found


def read_any(path: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the texts of a folder's files, or of one, and the names of those that are no text.

    Symbolic links are not followed: they are among those that are no text.

    Raises:
        SpecError: there is no such folder or file.
    """
    if path.is_file():
        return {path.name: _text(path)}, ()
    if not path.is_dir():
        raise SpecError(
            file=str(path), what="there is no such folder or file", remedy="name another"
        )
    texts, unread = {}, []
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.is_symlink() or (file.is_file() and file.suffix in BINARY):
            unread.append(name)
        elif file.is_file():
            try:
                texts[name] = _text(file)
            except SpecError:
                unread.append(name)
    return texts, tuple(unread)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SpecError(
                file=str(path),
                what=f"is larger than {MAX_BYTES:,} bytes",
                remedy="it is none of a deployment",
            )
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SpecError(
            file=str(path), what=f"cannot be read ({error})", remedy="remove it or correct it"
        ) from error
