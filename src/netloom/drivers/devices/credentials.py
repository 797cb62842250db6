"""Secrets by reference: an environment variable, or a file that only its owner can read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.ops.observe.devices import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.spec.inventory.file import Credentials

__all__ = ["read_private", "read_secret"]

MAX_BYTES: Final = 16 * 1024


def read_secret(
    credentials: Credentials, *, folder: Path, environ: Mapping[str, str]
) -> Secret | None:
    """Return the secret that *credentials* name; None where they name none.

    Args:
        credentials: Where it is.
        folder: What the path of a file is relative to.
        environ: The environment.

    Raises:
        SpecError: the variable is not set, or the file cannot be read, is empty, or can be read
            by others; no message has the secret.
    """
    if credentials.env:
        text = environ.get(credentials.env, "")
        if not text:
            raise SpecError(
                key="credentials.env",
                what=f"the environment variable {credentials.env!r} is empty or not set",
                remedy="set it where netloom runs",
            )
        return Secret(text)
    if credentials.file:
        return Secret(read_private(folder / credentials.file))
    return None


def read_private(path: Path) -> str:
    """Return the text of a file that only its owner can read.

    Raises:
        SpecError: it cannot be read, is empty, or can be read by others.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            _check_owner(path, os.fstat(descriptor))
            text = os.read(descriptor, MAX_BYTES + 1).decode("utf-8").rstrip("\r\n")
        finally:
            os.close(descriptor)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SpecError(
            file=str(path),
            what=f"the secret cannot be read ({reason})",
            remedy="name a file that holds it and is no link",
        ) from None
    if not text or len(text) > MAX_BYTES:
        raise SpecError(
            file=str(path),
            what=f"a secret has 1 to {MAX_BYTES} bytes",
            remedy="write it into the file, alone",
        )
    return text


def _check_owner(path: Path, status: os.stat_result) -> None:
    """Refuse what others could have read, or written."""
    if not stat.S_ISREG(status.st_mode):
        raise SpecError(
            file=str(path), what="not a regular file", remedy="name the file with the secret"
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise SpecError(
            file=str(path),
            what=f"others can read the secret (mode {mode:04o})",
            remedy=f"chmod 600 {path}, and change the secret",
        )
    if status.st_uid not in (os.geteuid(), 0):
        raise SpecError(
            file=str(path),
            what="the secret belongs to another user",
            remedy="let the user that runs netloom own it",
        )
