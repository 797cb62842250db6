"""What commands write: JSON to standard output, and files that are whole or not there."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from netloom.errors import OutputError

__all__ = ["announce", "emit_json", "to_plain", "write_atomically"]


def announce(line: str) -> None:
    """Say on standard error what is about to happen."""
    print(line, file=sys.stderr, flush=True)


def emit_json(value: object) -> None:
    """Print *value* as JSON, keys in the order given, with a newline at the end.

    Numbers that JSON cannot hold (NaN and the infinities) become null.
    """
    print(json.dumps(to_plain(value), indent=2, allow_nan=False))


def to_plain(value: object) -> Any:
    """Return *value* as dicts, lists, text, numbers, booleans and None.

    Dataclasses and pydantic models become dicts of their attributes, numpy's numbers and arrays
    plain ones.

    Raises:
        TypeError: something in it is none of these.
    """
    if isinstance(value, Enum):
        return to_plain(value.value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(to_plain(key)): to_plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: to_plain(getattr(value, name)) for name in names}
    return _foreign(value)


def _foreign(value: object) -> Any:
    if hasattr(value, "model_dump"):
        return to_plain(value.model_dump())
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, (bytes, set, frozenset)):
        return [to_plain(item) for item in value]
    message = f"{type(value).__name__} has no JSON form"
    raise TypeError(message)


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
        raise OutputError(_reason(given, error)) from error


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


def _reason(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: cannot be written, there is no folder {str(path.parent)!r}; create it"
    what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path}: cannot be written ({what}); name another file"
