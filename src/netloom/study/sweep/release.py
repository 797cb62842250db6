"""Which netloom computes: its version, and a digest of what its numbers depend on."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["file_digest", "release"]

_PACKAGE: Final = Path(__file__).parents[2]
_NO_NUMBERS: Final = frozenset({"app", "cli", "drivers", "formats", "report", "validation"})
_SUFFIXES: Final = frozenset({".py", ".toml", ".csv"})


@cache
def release() -> str:
    """Return the version, and a digest of the code, catalogue and tables that numbers come from.

    The version alone would not do: it stays the same while an installed tree is edited.
    """
    digest = hashlib.sha256()
    for path in sorted(_files()):
        digest.update(f"{path.name} {file_digest(path)}\n".encode())
    return f"{version('netloom')} {digest.hexdigest()[:16]}"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files() -> Iterator[Path]:
    for path in _PACKAGE.rglob("*"):
        if path.suffix in _SUFFIXES and path.relative_to(_PACKAGE).parts[0] not in _NO_NUMBERS:
            yield path
    core = find_spec("netloom.engines._core")  # an editable install keeps it elsewhere
    if core is not None and core.origin is not None:
        yield Path(core.origin)
