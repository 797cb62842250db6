"""Read a file that grows, from where one left off, in whole lines."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Grown", "Position", "follow"]

MOST_BYTES: Final = 8 * 2**20  # of one look; what is beyond comes with the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a file was read.

    Attributes:
        inode: Tells the file from one that took its name.
        offset: Bytes read, always at the end of a line.
        state: Whatever the reader must remember of what came before.
    """

    inode: int = 0
    offset: int = 0
    state: str = ""

    def to_text(self) -> str:
        """Return it as a cursor."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Position:
        """Return what :meth:`to_text` gave; the beginning where it did not."""
        try:
            return cls(**json.loads(text)) if text else cls()
        except (ValueError, TypeError):
            return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """What was read.

    Attributes:
        start: Where it begins in the file.
        text: Whole lines.
        position: Where to go on, with the state of before.
        is_new: Whether the file is another than before, or was begun anew.
    """

    start: int
    text: str
    position: Position
    is_new: bool


def follow(path: Path, position: Position) -> Grown:
    """Return the whole lines that *path* has beyond *position*.

    A file that is shorter than it was, or another one, is read from its beginning. A line longer
    than :data:`MOST_BYTES` is given in pieces.

    Raises:
        LabError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            same = stat.st_ino == position.inode and stat.st_size >= position.offset
            start = position.offset if same else 0
            file.seek(start)
            data = file.read(MOST_BYTES)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror})"
        raise LabError(message) from error
    end = data.rfind(b"\n") + 1
    if not end and len(data) == MOST_BYTES:
        end = len(data)
    state = position.state if same else ""
    return Grown(
        start=start,
        text=data[:end].decode("utf-8", errors="replace"),
        position=Position(inode=stat.st_ino, offset=start + end, state=state),
        is_new=not same,
    )
