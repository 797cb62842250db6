"""Files that are whole or not there."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from netloom.errors import OutputError

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write *content* to *path*, text as UTF-8; the old file or the new one is always there.

    It goes to a file beside it that is moved into place when complete, and removed on any
    failure, Ctrl-C included. A device or pipe, such as /dev/stdout, is written to directly.

    Raises:
        OutputError: the folder is missing, may not be written to, or is full.
    """
    given = Path(path)
    try:
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        if given.exists() and not given.is_file() and not given.is_dir():
            given.write_bytes(data)
        else:
            _replace(given.resolve(), data)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(given, error) from error


def _replace(target: Path, data: bytes) -> None:
    if target.is_dir():
        raise IsADirectoryError(None, "it is a folder")
    draft = target.with_name(f".netloom-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError | ValueError) -> OutputError:
    if isinstance(error, FileNotFoundError):
        return OutputError(
            file=str(path),
            what=f"cannot be written, there is no folder {str(path.parent)!r}",
            remedy="create it",
        )
    what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OutputError(
        file=str(path), what=f"cannot be written ({what})", remedy="name another file"
    )
