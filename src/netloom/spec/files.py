"""Read a file that a user names: never without end, never more than a limit, always as text."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from netloom.errors import SpecError

__all__ = ["check_regular", "read_text"]

_CHUNK_BYTES: Final = 1 << 20


def read_text(path: str | os.PathLike[str], *, max_bytes: int, wanted: str) -> str:
    """Return the whole text of the regular file at *path*, decoded as UTF-8.

    Args:
        path: What the user named; it opens every message.
        max_bytes: The most that is read.
        wanted: What to name instead, such as ``a YAML or JSON file``.

    Raises:
        SpecError: it is missing, no regular file (a pipe would be waited for), too large, or
            not UTF-8.
    """
    name = os.fspath(path)
    try:
        # Non-blocking, so that a pipe without a writer is refused and not waited for.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            _check_kind(name, status, wanted)
            content = b"" if status.st_size > max_bytes else _head(descriptor, max_bytes)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpecError(
            file=name, what=f"cannot be read ({reason})", remedy="check the path"
        ) from error
    # Files such as those of /proc do not tell their size.
    if max(status.st_size, len(content)) > max_bytes:
        raise SpecError(file=name, what=f"larger than {max_bytes} bytes", remedy=f"name {wanted}")
    return _decoded(name, content)


def check_regular(path: str | os.PathLike[str], *, wanted: str) -> None:
    """Refuse what is no regular file: a pipe without a writer would be waited for.

    Raises:
        SpecError: it is missing, or no regular file.
    """
    name = os.fspath(path)
    try:
        status = Path(name).stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpecError(
            file=name, what=f"cannot be read ({reason})", remedy=f"name {wanted}"
        ) from error
    _check_kind(name, status, wanted)


def _check_kind(name: str, status: os.stat_result, wanted: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise SpecError(file=name, what=kind, remedy=f"name {wanted}")


def _head(descriptor: int, max_bytes: int) -> bytes:
    """Return the whole content, or a little more than is allowed."""
    content = bytearray()
    while len(content) <= max_bytes and (chunk := os.read(descriptor, _CHUNK_BYTES)):
        content += chunk
    return bytes(content)


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SpecError(
            file=name,
            line=line,
            what=f"not UTF-8 text ({error.reason})",
            remedy="save the file as UTF-8",
        ) from error
